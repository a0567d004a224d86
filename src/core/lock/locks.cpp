// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "locks.hpp"

#include <algorithm>
#include <utility>

namespace latchd::core {
namespace {

enum LockBits : std::uint64_t {
    has_holder = 1,
    releases_on_close = 2,
    was_warned = 4,
    has_roamed = 8,
    has_doubtful_restore = 16,
    has_expect = 32,
};

// With one holder it is that of its only hold.
bool is_packable(const Lock& lock) {
    const bool is_still = lock.busy == 0 && lock.requests.empty() && !lock.in_queue &&
                          !lock.is_offered && !lock.releasing && !lock.renewing &&
                          !lock.has_aside();
    if (!is_still || !lock.record || !PackedLocks::takes(*lock.record)) return false;
    if (lock.holders.empty()) return true;
    const Holder& holder = lock.holders.front();
    return lock.holders.size() == 1 && !holder.keep &&
           holder.token == lock.record->holds.front().token;
}

}  // namespace

Lock* Locks::find(const LockKey& key) {
    if (const auto it = unpacked_.find(key); it != unpacked_.end()) return &it->second;
    return packed_.find(key) == nullptr ? nullptr : &of(key);
}

Lock& Locks::of(const LockKey& key) {
    const auto [it, is_new] = unpacked_.try_emplace(key);
    Lock& lock = it->second;
    if (!is_new) return lock;
    lock.key = &it->first;
    line_.add(lock);
    if (PackedLock* const packed = packed_.find(key); packed != nullptr) {
        LockKey same;
        read(*packed, same, lock);
        deadlines_.replace(*packed, lock);
        packed_.erase(*packed);
    }
    return lock;
}

Lock& Locks::at(Timer& timer) {
    if (timer.kind == timer_of_lock) return static_cast<Lock&>(timer);
    return of(static_cast<PackedLock&>(timer).key());
}

void Locks::erase(Lock& lock) {
    deadlines_.disarm(lock);
    line_.remove(lock);
    unpacked_.erase(unpacked_.find(*lock.key));
}

bool Locks::pack(Lock& lock) {
    if (!is_packable(lock)) return false;
    const KeptRecord& record = *lock.record;
    const Holder* const holder = lock.holders.empty() ? nullptr : &lock.holders.front();
    std::uint64_t bits = 0;
    if (holder != nullptr) bits |= has_holder;
    if (holder != nullptr && holder->release_on_close) bits |= releases_on_close;
    if (holder != nullptr && holder->expect_until != Holder::never) bits |= has_expect;
    if (lock.warned) bits |= was_warned;
    if (lock.roamed) bits |= has_roamed;
    if (lock.restore_doubtful) bits |= has_doubtful_restore;

    ByteWriter out = packed_.begin(*lock.key, record);
    out.number(bits);
    if (holder != nullptr) out.number(static_cast<std::uint64_t>(holder->client));
    if ((bits & has_expect) != 0) out.instant(holder->expect_until, record.granted_at);
    out.instant(lock.confirmed_at, record.granted_at);
    out.instant(lock.free_at, record.lease_end + record.delay);
    out.instant(lock.check_at, lock.free_at);
    out.instant(lock.asked_at, Time{});
    out.number(lock.turn);
    out.number(round_);
    deadlines_.replace(lock, packed_.add(record, out));
    erase(lock);
    return true;
}

// In the order of pack(). What it says stays when the block is gone.
void Locks::read(const PackedLock& packed, LockKey& key, Lock& lock) const {
    KeptRecord& record = lock.record.emplace();
    ByteReader in = packed_.read(packed, key, record);
    const std::uint64_t bits = in.number();
    if ((bits & has_holder) != 0) {
        Holder& holder = lock.holders.emplace_back();
        holder.token = record.holds.front().token;
        holder.client = static_cast<ClientId>(in.number());
        holder.release_on_close = (bits & releases_on_close) != 0;
        if ((bits & has_expect) != 0) holder.expect_until = in.instant(record.granted_at);
    }
    lock.confirmed_at = in.instant(record.granted_at);
    lock.free_at = in.instant(record.lease_end + record.delay);
    lock.check_at = in.instant(lock.free_at);
    lock.asked_at = in.instant(Time{});
    lock.turn = static_cast<std::uint32_t>(in.number());
    if (in.number() != round_) lock.check_at = std::min(lock.check_at, check_at_);
    lock.warned = (bits & was_warned) != 0;
    lock.roamed = (bits & has_roamed) != 0;
    lock.restore_doubtful = (bits & has_doubtful_restore) != 0;
    lock.keep_at = Time::max();  // set when the lock is kept
}

void Locks::pack_some() {
    for (int i = 0; i < packed_at_once && unpacked_.size() > unpacked_max_; ++i) {
        Lock& oldest = line_.front();
        if (pack(oldest)) continue;
        line_.remove(oldest);
        line_.add(oldest);
    }
}

}  // namespace latchd::core
