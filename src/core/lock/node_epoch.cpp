// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// What a node does when its store changes (design section 5, rules 4, 6 and 8): it hands over what
// it knows, believes nothing of what it sent before, and puts back what was not carried.
//
// Grants of a fleet's last resort, the host's own table, have fences of epoch 0. They are not
// handed over, since other hosts may have granted the same locks: each is asserted by token when a
// shared store is back.
#include "node_impl.hpp"

#include <algorithm>
#include <utility>

namespace latchd::core {
namespace {

bool is_of_host(Fence fence) noexcept { return epoch_of(fence) == 0; }

template <class T>
void keep_bounded(std::deque<std::pair<Time, T>>& kept, std::size_t most, Time now) {
    while (!kept.empty() && (kept.front().first <= now || kept.size() > most)) kept.pop_front();
}

}  // namespace

// A grant of the shared store while the host's own table serves: it counts as held, and nobody
// can change it.
bool Node::Impl::is_away(const Lock& lock) const noexcept {
    if (!fleet_local_) return false;
    const auto& record = lock.record ? lock.record : lock.aside().delayed;
    return record && !is_of_host(record->fence) && record->is_live(now_);
}

bool Node::Impl::awaits_restore(const Lock& lock) const noexcept {
    return lock.aside().restore != nullptr && !lock.aside().restore->under_way;
}

// Answers an UNLOCK from the record of this node: nobody else can be granted before it is carried
// out. The hold is not handed over.
void Node::Impl::decide_here(Task& task) {
    Lock& lock = *task.lock;
    const Token token = std::get<Release>(task.operation).token;
    std::int64_t value = 1;
    if (lock.record && lock.record->find(token) != nullptr) {
        const bool is_last = lock.record->holds.size() == 1;
        if (is_last) add_gone_if_roamed(lock);
        forget_hold(lock, token);
        if (is_last) {
            drop_record(lock);
        } else {
            value = 2;
        }
    } else if (lock.aside().delayed && lock.aside().delayed->find(token) != nullptr) {
        KeptRecord& delayed = *lock.set_aside().delayed;
        delayed.erase(*delayed.find(token));
        if (delayed.holds.empty()) {
            end_delay(lock, delayed.fence);
        } else {
            value = 2;
        }
    }
    remember(*lock.key, token, value);
    if (task.ticket) answer(*task.ticket, Number{value});
    task.ticket.reset();
    task.try_until = now_ + limits_.ttl_longest + limits_.delay_longest + options_.answer_max;
    waits_.arm(task, task.try_until);
}

// Where the old connection can't be ended, a copy of the Restore may come behind the release of
// what it puts back. The attempts of the hold are barred: rule T11.
void Node::Impl::bar_restores(Lock& lock, const KeptHold& hold) {
    if (kill_works_ || !lock.restore_doubtful) return;
    for (const Attempt& attempt : hold.attempts) {
        Undo wish{*lock.key, hold.request, attempt, options_.name, std::nullopt};
        Task& task = add_task(Task::Kind::undo, std::move(wish), &lock, std::nullopt);
        task.doubtful = true;
        task.try_until = now_ + limits_.ttl_longest + options_.answer_max;
        start(task);
    }
}

// ---- claims ------------------------------------------------------------------------------------

// A node that left may have handed the grant over: that counts for so long, with all that was left.
void Node::Impl::add_gone(const LockKey& key, Fence fence, Time until) {
    if (is_of_host(fence)) return;
    until = std::max(until, now_ + limits_.claims_kept);
    GoneFence gone{key, fence};
    if (!gone_.empty() && gone_.back().second == gone) return;
    gone_.emplace_back(until, std::move(gone));
    keep_bounded(gone_, claims_max, now_);
}

// This node ends the grant; another that has a record of it may miss the message.
void Node::Impl::add_gone_if_roamed(const Lock& lock) {
    const KeptRecord& record = *lock.record;
    if (!lock.roamed) return;
    add_gone(*lock.key, record.fence, record.lease_end + record.delay);
    tell_ended(*lock.key, record.fence, given_to(record.holds));
}

// Who was given it may have left since, with a record of it.
void Node::Impl::tell_ended(const LockKey& key, Fence fence, std::uint64_t by) {
    if (is_of_host(fence) || by == 0 || by == options_.incarnation) return;
    out_->push_back(GrantEnded{{key, fence}, by});
}

void Node::Impl::add_cancelled(const LockKey& key, const RequestId& request) {
    const Duration bar = options_.wait_max + limits_.ttl_longest;
    cancelled_.emplace_back(now_ + bar, CancelledRequest{key, request, bar});
    keep_bounded(cancelled_, claims_max, now_);
}

// A later grant, or the end of this one by another's word: its DELAY is over.
void Node::Impl::end_delay(Lock& lock, Fence up_to) {
    Aside* const aside = lock.any_aside();
    if (aside == nullptr || !aside->delayed || aside->delayed->fence > up_to) return;
    add<JournalDrop>(*lock.key, aside->delayed->fence);
    aside->delayed.reset();
}

Claims Node::Impl::claims() {
    Claims given;
    locks_.each([&](const Lock& lock) {
        const auto& kept = lock.record ? lock.record : lock.aside().delayed;
        if (!kept || !kept->is_live(now_) || is_of_host(kept->fence)) return;
        given.records.push_back(to_be_kept(*lock.key, *kept));
    });
    std::ranges::sort(given.records, {}, &GrantRecord::key);
    for (const auto& [until, gone] : gone_) {
        if (until > now_) given.gone.push_back(gone);
    }
    for (const auto& [until, cancelled] : cancelled_) {
        if (until <= now_) continue;
        given.cancelled.push_back(cancelled);
        given.cancelled.back().left = until - now_;
    }
    return given;
}

namespace {

// What was put back is there as its holders were told: a record of the same grant that was carried
// by another node may lack a hold, or end earlier. Stores count in milliseconds.
bool is_whole(const GrantRecord& asked, const Reply& reply) {
    if (reply.status != Status::restored || !reply.record) return false;
    const GrantRecord& is = *reply.record;
    if (is.left + std::chrono::milliseconds(1) < asked.left) return false;
    return std::ranges::all_of(asked.holds, [&](const Hold& hold) {
        return std::ranges::find(is.holds, hold.token, &Hold::token) != is.holds.end();
    });
}

}  // namespace

// Rule 4. What is under way is in doubt from now on, whatever comes: a RENEW is sent again after
// the opening, an UNLOCK or CANCEL has ended its hold.
void Node::Impl::on(ClaimsWanted&& event) {
    if (open_ || !settling_) closed_reason_ = "epoch " + std::to_string(event.epoch);
    open_ = false;
    settling_ = true;
    asserts_ = false;
    epoch_wanted_ = std::max(epoch_wanted_, event.epoch);
    std::vector<std::uint64_t> ids;
    for (const auto& [id, flight] : flights_) ids.push_back(id);
    std::ranges::sort(ids);
    for (const std::uint64_t id : ids) {
        const Flight flight = flights_.find(id)->second;
        flights_.erase(id);
        failed(flight, Failure::in_doubt, "a new epoch settles");
    }
    std::vector<Task*> tasks;
    for (Task& task : tasks_) tasks.push_back(&task);
    for (Task* const task : tasks) {
        switch (task->kind) {
            case Task::Kind::restore:
                finish(*task);  // the next opening decides anew
                break;
            case Task::Kind::unlock:
                if (task->had_token && task->ticket) decide_here(*task);
                break;
            case Task::Kind::cancel: {
                const RequestId& request = std::get<Cancel>(task->operation).request;
                Lock& lock = *task->lock;
                const KeptHold* const hold = lock.record ? lock.record->find(request) : nullptr;
                if (hold == nullptr) break;
                task->had_token = true;
                const Token token = hold->token;
                const bool is_last = lock.record->holds.size() == 1;
                forget_hold(lock, token);
                if (is_last) drop_record(lock);
                break;
            }
            default:
                break;
        }
    }
    out_->push_back(ClaimsGiven{event.epoch, claims()});
}

// ---- opening -----------------------------------------------------------------------------------

// Puts back what this node keeps, into a store that was replaced while it did; resume() sends it.
void Node::Impl::restore_all(bool carried) {
    restore_wanted_ = false;
    std::vector<LockKey> keys;
    locks_.each([&](const Lock& lock) {
        if (!lock.record || !lock.record->is_leased(now_) || lock.releasing) return;
        if (lock.aside().restore != nullptr) return;
        const Fence fence = lock.record->fence;
        if (fleet_local_ && !is_of_host(fence)) return;
        // A shared store that kept this very grant all along knows better: it may have been
        // released through another node while this one was away.
        const bool is_there = carried || epoch_of(fence) == epoch_;
        if (shared_ && !is_of_host(fence) && is_there) return;
        keys.push_back(*lock.key);
    });
    std::ranges::sort(keys);
    for (const LockKey& key : keys) {
        Lock* const lock = locks_.find(key);
        Restore wish{to_record(*lock->key, *lock->record, now_), !shared_, is_strict(*lock->key)};
        Task& task = add_task(Task::Kind::restore, std::move(wish), lock, std::nullopt);
        task.try_until = lock->record->lease_end;
        lock->set_aside().restore = &task;
    }
}

// A Restore that ends in another way than by an answer is never counted: then nothing is said. Nor
// while there is what is handed over, but not put back: a DELAY, or a grant that moved to a node
// which may never have got to know of it.
void Node::Impl::begin_asserting() {
    bool has_delayed = false;
    locks_.each([&](const Lock& lock) {
        const auto& record = lock.record;
        const auto& delayed = lock.aside().delayed;
        has_delayed = has_delayed || (record ? record->is_live(now_) && !record->is_leased(now_)
                                             : delayed && delayed->is_live(now_));
    });
    restoring_ =
        static_cast<std::size_t>(std::ranges::count(tasks_, Task::Kind::restore, &Task::kind));
    asserts_ = shared_ && !has_delayed;
    consider_asserted();
}

void Node::Impl::consider_asserted() {
    if (!asserts_ || restoring_ != 0) return;
    asserts_ = false;
    out_->push_back(Asserted{epoch_});
}

void Node::Impl::restored(Task& task, Reply& reply, Time sent) {
    Lock& lock = *task.lock;
    const GrantRecord& asked = std::get<Restore>(task.operation).record;
    if (restoring_ > 0) --restoring_;
    asserts_ = asserts_ && is_whole(asked, reply);
    consider_asserted();
    if (!lock.record || lock.record->fence != asked.fence) return;
    if (reply.status != Status::restored) {
        ++counts_.lost;
        return lease_ended(lock, "lost with its store");
    }
    const Fence former = lock.record->fence;
    keep_record(lock, std::move(*reply.record), sent);
    if (lock.record->fence != former) {
        add<JournalDrop>(*lock.key, former);
        add<JournalPut>(to_record(*lock.key, *lock.record, now_));
        happened(Happened::Kind::failover, lock, "the store was replaced");
    }
}

// Rule 8: the fleet's last resort opens. What waits for the shared store goes on waiting.
void Node::Impl::leave_shared() {
    std::vector<Task*> tasks;
    for (Task& task : tasks_) tasks.push_back(&task);
    for (Task* const task : tasks) {
        task->shared_only = task->kind != Task::Kind::info && task->kind != Task::Kind::fence &&
                            task->kind != Task::Kind::list;
        if (task->kind == Task::Kind::restore) {
            finish(*task);
        } else if (task->kind == Task::Kind::unlock && task->had_token && task->ticket) {
            decide_here(*task);
        }
    }
}

void Node::Impl::on(StoreOpened&& event) {
    if (event.shared && event.epoch < epoch_wanted_) return;  // overtaken by ClaimsWanted
    const bool is_new = epoch_ != event.epoch;
    const bool had_epoch = epoch_ != 0;
    const bool was_local = fleet_local_;
    fleet_local_ = !event.shared && event.epoch == 0;
    open_ = true;
    settling_ = false;
    tier_ = std::move(event.tier);
    doubted_tier_ = tier_ + '?';
    shared_ = event.shared;
    margin_ = event.margin;
    kill_works_ = event.kill_works;
    epoch_ = event.epoch;
    if (fleet_local_ && !was_local) leave_shared();
    if (!fleet_local_ && was_local) {
        std::vector<Task*> tasks;
        for (Task& task : tasks_) tasks.push_back(&task);
        for (Task* const task : tasks) {
            task->shared_only = false;
            // Of a local grant: it is not asserted any more, and the shared store never had it.
            if (task->kind == Task::Kind::unlock && task->had_token && task->ticket) {
                decide_here(*task);
            }
        }
    }
    if (is_new || restore_wanted_) {
        restore_all(event.carried);
        begin_asserting();
    }
    held_back_ = false;
    hears_ = true;
    refuse_degraded();
    // What other nodes released in the former epoch may not have been told.
    if (is_new && had_epoch && shared_) messages_since_ = now_;
    for (auto& [key, lock] : locks_.unpacked()) {
        if (is_new) lock.in_queue = false;  // queues are not carried
        if (!knows_held(lock)) look_now(lock);
    }
    locks_.check_packed_at(now_);
    resume();
}

void Node::Impl::on(StoreClosed&& event) {
    open_ = false;
    settling_ = event.settling;
    closed_reason_ = std::move(event.reason);
    store_refusal_.clear();
}

void Node::Impl::on(Restarted&& event) {
    for (GrantRecord& record : event.records) {
        Lock& lock = locks_.of(record.key);
        if (lock.record) continue;
        if (record.node.empty()) {  // keep_as_moved()
            record.node = options_.name;
            lock.set_aside().delayed = keep(record, now_, &recent_);
            rearm(lock);
            continue;
        }
        lock.record = keep(record, now_, &recent_);
        lock.roamed = record.version > 1;
        lock.confirmed_at = Time::min();
        lock.free_at = now_ + record.left + record.delay;
        lock.check_at = now_;
        lock.keep_at = lock.record->lease_end;
        ++counts_.held;
        ++held_[record.key.resource];
        rearm(lock);
        locks_.pack_some();  // there may be a million
    }
    restore_wanted_ = true;
    if (!open_) return;
    restore_all(false);
    begin_asserting();
    resume();
}

}  // namespace latchd::core
