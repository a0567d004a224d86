// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan.hpp"
#include "timeline.hpp"

#include <latchd/core/authority/view.hpp>
#include <latchd/core/lock/node.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace latchd::sim {

class Member;
class Vault;
class World;
namespace authority = core::authority;

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
    bool is_granted = false;
    Moment answered_at{};
    bool is_over = false;  // its client has an answer, or gave up
};

struct Violation {
    LockKey key;
    std::string text;
    Moment at{};
};

// What `available` resources may break exclusion by: design section 5, (a) to (f).
enum class Case : std::uint8_t {
    cut_off,      // (a) a node cut off from the arbiter
    not_acked,    // (b) a node that has not acknowledged
    own_arbiter,  // (c) Redis arbitrating about itself
    clock_step,   // (d)
    local,        // (e)
    evicted,      // (f)
};
inline constexpr std::size_t case_count = 6;
[[nodiscard]] char letter_of(Case of) noexcept;

struct Tally {
    std::uint64_t grants = 0;
    std::uint64_t renewals = 0;
    std::uint64_t releases = 0;
    std::uint64_t refusals = 0;
    std::uint64_t errors = 0;
    std::uint64_t epochs = 0;
    std::uint64_t tier_changes = 0;
    std::uint64_t lost = 0;     // events
    std::uint64_t carried = 0;  // records loaded into a store
    std::uint64_t local_grants = 0;
    std::uint64_t unconfirmed_grants = 0;
    std::uint64_t epochs_reused = 0;  // Redis about itself: who knew of it was away
    std::uint64_t clock_refusals = 0;
    std::uint64_t unchecked_nil = 0;
    std::uint64_t basis_changes = 0;  // of ttl_max, delay_max or both
    std::uint64_t delay_changes = 0;  // of delay_max
    std::uint64_t delays_across =
        0;  // a DELAY was over after such a change, and the next one granted
    std::array<std::uint64_t, case_count> overlaps{};
    std::array<Duration, case_count> longest{};
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
    [[nodiscard]] std::vector<std::pair<LockKey, Token>> kept_by(ClientId client) const;

    // In the stores.
    void store_did(std::size_t node,
                   const Vault& vault,
                   const std::string& process,
                   const core::Operation& operation,
                   const core::OperationReply& reply);
    // Put back as it was, by a hand-over or an old copy of the store.
    void carried(const core::GrantRecord& record);
    void copied(const core::GrantRecord& record);
    void evicted(const LockKey& key);

    // At the arbiter.
    void proposed(Member& by,
                  const std::optional<authority::FleetRecord>& before,
                  const authority::FleetRecord& now);
    void opened(const authority::View& view);
    void basis_changed(const authority::BasisChange& change);

    // At the nodes.
    void journal_put(Member& member, const core::GrantRecord& record);
    void happened(Member& member, const core::Happened& event);
    void node_killed(Member& member, bool with_journal);
    void judged(Member& member);
    void known(Member& member, const authority::Known& before, const authority::Known& after);

    // What goes wrong.
    void troubled(std::size_t node, Site site, Moment until, bool is_way = false);
    void healed();  // the ways are
    void troubled(Site site, Moment until);
    void paused(std::size_t node, Moment until, bool with_clock);
    void store_changed();
    void clock_stepped();
    void commanded();

    void check_overdue();
    void check_untold();
    void check_empty();  // at the very end

    void violate(const LockKey& key, std::string text);
    [[nodiscard]] const std::optional<Violation>& violation() const noexcept { return violation_; }
    [[nodiscard]] const Tally& tally() const noexcept { return tally_; }

private:
    // Who told a lease, and what it knew then.
    struct Teller {
        std::uint64_t incarnation = 0;
        std::size_t node = 0;
        Epoch epoch = 0;
        bool is_confirmed = true;
        bool is_local = false;
        std::uint64_t run = 0;  // of the store's process
    };
    // A client that holds a lock, or thinks so.
    struct Belief {
        LockKey key;
        std::string holder;  // who counts as one: the owner, else the wish
        Teller teller;
        Moment began{};
        Moment end{};  // of the lease that it was told, or when it let go
        Moment told_end{};
        std::optional<Moment> hard_end;
        Duration delay{};
        std::optional<ClientId> keeper;  // whose node renews it
        bool listens = false;            // reads the events
        bool was_let_go = false;
        bool is_alone = false;         // no owner: nobody shares the lock with it
        bool is_counted = false;       // in delays_across
        std::set<ClientId> releasers;  // who said ONCLOSE RELEASE
    };
    struct Execution {  // of a grant, in a store
        Moment at{};
        Epoch epoch = 0;
    };
    struct Freed {  // by an UNLOCK
        std::uint64_t vault = 0;
        std::size_t node = 0;  // who knows of it
    };
    struct Opening {
        Moment at{};
        std::set<std::uint64_t> acked;  // incarnations
    };
    struct Received {
        Fence fence = 0;
        std::string holder;
        Teller teller;
        Moment at{};
    };

