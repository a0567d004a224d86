// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Waiting beside other nodes (rules T12 to T14).
//
// Each node's waiters are one line; between the lines the store's queue takes turns. Who is refused
// there is told when the lock is offered to this node, and looks again by itself, in case the
// message, the lock's key or another node was lost: when the lease that it saw must have ended, and
// every wake_check, doubling. Where messages are rows that are read every now and then (MySQL), or
// don't come at all, the heads of all lines look together instead, 50 to 200 ms apart.
#include "node_impl.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace latchd::core {
namespace {

using std::chrono::milliseconds;

constexpr Duration look_min = milliseconds(50);
constexpr Duration look_max = milliseconds(200);

// Looks of different locks fall together, so that they are one statement.
Time next_beat(Time now, Duration interval) noexcept {
    return now + interval - now.time_since_epoch() % interval;
}

}  // namespace

// A freed lock is kept for this node for a moment.
void Node::Impl::offered(const LockKey& key) {
    Lock& lock = locks_.of(key);
    const Request* const first = head(lock);
    lock.in_queue = true;
    if (first != nullptr && (!open_ || allowed(*first) != Allowed::granting)) {
        step_out(lock);  // others may
    } else if (first != nullptr) {
        // An answer that is under way may be from before.
        lock.is_offered = first->stage != Request::Stage::idle;
        look_now(lock);
        lock.asked_at = {};
    }
    settle(lock);
}

// Nothing wakes anybody: who slept long looks from now on.
void Node::Impl::on(MessagesLost&&) {
    if (!std::exchange(hears_, false)) return;
    std::vector<Lock*> locks;
    for (auto& [key, lock] : locks_.unpacked()) {  // none of which is packed
        if (head(lock) != nullptr) locks.push_back(&lock);
    }
    for (Lock* const lock : locks) {
        if (Aside* const aside = lock->any_aside()) aside->check_interval = {};
        lock->check_at = std::min(lock->check_at, next_beat(now_, look_max));
        settle(*lock);
    }
}

// Nobody waits here any more: what is kept for this node goes to the next. Sent once: if it is
// lost, the node is offered the lock one time too often.
void Node::Impl::step_out(Lock& lock) {
    lock.in_queue = false;
    if (!open_ || is_away(lock)) return;
    Task& task =
        add_task(Task::Kind::step_out, StepOut{*lock.key, options_.name}, &lock, std::nullopt);
    task.try_until = now_;
    start(task);
}

// Whether the next waiter of this node has to stand back behind those of others.
bool Node::Impl::has_had_its_turn(const Lock& lock) const noexcept {
    return lock.turn >= options_.handover_max;
}

// The head was refused: when it looks again.
void Node::Impl::look_later(Lock& lock, const Reply& reply) {
    Aside& aside = lock.set_aside();
    const Duration over = reply.left + milliseconds(1);
    if (reply.fence_seen == 0) {
        // Free, and kept for another node, which may not be there any more.
        aside.fence_seen = 0;
        aside.check_interval = {};
        lock.free_at = now_ + reply.left;
        lock.check_at = now_ + over;
    } else {
        // A lease that was renewed meanwhile is not looked at more often than once per wake_check.
        const bool same = aside.fence_seen == reply.fence_seen;
        const bool extended = same && now_ + reply.left > lock.free_at + milliseconds(5);
        aside.fence_seen = reply.fence_seen;
        lock.free_at = now_ + reply.left;
        const Duration least = looks_often() ? look_min : options_.wake_check;
        const Duration most = looks_often() ? look_max : std::max(reply.left, least);
        aside.check_interval = same ? std::clamp(2 * aside.check_interval, least, most) : least;
        lock.check_at = now_ + std::min(aside.check_interval, over);
        if (looks_often()) {
            lock.check_at = std::min(lock.check_at, next_beat(now_, aside.check_interval));
        } else if (extended) {
            lock.check_at = std::max(lock.check_at, lock.asked_at + options_.wake_check);
        }
    }
    if (!std::exchange(lock.is_offered, false)) return;
    look_now(lock);
    lock.asked_at = {};
}

void Node::Impl::look_now(Lock& lock) noexcept {
    lock.check_at = now_;
    if (Aside* const aside = lock.any_aside()) aside->busy_until = {};
}

// For a resource that says so, clients that poll cost the store one question in so long.
void Node::Impl::remember_busy(Lock& lock, const Reply& reply) {
    const ResourceSettings* const settings = registry_.find(lock.key->resource.view());
    if (settings == nullptr || !settings->busy_cache || reply.fence_seen == 0) return;
    lock.set_aside().busy_until = now_ + std::min(*settings->busy_cache, reply.left);
}

}  // namespace latchd::core
