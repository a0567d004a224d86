// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actor.hpp"
#include "member.hpp"
#include "mutation.hpp"
#include "nemesis.hpp"
#include "oracle.hpp"
#include "plan.hpp"
#include "random.hpp"
#include "redis.hpp"
#include "timeline.hpp"
#include "transcript.hpp"
#include "truth.hpp"

#include <cstdint>
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
    core::NodeCounts counts;  // of all nodes that were alive at the end
    Coverage coverage{};
};

struct RunOptions {
    Mutant mutant = Mutant::none;
    bool writes_transcript = false;
    std::size_t transcript_lines = 150;
    std::optional<int> nodes = {};
};

// Everything that one seed decides: hosts, a store, clients, the ways between them, and what goes
// wrong. One thread, made-up time.
class World {
public:
    World(std::uint64_t seed, const RunOptions& options);
    ~World();

    [[nodiscard]] Result run();

    // ---- for its parts ----
    [[nodiscard]] Moment now() const noexcept { return time.now(); }
    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] Member& member(std::size_t index) { return *members_[index]; }
    [[nodiscard]] LockKey any_key();
    template <class Text>
    void note(const LockKey* key, std::uint64_t mark, Text&& text) {
        transcript.add(now(), key, mark, std::forward<Text>(text));
    }

    // The way between a node and the store, each direction.
    [[nodiscard]] Duration way_to_store(std::size_t node);
    void slow_way(std::size_t node, Moment until);
    void stall_way(std::size_t node, Moment until);
    void store_said(const ConnectionPtr& connection, Said&& said);
    void connection_reset(const ConnectionPtr& connection);

    // Messages between nodes.
    void tell(const NodeName& node, const core::NodeMessage& message);
    void cut_messages(std::size_t node, Duration duration);
    void cut_messages(Duration duration);  // of all nodes
    void slow_messages(std::size_t node, Duration duration);
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
    void start_later(std::size_t node, Duration delay);

    const Plan plan;
    const Mutant mutant;
    Random random;
    Timeline time;
    Transcript transcript;
    Truth truth;
    Oracle oracle;
    Redis redis;
    std::map<std::uint64_t, Exchange> exchanges;  // by number
    std::uint64_t incarnations = 0;

private:
    struct Way {
        Moment slow_until{};
        Moment stalled_until{};
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

    void run_for(Duration duration);
    void run_calm();
    void check_liveness();
    void probe(std::size_t node, const LockKey& key, Duration bound);
    void heal();
    void snapshots();
    void arrive(std::uint64_t number);
    void give_up(std::uint64_t number);
    [[nodiscard]] Duration way_to_client();
    [[nodiscard]] Result result();

    Nemesis nemesis_;
    std::vector<std::unique_ptr<Member>> members_;
    std::vector<std::unique_ptr<Actor>> actors_;
    std::vector<Way> ways_;
    std::vector<Channel> channels_;
    std::map<ClientId, Session> sessions_;
    std::uint64_t clients_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t steps_ = 0;
    std::size_t transcript_lines_;
    std::map<std::uint64_t, core::Outcome> probe_outcomes_;
};

}  // namespace latchd::sim
