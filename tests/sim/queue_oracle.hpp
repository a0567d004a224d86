// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timeline.hpp"

#include <latchd/core/lock/table.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace latchd::sim {

class World;

// Whose turn it is, as the stores see it (rules T12 to T14): no node in a queue is overtaken by
// more than handover_max grants for each node of the fleet, and a hand-over is one message at most.
class QueueOracle {
public:
    explicit QueueOracle(World& world) : world_(world) {}

    struct Seen {
        std::uint64_t vault = 0;
        const LockKey* key = nullptr;
        Time at{};  // by the store's clock
        core::NodeQueue queue;
        bool is_held = false;
        const core::Operation* operation = nullptr;
        const core::OperationReply* reply = nullptr;
        std::size_t offers = 0;
    };
    // After each operation on a lock.
    void observe(const Seen& seen);

    // The lock was kept for a waiter at some moment since `from`: nil is right.
    [[nodiscard]] bool was_reserved(const LockKey& key, Moment from) const;

private:
    struct Line {
        std::map<NodeName, std::size_t> overtaken;  // of each that waits: grants since it came
        Time offered_at{};
        bool is_offered = false;  // and neither taken, left nor late yet
    };

    void check_offers(Line& line, const Seen& seen);
    void check_turns(Line& line, const Seen& seen);

    World& world_;
    std::map<std::pair<std::uint64_t, LockKey>, Line> lines_;
    std::map<LockKey, Moment> reserved_;
};

}  // namespace latchd::sim
