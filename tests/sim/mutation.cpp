// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "mutation.hpp"

#include <utility>
#include <variant>

namespace latchd::sim {

std::optional<core::GrantRecord> Mutation::inspect(const LockKey& key) {
    return table.apply(now, core::Inspect{key}).reply.record;
}

core::OperationReply Mutation::apply(const core::Operation& operation) {
    before(operation);
    core::OperationReply reply = table.apply(now, operation);
    after(operation, reply);
    return reply;
}

void Mutation::before(const core::Operation& operation) {
    if (const auto* undo = std::get_if<core::Undo>(&operation);
        undo != nullptr && mutant == Mutant::undo_by_request) {
        const auto record = inspect(undo->key);
        if (!record) return;
        for (const core::Hold& hold : record->holds) {
            if (hold.request != undo->request) continue;
            for (const Attempt& attempt : hold.attempts) {
                core::Undo other = *undo;
                other.attempt = attempt;
                other.tombstone.reset();
                (void)table.apply(now, other);
            }
        }
    }
    if (const auto* acquire = std::get_if<core::Acquire>(&operation);
        acquire != nullptr && mutant == Mutant::delay_ignored) {
        const auto record = inspect(acquire->key);
        if (record && record->left <= Duration::zero()) {
            (void)table.apply(now, core::Force{acquire->key, acquire->node, std::nullopt});
        }
    }
}

void Mutation::after(const core::Operation& operation, core::OperationReply& reply) {
    if (const auto* acquire = std::get_if<core::Acquire>(&operation)) {
        core::Reply& grant = reply.reply;
        if (mutant == Mutant::adopt_fresh_ttl && grant.status == core::Status::adopted) {
            grant.record->left = acquire->ttl;
        }
        if (mutant == Mutant::fence_stays && grant.status == core::Status::granted && last) {
            grant.record->fence = last->fence;
        }
    } else if (const auto* release = std::get_if<core::Release>(&operation)) {
        if (mutant == Mutant::release_any_token &&
            reply.reply.status == core::Status::held_by_other) {
            (void)table.apply(now, core::Force{release->key, release->node, std::nullopt});
            reply.reply.status = core::Status::released;
        }
    } else if (const auto* renew = std::get_if<core::Renew>(&operation)) {
        if (mutant == Mutant::renew_recreates && reply.reply.status == core::Status::not_held &&
            last != nullptr) {
            core::GrantRecord record = *last;
            record.left = renew->ttl.value_or(record.ttl);
            core::OperationReply again = table.apply(now, core::Restore{std::move(record), true});
            if (again.reply.status != core::Status::restored) return;
            reply = std::move(again);
            reply.reply.status = core::Status::renewed;
        }
    }
}

}  // namespace latchd::sim
