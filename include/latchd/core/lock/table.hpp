// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/kept.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/core/lock/operation.hpp>
#include <latchd/core/time/deadlines.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace latchd::core {

// How long a lock that became free is kept for the node at the head of its queue.
inline constexpr Duration reserved_for = std::chrono::milliseconds(200);
// A queue that so long nobody joined, and nobody was offered anything in, is forgotten.
inline constexpr Duration queue_kept = std::chrono::seconds(120);
inline constexpr std::size_t queue_nodes_max = 64;

// The nodes that wait for a lock, in turn.
struct NodeQueue {
    std::vector<NodeName> nodes;
    Time reserved_until{};  // for the first; not after now: for nobody
    Time kept_until{};

    friend bool operator==(const NodeQueue&, const NodeQueue&) = default;
};

// The meaning of a lock: the embedded tier, the simulator's stores, and the reference that the
// Lua scripts are tested against. One lock space of one epoch.
//
// The rules (named by number in lua/ and tests/):
//  T1 A lock without a record is free. A record whose lease and delay are over is no record.
//  T2 Acquire by a cancelled request id or an undone attempt is refused (cancelled).
//  T3 Acquire that finds its own attempt, or its request id within adopt_left, adopts while the
//     lease runs: its attempt joins the hold, it gets token, fence and what is left of the lease,
//     never a fresh one. The window then runs from this attempt.
//  T4 Acquire by the same non-empty owner while the lease runs adds a hold with its own token:
//     same fence; the lease becomes the later of the old and the asked end, no later than the hard
//     end; ttl the asked one. Its request id goes over to it from an older hold (which was sent
//     again after T3's window), which keeps none: at most one hold answers to a request id.
//  T5 Otherwise a lock with a record is held; in its DELAY for its former owner, too. With
//     join_only it is held also when it is free.
//  T6 A fresh grant takes the next counter: fence = (epoch, counter), version 1.
//  T7 Release takes out the hold of its token, also during DELAY; the last one frees the lock.
//     Then, whatever came of it, `then` is an Acquire.
//  T8 Renew with any of the tokens, while the lease runs: end = max(old, min(now + ttl, hard
//     end)); a ttl that is given becomes the record's. At renew_max: renew_limit. An attempt that
//     `stands` joins the token's hold first, as in T3; with no room for it: holds_full.
//  T9 Undo takes out its attempt and no other, whichever hold has it, the hold with its last
//     attempt; Cancel acts on the hold of the request id and bars it; Force on the grant.
// T10 Each change raises version by one. Acquire, Renew, and what takes out one of several holds
//     while the lease runs make the sender the record's node: its answer has the newest record.
//     Another node than the sender that the record named is told: released, forced, or moved.
// T11 Restore of a live record: free -> granted under its token with the next fence (keep_fence:
//     its own, and the counter goes no lower); held under one of its tokens -> as it is; held with
//     a lower fence -> in its place, as if free: what is there was carried by mistake, and its node
//     is told. Holds of cancelled request ids and undone attempts (T2) are left out; without any it
//     is not_held.
// T12 A lock has a queue of node names, each once. An Acquire that waits and is held (by T5 or T14)
//     puts its node at the end, if it isn't in it and there is room; a fresh grant to a node and
//     StepOut take it out.
// T13 A lock that became free by Release, Undo, Cancel or Force is reserved for the first in its
//     queue, which is told (offered) unless it is the sender; so is a free lock whose reservation
//     is given up (StepOut). `then` of the Release that freed it comes before the queue, unless it
//     yields.
// T14 A free lock with a queue is granted afresh to nobody but the first in it: anybody else gets
//     held until the reservation ends. A reservation that is over takes its node out; a lock that
//     nobody offered (its lease ended) is reserved for the first by who asks first.
//
// Time is the caller's; equal instants count as over. Not for several threads.
class Table {
public:
    struct Told {
        NodeName node;  // empty: all nodes
        NodeMessage message;
    };

    // The first fence is (epoch, counter + 1).
    explicit Table(Epoch epoch,
                   std::uint32_t counter = 0,
                   std::size_t unpacked_max = unpacked_max_default);
    ~Table();
    Table(Table&&) noexcept;
    Table& operator=(Table&&) noexcept;

    [[nodiscard]] OperationReply apply(Time now, const Operation& operation);

    // Messages for other nodes that were caused since the last call.
    [[nodiscard]] std::vector<Told> take_told() noexcept;

    // The fences go on in a later epoch, from its first; the locks stay as they are.
    void begin_epoch(Epoch epoch) noexcept;

    // The queue of a lock, as far as it counts at `now`; and in its place. For stores that keep
    // each lock by itself.
    [[nodiscard]] NodeQueue queue(Time now, const LockKey& key) const;
    void set_queue(const LockKey& key, NodeQueue&& queue);

    // Forgets what is over. Each apply() does so too; this is for a table that nobody asks.
    void expire(Time now);

    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] std::uint32_t counter() const noexcept;
    [[nodiscard]] Epoch epoch() const noexcept;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace latchd::core
