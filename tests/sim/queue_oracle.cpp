// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "queue_oracle.hpp"

#include "world.hpp"

#include <algorithm>
#include <string>
#include <variant>

namespace latchd::sim {
namespace {

constexpr std::size_t handover_max = 16;  // NodeOptions'

bool is_grant(const QueueOracle::Seen& seen) {
    const core::OperationReply& reply = *seen.reply;
    const bool is_acquire = std::holds_alternative<core::Acquire>(*seen.operation);
    return (is_acquire && reply.reply.status == core::Status::granted) ||
           (reply.then && reply.then->status == core::Status::granted);
}

}  // namespace

void QueueOracle::observe(const Seen& seen) {
    Line& line = lines_[{seen.vault, *seen.key}];
    check_offers(line, seen);
    check_turns(line, seen);
    // A little longer than by the store's clock, which drifts; and a late answer is an old one.
    if (seen.queue.reserved_until > seen.at) {
        reserved_[*seen.key] = world_.now() + (seen.queue.reserved_until - seen.at) * 2;
    }
}

bool QueueOracle::was_reserved(const LockKey& key, Moment from) const {
    const auto it = reserved_.find(key);
    return it != reserved_.end() && it->second >= from;
}

void QueueOracle::check_offers(Line& line, const Seen& seen) {
    const bool is_left = std::holds_alternative<core::StepOut>(*seen.operation) &&
                         seen.reply->reply.status == core::Status::undone;
    const bool is_late = seen.at - line.offered_at >= core::reserved_for;
    if (is_left || is_late) line.is_offered = false;
    if (seen.offers > 1 || (seen.offers == 1 && line.is_offered)) {
        world_.oracle.violate(*seen.key, "a second message for one hand-over");
    }
    if (seen.offers == 1) {
        line.is_offered = true;
        line.offered_at = seen.at;
    }
    if (seen.is_held) line.is_offered = false;
}

void QueueOracle::check_turns(Line& line, const Seen& seen) {
    const auto& nodes = seen.queue.nodes;
    std::erase_if(line.overtaken, [&](const auto& entry) {
        return std::ranges::find(nodes, entry.first) == nodes.end();
    });
    const bool is_one_more = is_grant(seen);
    for (const NodeName& node : nodes) {
        const auto [it, is_new] = line.overtaken.try_emplace(node, 0);
        if (is_new || !is_one_more) continue;
        if (++it->second > handover_max * world_.size()) {
            world_.oracle.violate(*seen.key,
                                  "node " + node.str() + " waits while others get " +
                                      std::to_string(it->second) + " grants");
        }
    }
}

}  // namespace latchd::sim
