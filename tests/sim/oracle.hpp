// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timeline.hpp"

#include <latchd/core/lock/node.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace latchd::sim {

class Member;
class World;

// One command of a client on its way to an answer. Its ticket's slot is its number.
struct Exchange {
    std::uint64_t number = 0;
    std::size_t actor = 0;
    std::size_t node = 0;
    std::uint64_t incarnation = 0;
    core::ClientCommand command;
    core::Ticket ticket;
    Moment sent{};
    std::optional<Moment> arrived;  // at the node
    Time arrived_local{};
    bool is_answered = false;
    Moment answered_at{};
    bool is_over = false;  // its client has an answer, or gave up
};

struct Violation {
    LockKey key;
    std::string text;
    Moment at{};
};

struct Tally {
    std::uint64_t grants = 0;
    std::uint64_t renewals = 0;
    std::uint64_t releases = 0;
    std::uint64_t refusals = 0;
    std::uint64_t errors = 0;
    std::uint64_t lost_in_restart = 0;  // allowed overlaps: grants of two openings of the store
    std::uint64_t epochs_reused = 0;    // allowed: who knew of it was away
    std::uint64_t stale_refusals = 0;   // nil by a node that had missed a message
};

// Knows who believes to hold what, in true time, and what is promised. Everything that concerns a
// promise is told to it; it keeps the first violation.
class Oracle {
public:
    explicit Oracle(World& world) : world_(world) {}

    // At the node: a command arrives, an answer leaves.
    void arrived(const Exchange& exchange);
    void answered(Member& member, Exchange& exchange, const core::Outcome& outcome);
    // At the client.
    void received_grant(const Exchange& exchange,
                        const core::Granted& grant,
                        Moment end,
                        bool listens);
    void received_renewal(const Exchange& exchange, Moment end);
    void let_go(const Token& token);  // its client does not rely on it any more
    void let_go(const RequestId& request);
    void client_closed(ClientId client);

    // In the store.
    void store_did(std::size_t node,
                   const core::Operation& operation,
                   const core::OperationReply& reply);

    // At the nodes.
    void journal_put(Member& member, const core::GrantRecord& record);
    void happened(Member& member, const core::Happened& event);
    void node_killed(Member& member, bool with_journal);

    void check_overdue();
    void check_untold();  // no hold that nobody was told of; only while nothing fails
    void check_empty();   // at the very end

    void violate(const LockKey& key, std::string text);
    [[nodiscard]] const std::optional<Violation>& violation() const noexcept { return violation_; }
    [[nodiscard]] const Tally& tally() const noexcept { return tally_; }
    void epoch_reused() noexcept { ++tally_.epochs_reused; }

private:
    // A client that holds a lock, or thinks so.
    struct Belief {
        LockKey key;
        std::string holder;         // who counts as one: the owner, else the wish
        std::uint64_t opening = 0;  // of the store, that knows of it
        std::size_t node = 0;       // that told its lease last
        Moment began{};
        Moment end{};  // of the lease that it was told, or when it let go
        Moment told_end{};
        std::optional<Moment> hard_end;
        Duration delay{};
        std::optional<ClientId> keeper;  // whose node renews it
        bool listens = false;            // reads the events
        bool was_let_go = false;
        bool is_orphan = false;  // its node lost its journal
        bool is_alone = false;   // no owner: nobody shares the lock with it
        bool releases_on_close = false;
    };

    void extend(Belief& belief, const Token& token, Moment end);
    void restored(const core::GrantRecord& record);
    void check_alone(const Belief& belief, const Token& token);
    void check_delay(const Belief& belief);
    void check_lock(Member& member, const Exchange& exchange, const core::Outcome& outcome);
    void check_unlock(const Exchange& exchange, std::int64_t value);
    void check_renew(const Exchange& exchange, std::int64_t value);
    [[nodiscard]] bool may_refuse(const Exchange& exchange);
    [[nodiscard]] bool may_overlap(const Belief& a, const Belief& b) const;
    [[nodiscard]] Moment now() const;

    World& world_;
    std::optional<Violation> violation_;
    Tally tally_;
    std::map<Token, Belief> beliefs_;
    std::map<Token, Moment> granted_;  // in the store
    std::map<Token, std::uint64_t> opening_of_;
    std::map<Token, std::size_t> freed_;  // by UNLOCK, in the store, through this node
    std::set<Token> carried_;             // put back after the store had lost it
    std::set<Token> told_;                // an answer with it left a node
    std::set<Token> revoked_;             // ended in the store by FORCEUNLOCK or CANCEL
    std::map<Token, Moment> unlocking_;   // since the first UNLOCK of it arrived
    std::map<Token, Moment> known_end_;   // by the records of nodes
    std::set<Token> released_;            // UNLOCK was answered 1 or 2
    std::set<std::uint64_t> dead_;        // incarnations
    struct Received {
        Fence fence = 0;
        std::string holder;
        std::uint64_t opening = 0;
    };
    std::map<LockKey, Received> received_;
    std::map<LockKey, Moment> disturbed_;  // by FORCEUNLOCK or CANCEL
};

}  // namespace latchd::sim