    void check_grant(std::size_t node, const Vault& vault, const core::Reply& grant);
    void extend(Belief& belief, const Token& token, Moment end, const Teller& teller);
    void check_alone(const Belief& belief, const Token& token);
    void check_delay(const Belief& belief);
    [[nodiscard]] Duration delay_given(const Token& token, const core::LockCommand& lock);
    void check_lock(Member& member, const Exchange& exchange, const core::Outcome& outcome);
    void check_fence(Member& member, const Exchange& exchange, const core::Granted& grant);
    void check_unlock(Member& member, const Exchange& exchange, std::int64_t value);
    void check_renew(Member& member, const Exchange& exchange, std::int64_t value);
    [[nodiscard]] bool may_refuse(const Exchange& exchange) const;
    [[nodiscard]] bool was_held(const Token& token, Moment from) const;
    [[nodiscard]] bool was_held_throughout(Member& member, const Token& token, Moment from) const;
    [[nodiscard]] std::optional<Case> case_of(const LockKey& key,
                                              const Teller& a,
                                              const Teller& b) const;
    [[nodiscard]] bool is_excused_by_step(Duration overlap) const;
    [[nodiscard]] Teller teller_of(Member& member) const;
    [[nodiscard]] bool has_reason(Member& by,
                                  const authority::FleetRecord& before,
                                  const authority::FleetRecord& now);
    [[nodiscard]] bool stood_still(const Member& member, Duration within) const;
    [[nodiscard]] bool is_troubled(std::size_t node, Site site, Duration within) const;
    [[nodiscard]] bool was_silent(std::size_t node) const;
    [[nodiscard]] bool is_paused_lately(std::size_t node) const;
    [[nodiscard]] bool was_seen_troubled(std::size_t node, Site site) const;
    [[nodiscard]] Moment now() const;

    World& world_;
    std::optional<Violation> violation_;
    Tally tally_;
    std::map<Token, Belief> beliefs_;
    std::map<ClientId, std::vector<std::pair<LockKey, Token>>> kept_;  // for a mutant
    std::map<std::uint64_t, Teller> tellers_;                          // of answers, by number
    std::map<Token, Execution> granted_;
    std::map<Epoch, std::string> process_of_;
    std::map<Epoch, Opening> openings_;
    std::map<Token, Freed> freed_;
    std::map<std::pair<std::uint64_t, LockKey>, Fence> highest_;  // by vault
    std::set<Token> told_;                                        // to a client, by LOCK
    std::set<Token> put_back_;
    std::set<Token> revoked_;            // ended in a store by FORCEUNLOCK or CANCEL
    std::map<Token, Moment> unlocking_;  // since the first UNLOCK of it arrived
    std::map<Token, Moment> known_end_;  // by the records of nodes
    std::map<Token, Duration> delays_;   // by the first of them
    std::optional<Duration> delay_low_;  // the least delay_max that was agreed on
    Duration delay_open_{};              // that of the open epoch
    Moment delay_changed_at_ = Moment{} - std::chrono::hours(1);
    std::set<Token> released_;  // UNLOCK was answered 1 or 2
    std::map<LockKey, Received> received_;
    std::map<LockKey, Moment> disturbed_;  // by FORCEUNLOCK or CANCEL
    std::map<LockKey, Moment> evicted_;
    struct Trouble {
        Moment since{};
        Moment until{};
        bool is_way = false;
    };
    std::map<std::pair<std::size_t, Site>, std::vector<Trouble>> trouble_;
    std::map<std::size_t, Moment> paused_;
    std::map<std::size_t, Moment> stood_still_;
    std::map<std::size_t, Moment> killed_;
    std::map<std::uint64_t, Moment> lease_until_;  // of views, by incarnation
    std::map<std::uint64_t, Moment> lease_gap_;    // when one began after the last had ended
    std::map<std::uint64_t, std::set<std::uint64_t>> lost_;  // by whom, whom
    Moment changed_at_{};
    Moment stepped_at_ = Moment{} - std::chrono::hours(1);  // none yet excuses nothing
    Moment commanded_at_{};
    Moment unsettled_at_{};  // when something happened that nil may come from
};

}  // namespace latchd::sim
