// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "node_parts.hpp"

#include <cstdint>
#include <unordered_map>
#include <utility>

namespace latchd::core {

// The locks of a node: those that were in use last as objects, the others as bytes (packed.hpp).
// Packed is only what nothing is under way of, what nobody waits for and what has no KEEP or DELAY
// running: nothing points at it but its deadline. References to a Lock last until pack_some().
class Locks {
public:
    // Deadlines of locks are in `deadlines` as lock or as packed lock; Lock& at(Timer&) finds it.
    Locks(Deadlines& deadlines, std::size_t unpacked_max)
        : deadlines_(deadlines), unpacked_max_(unpacked_max) {}

    [[nodiscard]] Lock* find(const LockKey& key);
    // A new one, if there is none.
    [[nodiscard]] Lock& of(const LockKey& key);
    // Of the timer of a lock.
    [[nodiscard]] Lock& at(Timer& timer);
    void erase(Lock& lock);

    // The longest unused of those that are too many become bytes, some each time.
    void pack_some();

    // Looks at each, also at those that are packed, and stay so.
    template <class Look>
    void each(Look look) const {
        for (const auto& [key, lock] : unpacked_) look(lock);
        for (const PackedLock* const packed : packed_) {
            LockKey key;
            Lock lock;
            lock.key = &key;
            read(*packed, key, lock);
            look(std::as_const(lock));
        }
    }
    // Whoever waits for one that is packed asks the store from then on. Looks at none of them:
    // there may be a million.
    void check_packed_at(Time when) noexcept {
        check_at_ = when;
        ++round_;
    }
    // Among them all that have requests, tasks, KEEP holds or anything aside.
    [[nodiscard]] std::unordered_map<LockKey, Lock>& unpacked() noexcept { return unpacked_; }
    [[nodiscard]] const PackedLocks& packed() const noexcept { return packed_; }

private:
    [[nodiscard]] bool pack(Lock& lock);
    void read(const PackedLock& packed, LockKey& key, Lock& lock) const;

    Deadlines& deadlines_;
    std::size_t unpacked_max_;
    std::unordered_map<LockKey, Lock> unpacked_;
    Line<Lock> line_;  // of them, the last unpacked last
    PackedLocks packed_{timer_of_packed};
    Time check_at_{};          // of what was packed before check_packed_at() was called
    std::uint64_t round_ = 0;  // how often it was
};

}  // namespace latchd::core
