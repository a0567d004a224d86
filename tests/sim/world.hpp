// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actor.hpp"
#include "member.hpp"
#include "mysql.hpp"
#include "nemesis.hpp"
#include "oracle.hpp"
#include "plan.hpp"
#include "queue_oracle.hpp"
#include "redis.hpp"
#include "timeline.hpp"
#include "transcript.hpp"
#include "truth.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace latchd::sim {

struct Result {
    std::uint64_t seed = 0;
    std::uint64_t hash = 0;
    std::uint64_t steps = 0;
    std::optional<Violation> violation;
    std::string transcript;  // the end of it, where it was written
    Tally tally;
    Coverage coverage{};
};

struct RunOptions {
    Mutant mutant = Mutant::none;
    authority::Rule omitted = authority::Rule::none;
    bool writes_transcript = false;
    std::size_t transcript_lines = 200;
};

// Everything that one seed decides: hosts, stores, an arbiter, clients, the ways between them, and
// what goes wrong. One thread, made-up time.
class World {
public:
    World(const Plan& plan, const RunOptions& options);
    ~World();

    [[nodiscard]] Result run();

    // ---- for scripted scenarios ----
    void start();
    void run_for(Duration duration);
    void heal();
    // A client's command through a node; answered within `limit` or not at all.
    [[nodiscard]] std::optional<core::Outcome> ask(std::size_t node,
                                                   core::ClientCommand command,
                                                   Duration limit);
    // One thing after the other, until it is so.
    bool step_until(const std::function<bool()>& what, Duration limit);
    void hang_up(std::size_t node);  // the script's connection to it
    // A connection of the script besides that one, for send(); take() has what was answered, once.
    [[nodiscard]] std::optional<ClientId> connect_script(std::size_t node);
    [[nodiscard]] std::optional<core::Outcome> take(std::uint64_t number);
    [[nodiscard]] Result result();

    // ---- for its parts ----
    [[nodiscard]] Moment now() const noexcept { return time.now(); }
    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] Member& member(std::size_t index) { return *members_[index]; }
    [[nodiscard]] Member* member_of(std::uint64_t incarnation);
    [[nodiscard]] LockKey any_key();
    template <class Text>
    void note(const LockKey* key, std::uint64_t mark, Text&& text) {
        transcript.add(now(), key, mark, std::forward<Text>(text));
    }

    // Servers.
    [[nodiscard]] RedisServer& redis() { return *redis_.back(); }
    [[nodiscard]] MysqlServer& mysql() { return *mysql_; }
    [[nodiscard]] Server& server(Site site);
    [[nodiscard]] const std::optional<authority::FleetRecord>& record();
    // An operator's change waits for an epoch above this one.
    [[nodiscard]] bool is_basis_pending(Epoch epoch);
    // The locks of the epoch that is open; nullptr: none is, or its store has not got it.
    [[nodiscard]] Vault* open_vault();
    [[nodiscard]] ConnectionPtr connect_to(Site site, std::size_t node, Ear& ear);
    [[nodiscard]] authority::ArbiterReply arbitrate(std::size_t node,
                                                    authority::ArbiterTable& table,
                                                    authority::StoreMs shown,
                                                    authority::ArbiterCall& call);
    // The old master hears of it after `unnoticed`.
    void promote_redis(Duration unnoticed);
    void initialised(Epoch epoch);
    void servers_changed() { oracle.store_changed(); }
    [[nodiscard]] bool is_settling(bool initialised);

    // The ways between nodes and servers, each direction.
    [[nodiscard]] Duration way_to(std::size_t node, Site site);
    [[nodiscard]] Duration way_back(std::size_t node, Site site);
    void slow_way(std::size_t node, Site site, Duration duration);
    void cut_way(std::size_t node, Site site, bool to, bool back, Duration duration);
    void break_ways(std::size_t node);
    void server_said(const ConnectionPtr& connection, Said&& said);
    void server_reset(const ConnectionPtr& connection);

    // Messages between nodes.
    void tell(Site by, const NodeName& node, const core::NodeMessage& message);
    void cut_messages(Site by, std::size_t node, Duration duration);
    void cut_messages(Site by, Duration duration);  // of all nodes
    void slow_messages(Site by, std::size_t node, Duration duration);
    [[nodiscard]] bool missed_messages(std::size_t node) const;  // lately

    // Clients.
    [[nodiscard]] std::optional<ClientId> connect(std::size_t actor, std::size_t node);
    [[nodiscard]] std::uint64_t send(ClientId client,
                                     core::ClientCommand command,
                                     Duration patience);
    // The client closes; the node hears of it after `unnoticed`.
    void close(ClientId client, Duration unnoticed);
    void answered(Member& member, const core::Ticket& ticket, core::Outcome& outcome);
    [[nodiscard]] bool is_open(ClientId client) const;
    [[nodiscard]] bool is_connected(ClientId client, const Member& member) const;
    [[nodiscard]] bool was_closed(const Exchange& exchange) const;
    void node_gone(std::size_t node);
    void node_closes(Member& leaver);
    void start_later(std::size_t node, Duration delay);
    void left_later(std::size_t node);

    const Plan plan;
    const Mutant mutant;
    const authority::Rule omitted;
    Random random;
    Timeline time;
    Transcript transcript;
    std::uint64_t runs = 0;  // of server processes
    std::uint64_t vaults = 0;
    std::map<std::uint64_t, Truth> truths;  // by number of the vault
    Oracle oracle;
    QueueOracle queues{*this};
    std::map<std::uint64_t, Exchange> exchanges;  // by number
    std::uint64_t incarnations = 0;
    std::uint64_t clock_refusals = 0;

