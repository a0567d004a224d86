// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The records that a node keeps, their leases, and the watchdog.
//
// A lease runs from before the request was sent, less a margin and 0.1 % for drift of the two
// clocks, so that the holder's ends before the store's. KEEP renews at a third of the ttl, over
// and over within the lease when the store does not answer, never once a release was sent, and
// never what the store says is lost.
#include "node_impl.hpp"

#include <algorithm>
#include <utility>

namespace latchd::core {
namespace {
constexpr Duration retry_after = std::chrono::milliseconds(250);
constexpr Duration strict_margin = std::chrono::milliseconds(260);

// What is left of it so much later; of its lease the caller knows more.
void let_pass(GrantRecord& record, Duration passed) {
    for (Hold& hold : record.holds) {
        hold.adopt_left = std::max(hold.adopt_left - passed, Duration::zero());
    }
    if (record.hard_left) *record.hard_left -= passed;
    record.age += passed;
}
}  // namespace

// Rule 9: a store's clock may be off by as much as its scripts tolerate for strict locks.
Duration Node::Impl::margin_of(const LockKey& key) const noexcept {
    return is_strict(key) ? margin_ + strict_margin : margin_;
}

Time Node::Impl::told_end(const LockKey& key, Time sent, Duration left) const noexcept {
    const Duration margin = margin_of(key);
    if (margin == Duration::zero()) return sent + left;
    return sent + left - left / 1000 - margin;
}

// What a store has to keep for a holder that was told `left`: the inverse of told_end().
Duration Node::Impl::kept_left(const LockKey& key, Duration left) const noexcept {
    const Duration margin = margin_of(key);
    if (margin == Duration::zero()) return left;
    return left + margin + std::max(left + margin, Duration::zero()) / 999 + Duration(1);
}

// As a store has to keep it for its holders. No lease is longer than its hard end in the store, so
// what was told isn't either, though an answer that came slowly shows the hard end too soon.
GrantRecord Node::Impl::to_be_kept(const LockKey& key, const KeptRecord& kept) const {
    GrantRecord record = to_record(key, kept, now_);
    record.left = std::min(kept_left(key, record.left), std::max(record.left, limits_.ttl_longest));
    if (record.hard_left) record.hard_left = std::max(*record.hard_left, record.left);
    return record;
}

bool Node::Impl::is_near_hard_end(const Lock& lock, Time at) const noexcept {
    const KeptRecord& record = *lock.record;
    return at + margin_of(*lock.key) + record.ttl / 1000 >= record.hard_end;
}

bool Node::Impl::is_kept(const Lock& lock) const noexcept {
    return std::ranges::any_of(lock.holders, &Holder::keep);
}

// A message may have overtaken the answer that the record came with.
bool Node::Impl::is_elsewhere(const Lock& lock) const noexcept {
    const Aside& aside = lock.aside();
    return lock.record && lock.record->fence == aside.moved_fence &&
           lock.record->version < aside.moved_version;
}

bool Node::Impl::knows_held(const Lock& lock) const noexcept {
    if (is_away(lock)) return true;
    return lock.record && lock.record->is_leased(now_) && !lock.releasing &&
           lock.confirmed_at > messages_since_;
}

// Takes over what the store says of a grant, as told by an answer to something sent at `sent`. The
// record goes on to the journal.
void Node::Impl::keep_record(Lock& lock, GrantRecord&& record, Time sent) {
    if (!lock.record) {
        if (journal_room_ != 0) --journal_room_;
        ++counts_.held;
        const std::uint64_t held = ++held_[lock.key->resource];
        const ResourceSettings* const settings = registry_.find(lock.key->resource.view());
        const std::uint64_t expected =
            settings == nullptr ? locks_expected_default
                                : settings->locks_expected.value_or(locks_expected_default);
        if (held == expected + 1) {
            notice(Notice::Level::warning,
                   "resource.many_locks",
                   "resource " + lock.key->resource.str() + " has more than EXPECTLOCKS " +
                       std::to_string(expected) + " live locks: is it one lock per business key?");
        }
    }
    lock.free_at = now_ + record.left + record.delay;
    record.left = told_end(*lock.key, sent, record.left) - sent;
    end_delay(lock, record.fence);
    // A slow answer that extends nothing says less than was told before, which still holds.
    const bool is_same = lock.record && lock.record->fence == record.fence;
    if (is_same) {
        lock.roamed = lock.roamed || record.version > lock.record->version + 1;
    } else {
        lock.roamed = record.version > 1;
    }
    const Time told = is_same ? lock.record->lease_end : Time::min();
    lock.record = keep(record, sent, &recent_);
    lock.record->lease_end = std::max(lock.record->lease_end, told);
    lock.confirmed_at = now_;
    lock.keep_at = now_ + renew_after_of(lock);
    lock.warned = false;
    lock.check_at = lock.free_at;
    lock.asked_at = {};
    if (Aside* const aside = lock.any_aside()) {
        aside->busy_until = {};
        aside->fence_seen = 0;
        aside->check_interval = {};
    }
    let_pass(record, now_ - sent);
    record.left = lock.record->lease_end - now_;
    // Adopted or re-entered, it may run for longer than the LOCK asked for, and this node is the
    // one that keeps a record of it now.
    if (is_strict(*lock.key)) (void)is_covered(lock.key->resource, record.left + record.delay);
    add<JournalPut>(std::move(record));
}

// nullptr: too many resources. Only KEEP locks are watched: the others' renewals are not ours.
Pace* Node::Impl::pace_of(const Lock& lock) {
    if (!is_kept(lock)) return nullptr;
    const ResourceName& resource = lock.key->resource;
    if (const auto it = paces_.find(resource); it != paces_.end()) return &it->second;
    return paces_.size() < paces_max ? &paces_[resource] : nullptr;
}

Duration Node::Impl::renew_after_of(const Lock& lock) {
    const Pace* const pace = pace_of(lock);
    return renew_after(lock.record->ttl, pace != nullptr ? *pace : Pace{});
}

void Node::Impl::drop_record(Lock& lock) {
    if (!lock.record) return;
    if (Pace* const pace = pace_of(lock)) pace->saw_hold(now_ - lock.record->granted_at);
    for (Holder& holder : lock.holders) stop_keeping(lock, holder);
    lock.holders.clear();
    add<JournalDrop>(*lock.key, lock.record->fence);
    lock.record.reset();
    lock.releasing = false;
    lock.roamed = false;
    lock.restore_doubtful = false;
    lock.check_at = now_;
    lock.asked_at = {};
    --counts_.held;
    const auto it = held_.find(lock.key->resource);
    if (--it->second == 0) held_.erase(it);
}

// The other node may never get the answer that made the lock its own: what is known here is handed
// over until it is over, by whoever has the journal too, and not used for anything else.
void Node::Impl::keep_as_moved(Lock& lock) {
    std::optional<KeptRecord> moved;
    if (shared_ && lock.aside().moved_version != Aside::has_ended) moved = lock.record;
    drop_record(lock);
    if (!moved) return;
    GrantRecord record = to_record(*lock.key, *moved, now_);
    record.node = NodeName();  // another's: a successor takes it for no lock of its own
    add<JournalPut>(std::move(record));
    lock.set_aside().delayed = std::move(moved);
}

void Node::Impl::forget_hold(Lock& lock, const Token& token) {
    const auto it = std::ranges::find(lock.holders, token, &Holder::token);
    if (it != lock.holders.end()) {
        stop_keeping(lock, *it);
        lock.holders.erase(it);
    }
    if (const KeptHold* const hold = lock.record->find(token);
        hold != nullptr && lock.record->holds.size() > 1) {
        lock.record->erase(*hold);
        add<JournalPut>(to_record(*lock.key, *lock.record, now_));
    }
}

// One holder per token: a taken-over hold is told, and kept, through its newest connection.
void Node::Impl::set_holder(Lock& lock, Holder holder) {
    const auto it = std::ranges::find(lock.holders, holder.token, &Holder::token);
    if (it != lock.holders.end()) {
        if (holder.expect_until == Holder::never) holder.expect_until = it->expect_until;
        stop_keeping(lock, *it);
        *it = holder;
    } else {
        lock.holders.push_back(holder);
    }
    if (holder.keep) {
        keeping_clients_[holder.client].insert(&lock);
        counts_.keeping += 1;
        lock.keep_at = std::min(lock.keep_at, lock.confirmed_at + renew_after_of(lock));
    }
}

void Node::Impl::stop_keeping(Lock& lock, Holder& holder) {
    if (!holder.keep) return;
    holder.keep = false;
    counts_.keeping -= 1;
    const bool another = std::ranges::any_of(
        lock.holders, [&](const Holder& h) { return h.keep && h.client == holder.client; });
    if (another) return;
    const auto it = keeping_clients_.find(holder.client);
    if (it == keeping_clients_.end()) return;
    it->second.erase(&lock);
    if (it->second.empty()) keeping_clients_.erase(it);
}

bool Node::Impl::is_of_lock_here(const Attempt& attempt) const noexcept {
    return attempt.incarnation == options_.incarnation &&
           attempt != standing_attempt(options_.incarnation);
}

void Node::Impl::give_back_attempts(Lock& lock, const Parted& hold, Time try_until) {
    for (const Attempt& attempt : hold.attempts) {
        if (!is_of_lock_here(attempt)) continue;
        Undo wish{hold.key, hold.request, attempt, options_.name, std::nullopt};
        Task& task = add_task(Task::Kind::undo, std::move(wish), &lock, std::nullopt);
        task.try_until = try_until;
        task.doubtful = lock.restore_doubtful;
        start(task);
    }
}

// ONCLOSE RELEASE: takes out what connections of this node got. If the same LOCK was sent again
// through another node, its attempt there keeps the hold; so does a RENEW KEEP, through any.
void Node::Impl::give_back(Lock& lock, const Token& token, Time try_until) {
    if (!lock.record || lock.record->find(token) == nullptr) return;
    const KeptHold hold = *lock.record->find(token);
    give_back_attempts(lock, {*lock.key, hold.request, hold.attempts}, try_until);
    ++counts_.released;
    const bool is_last = lock.record->holds.size() == 1;
    const bool is_own = std::ranges::all_of(
        hold.attempts, [this](const Attempt& attempt) { return is_of_lock_here(attempt); });
    if (is_last && is_own) add_gone_if_roamed(lock);
    forget_hold(lock, token);
    if (is_last) drop_record(lock);
}

// Another node renews the hold from now on, and this one may forget it. What the holder's
// connection got is still given back when that ends: else the hold would stand when the other one
// has ended.
void Node::Impl::give_back_later(const Lock& lock, const Holder& holder) {
    if (!holder.keep || !holder.release_on_close) return;
    const KeptHold* const hold = lock.record->find(holder.token);
    if (hold == nullptr || parted_count_ >= parted_max) return;
    parted_[holder.client].push_back({*lock.key, hold->request, hold->attempts});
    ++parted_count_;
}

void Node::Impl::give_back_parted(ClientId client) {
    const auto it = parted_.find(client);
    if (it == parted_.end()) return;
    const std::vector<Parted> holds = std::move(it->second);
    parted_.erase(it);
    parted_count_ -= holds.size();
    for (const Parted& hold : holds) {
        Lock& lock = locks_.of(hold.key);
        give_back_attempts(lock, hold, now_ + limits_.ttl_longest + options_.answer_max);
        settle(lock);
    }
}

void Node::Impl::undone(const Task& task, const Reply& reply, Time sent) {
    Lock& lock = *task.lock;
    const GrantRecord* const record = reply.record ? &*reply.record : nullptr;
    const bool has_ended =
        reply.status == Status::undone && record != nullptr && record->holds.size() == 1 &&
        record->holds.front().attempts.size() == 1 &&
        record->holds.front().attempts.front() == std::get<Undo>(task.operation).attempt;
    // A node that had it once, this one too, may hand it over yet.
    if (has_ended && record->version > 1) ended_in_store(lock, *record);
    if (reply.status == Status::hold_removed) keep_rest(lock, reply, sent);
    look_now(lock);  // it may be free
}

// The grant is over without an UNLOCK, by this node's clock or by the store's word.
void Node::Impl::lease_ended(Lock& lock, const char* reason, Ending ending) {
    const KeptRecord& record = *lock.record;
    if (is_near_hard_end(lock, now_)) {
        reason = "maxhold";
        for (const KeptHold& hold : record.holds) remember(*lock.key, hold.token, lost_maxhold);
    }
    happened(Happened::Kind::lost, lock, reason);
    if (wants_debug()) {
        notice(Notice::Level::debug,
               "lock.lost",
               grant_name(*lock.key, record.fence) + " lost: " + reason);
    }
    const Time free_at = lock.free_at;
    std::optional<KeptRecord> delayed;
    if (ending == Ending::lapsed && record.is_live(now_)) delayed = record;
    drop_record(lock);
    lock.check_at = free_at;
    if (!delayed) return;
    // Nobody gets it for that long, whatever becomes of the store or of this process.
    add<JournalPut>(to_record(*lock.key, *delayed, now_));
    lock.set_aside().delayed = std::move(delayed);
}

void Node::Impl::renew_kept(Lock& lock) {
    const auto holder = std::ranges::find_if(lock.holders, &Holder::keep);
    // Takes nothing over: another node may keep another hold of this lock.
    Renew wish{*lock.key, holder->token, options_.name, std::nullopt, false, is_strict(*lock.key)};
    Task& task = add_task(Task::Kind::keep, std::move(wish), &lock, std::nullopt);
    task.try_until = lock.record->lease_end;
    lock.renewing = true;
    lock.keep_at = now_ + retry_after;
    start(task);
}

void Node::Impl::kept(Task& task, Reply& reply, Time sent) {
    Lock& lock = *task.lock;
    lock.renewing = false;
    const Token& token = std::get<Renew>(task.operation).token;
    const bool here = lock.record && lock.record->find(token) != nullptr;
    switch (reply.status) {
        case Status::renewed:
            // A release that was sent behind this renewal has the last word. A lock that was told
            // lost meanwhile is left to its lease: its client may have renewed it through another
            // node or connection, and relies on that.
            if (!here) return;
            ++counts_.renewed;
            if (Pace* const pace = pace_of(lock)) pace->saw_round_trip(now_ - sent);
            keep_record(lock, std::move(*reply.record), sent);
            return;
        case Status::renew_limit:
            for (Holder& holder : lock.holders) stop_keeping(lock, holder);
            if (here) happened(Happened::Kind::expiring, lock, "maxrenew");
            return;
        default:
            if (!here || lock.releasing) return;
            if (is_only_hold_gone(lock, reply)) return forget_hold(lock, token);
            ++counts_.lost;
            notice(Notice::Level::warning,
                   "lock.lost_in_store",
                   grant_name(*lock.key, lock.record->fence) +
                       " is not in the store any more, though its lease had not ended");
            return lease_ended(lock, "gone from the store");
    }
}

void Node::Impl::on_timer(Lock& lock) {
    if (lock.record && !lock.record->is_leased(now_)) {
        if (!lock.releasing) ++counts_.expired;
        if (lock.releasing) {
            // The release is under way or in doubt: it will say what became of the lock.
            const Time free_at = lock.free_at;
            drop_record(lock);
            lock.check_at = free_at;
        } else {
            lease_ended(lock, "expired", Ending::lapsed);
        }
    }
    if (const auto& delayed = lock.aside().delayed; delayed && !delayed->is_live(now_)) {
        end_delay(lock, delayed->fence);
    }
    if (lock.record) {
        for (Holder& holder : lock.holders) {
            if (now_ < holder.expect_until) continue;
            holder.expect_until = Holder::never;
            ++counts_.over_expected;
            notice(Notice::Level::warning,
                   "lock.over_expected",
                   grant_name(*lock.key, lock.record->fence) +
                       " is held for more than three times its EXPECT");
        }
        if (is_kept(lock) && !lock.releasing && now_ >= lock.keep_at) {
            const bool at_end = is_near_hard_end(lock, lock.record->lease_end);
            const Duration left = lock.record->lease_end - now_;
            if (!lock.warned && left < lock.record->ttl / 3 && !at_end) {
                lock.warned = true;
                happened(Happened::Kind::expiring, lock, "renewing fails");
            }
            lock.keep_at = now_ + retry_after;
            if (!at_end && !lock.renewing) renew_kept(lock);
        }
    }
    settle(lock);
}

void Node::Impl::rearm(Lock& lock) {
    std::optional<Time> due;
    const auto by = [&due](Time at) { due = due ? std::min(*due, at) : at; };
    if (lock.record) {
        by(lock.record->lease_end);
        if (is_kept(lock) && !lock.releasing) by(lock.keep_at);
        for (const Holder& holder : lock.holders) {
            if (holder.expect_until != Holder::never) by(holder.expect_until);
        }
    }
    const Aside& aside = lock.aside();
    if (now_ < aside.busy_until) by(aside.busy_until);
    if (aside.delayed) by(aside.delayed->lease_end + aside.delayed->delay);
    const Request* const first = head(lock);
    if (open_ && first != nullptr && first->stage == Request::Stage::idle && !knows_held(lock) &&
        allowed(*first) == Allowed::granting) {
        by(lock.check_at);
    }
    if (due) {
        deadlines_.arm(lock, *due);
    } else {
        deadlines_.disarm(lock);
    }
}

}  // namespace latchd::core
