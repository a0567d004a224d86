// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <latchd/core/lock/operation.hpp>

namespace latchd::core {

// The meaning of a lock: the embedded tier, the simulator's stores, and the reference that the
// Lua scripts are tested against. One lock space of one epoch.
//
// The rules (numbers are named by lua/*.lua and tests/behaviour):
//  T1 A lock without a record is free. A record whose lease and delay are over is no record.
//  T2 Acquire by a cancelled request id or an undone attempt is refused (cancelled).
//  T3 Acquire that finds its request id within adopt_left adopts: its attempt joins the hold, it
//     gets token, fence and what is left of the lease, never a fresh one. The window then runs
//     from this attempt. Only while the lease runs.
//  T4 Acquire by the same non-empty owner while the lease runs adds a hold with its own token:
//     same fence, the lease becomes the later of the old and the asked end, ttl the asked one.
//  T5 Otherwise a lock with a record is held, in its DELAY also for its former owner.
//  T6 A fresh grant takes the next counter: fence = (epoch, counter), version 1.
//  T7 Release takes out the hold of its token, also during DELAY; the last one frees the lock.
//  T8 Renew with any of the tokens, while the lease runs: end = max(old, min(now + ttl, hard
//     end)); a ttl that is given becomes the record's. At renew_max: renew_limit.
//  T9 Undo takes out its attempt and no other; Cancel acts on the request id and bars it.
// T10 Each change raises version by one and, for Acquire and Renew, makes the sender the record's
//     node.
//
// Time is the caller's; equal instants count as over. Not for several threads.
class Table {
public:
    explicit Table(Epoch epoch, std::uint32_t counter = 0) noexcept
        : epoch_(epoch), counter_(counter) {}

    [[nodiscard]] OperationReply apply(Time now, const Operation& operation);

    // A message for another node, caused by the last apply(): see NodeMessage.
    struct Told {
        NodeName node;  // empty: all nodes
        LockKey key;
        Fence fence = 0;
        RequestId request;  // set for a cancel
        bool moved = false; // still held, but renewed or re-entered through another node
        bool forced = false;
    };
    [[nodiscard]] std::vector<Told> take_told() noexcept { return std::exchange(told_, {}); }

    [[nodiscard]] std::size_t size() const noexcept { return locks_.size(); }
    [[nodiscard]] std::uint32_t counter() const noexcept { return counter_; }
    [[nodiscard]] Epoch epoch() const noexcept { return epoch_; }

    // Forgets records, bars and tombstones that are over. Cheap when nothing is; call it when
    // next_end() has passed.
    void expire(Time now);

private:
    struct Kept;
    friend class TableRules;

    Epoch epoch_;
    std::uint32_t counter_;
    std::unordered_map<LockKey, Kept> locks_;
    std::vector<Told> told_;
};

}  // namespace latchd::core