private:
    struct Way {
        Moment slow_until{};
        Moment to_until{};
        Moment back_until{};
    };
    struct Channel {
        Moment cut_until{};
        Moment slow_until{};
        std::optional<Moment> impaired_at;
    };
    struct Session {
        std::size_t actor = 0;
        std::size_t node = 0;
        std::uint64_t incarnation = 0;
        bool is_open = true;   // for its client
        bool is_known = true;  // to its node
        Moment arrives{};
    };

    void run_calm();
    [[nodiscard]] std::string who_is_due();
    void check_liveness();
    void probe(std::size_t node, const LockKey& key, Duration bound);
    void snapshots();
    void replicas();
    void arrive(std::uint64_t number);
    void give_up(std::uint64_t number);
    void client_gone(Member& to, ClientId client);
    [[nodiscard]] Duration way_to_client();
    [[nodiscard]] Way& way(std::size_t node, Site site) {
        return ways_[node][static_cast<std::size_t>(site)];
    }
    [[nodiscard]] Channel& channel(std::size_t node, Site by) {
        return channels_[node][static_cast<std::size_t>(by)];
    }
    [[nodiscard]] Duration delay(const Way& way);
    void spoil(authority::ArbiterTable& table,
               authority::StoreMs shown,
               const authority::ArbiterCall& call);
    void spoil(authority::StoreMs shown, authority::ArbiterReply& reply);

    Nemesis nemesis_;
    std::vector<std::unique_ptr<RedisServer>> redis_;  // the last is the master
    std::unique_ptr<MysqlServer> mysql_;
    Moment redis_moved_{};
    std::vector<std::unique_ptr<Member>> members_;
    std::vector<std::unique_ptr<Actor>> actors_;
    std::vector<std::array<Way, site_count>> ways_;
    std::vector<std::array<Channel, site_count>> channels_;
    std::map<ClientId, Session> sessions_;
    std::uint64_t clients_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t steps_ = 0;
    Epoch initialised_ = 0;
    std::int64_t opened_shown_ = 0;
    std::size_t transcript_lines_;
    std::map<std::uint64_t, core::Outcome> probe_outcomes_;
    std::map<std::size_t, ClientId> probe_clients_;  // by node
};

}  // namespace latchd::sim
