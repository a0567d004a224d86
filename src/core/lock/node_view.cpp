// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// LOCKINFO, LOCKS and FENCE: what people and programs ask about locks.
#include "node_impl.hpp"

#include <latchd/base/glob.hpp>

#include <algorithm>
#include <utility>

namespace latchd::core {

void Node::Impl::on(InfoCommand&& command) {
    Lock& lock = locks_.of(command.key);
    if (is_away(lock) && lock.record) {
        LockView seen = view(*lock.key, &lock);
        if (command.explain) seen.explanation.push_back(away_text(lock));
        return answer(command.ticket, std::move(seen));
    }
    Task& task = add_task(Task::Kind::info, Inspect{command.key}, &lock, command.ticket);
    task.explain = command.explain;
    start(task);
}

void Node::Impl::on(FenceCommand&& command) {
    Lock& lock = locks_.of(command.key);
    if (is_away(lock)) {
        const bool holds = lock.record && lock.record->fence == command.fence;
        return answer(command.ticket, Number{holds ? 1 : 0});
    }
    Task& task = add_task(Task::Kind::fence, Inspect{command.key}, &lock, command.ticket);
    task.fence = command.fence;
    start(task);
}

void Node::Impl::on(ListCommand&& command) {
    if (command.fleet) {
        List wish{std::move(command.pattern), command.count, command.cursor};
        start(add_task(Task::Kind::list, std::move(wish), nullptr, command.ticket));
        return;
    }
    // Pages go by hash, as in the table: what stays is never left out.
    std::vector<std::pair<std::uint64_t, Timer*>> rest;
    const auto consider = [&](const LockKey& key, Timer& timer) {
        const std::uint64_t hash = std::hash<LockKey>{}(key) >> 1;
        if (hash >= command.cursor) rest.emplace_back(hash, &timer);
    };
    for (auto& [key, lock] : locks_.unpacked()) {
        if (lock.record) consider(key, lock);
    }
    for (PackedLock* const packed : locks_.packed()) consider(packed->key(), *packed);
    std::ranges::sort(rest);
    LockList list;
    std::size_t taken = 0;
    for (const auto& [hash, timer] : rest) {
        if (taken >= command.count && hash != rest[taken - 1].first) {
            list.cursor = hash;
            break;
        }
        ++taken;
        const Lock* const lock = &locks_.at(*timer);
        const std::string name = lock->key->resource.str() + ':' + lock->key->id.str();
        if (!command.pattern.empty() && !glob_matches(command.pattern, name)) continue;
        list.rows.push_back(view(*lock->key, lock));
    }
    answer(command.ticket, std::move(list));
}

LockView Node::Impl::view(const LockKey& key, const Lock* lock) const {
    LockView view;
    view.tier = told_tier();
    view.epoch = epoch_;
    view.record.key = key;
    if (lock == nullptr) return view;
    view.waiters = static_cast<std::uint32_t>(std::ranges::count_if(
        lock->requests, [](const Request* r) { return r->queued && !r->ghost; }));
    view.keep = is_kept(*lock);
    if (lock->record) {
        view.held = true;
        view.record = to_record(key, *lock->record, now_);
    }
    return view;
}

void Node::Impl::viewed(Task& task, OperationReply& reply) {
    if (!task.ticket) return;
    const bool is_there = reply.reply.status == Status::found && reply.reply.record;
    if (task.kind == Task::Kind::fence) {
        const bool holds = is_there && reply.reply.record->fence == task.fence &&
                           reply.reply.record->left > Duration::zero();
        return answer(*task.ticket, Number{holds ? 1 : 0});
    }
    if (task.kind == Task::Kind::list) {
        LockList list;
        list.cursor = reply.cursor;
        for (GrantRecord& record : reply.rows) {
            LockView row = view(record.key, locks_.find(record.key));
            row.held = true;
            row.record = std::move(record);
            list.rows.push_back(std::move(row));
        }
        return answer(*task.ticket, std::move(list));
    }
    LockView seen = view(*task.lock->key, task.lock);
    const bool kept_here = seen.held;
    seen.held = is_there;
    if (is_there) seen.record = *reply.reply.record;
    seen.foreign = reply.reply.status == Status::foreign_value;
    if (task.explain) {
        auto& lines = seen.explanation;
        if (reply.reply.status == Status::foreign_value) {
            lines.emplace_back("a value that latchd did not write is where this lock would be");
        } else if (!is_there) {
            lines.emplace_back("nobody holds it: the next LOCK gets it");
        } else if (seen.record.left <= Duration::zero()) {
            lines.push_back("its lease ended without UNLOCK; DELAY keeps it for another " +
                            std::to_string(to_ms(seen.record.left + seen.record.delay)) + " ms");
        } else {
            lines.push_back(
                "held through node " + seen.record.node.str() + " by client " +
                seen.record.client.str() + " for at most another " +
                std::to_string(to_ms(seen.record.left)) + " ms" +
                (seen.keep ? ", renewed by this node while that client is connected" : ""));
        }
        if (kept_here != is_there) {
            lines.emplace_back(kept_here
                                   ? "this node has a record of a grant that the store has not"
                                   : "this node has no record of it");
        }
        if (seen.waiters > 0) {
            lines.push_back(std::to_string(seen.waiters) + " wait for it on this node");
        }
    }
    answer(*task.ticket, std::move(seen));
}

}  // namespace latchd::core
