// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What a node asks of a store, and what a store answers. Every store (embedded table, Redis
// scripts, later SQL) obeys the rules written at `Table` (table.hpp); one table of cases runs
// against all of them.
namespace latchd::core {

// Asks for the lock. Idempotent by attempt: sent again, it finds itself.
struct Acquire {
    LockKey key;
    RequestId request;
    Attempt attempt;
    Token token;      // of the new hold, if there will be one
    OwnerName owner;  // empty: re-enters nothing
    NodeName node;
    ClientName client;
    Duration ttl{};
    std::optional<Duration> hold_max;  // MAXHOLD
    std::uint32_t renew_max = 0;
    Duration delay{};
    Duration retry_window{};  // how long after this attempt the hold may be adopted
    bool keep = false;        // where it adopts: the sender's node renews the hold from now on
    // Only to adopt or to re-enter, never a fresh grant (answer: held): asked ahead of a queue.
    bool join_only = false;
    bool strict = false;  // of a strict resource: the store's clock is checked more narrowly
    bool waits = false;   // where it is held, the sender's node joins the lock's queue
    // It was held when this node saw it last, and hardly is free now: a store for which writing
    // costs more than reading reads first. Says nothing about what the answer is.
    bool looks = false;
};

// Takes out the hold of this token; when that freed the lock by this very token, or whatever
// the lock's state is then, `then` is tried as an Acquire in the same step (hand-over): before the
// nodes that wait in the lock's queue if this freed the lock, unless it `yields` to them.
struct Release {
    LockKey key;
    Token token;
    NodeName node;  // the sender: another node of the record is told
    std::optional<Acquire> then;
    bool yields = false;
};

// Extends the lease; never shortens it, never re-creates it.
struct Renew {
    LockKey key;
    Token token;
    NodeName node;
    std::optional<Duration> ttl;      // absent: the record's
    bool keep = false;                // the sender's node renews the hold from now on
    bool strict = false;              // as in Acquire
    std::optional<Attempt> stands{};  // with keep: joins the hold, which no undo of its LOCKs ends
};

// Takes out one attempt; the hold ends with its last, the lock with its last hold. With a
// tombstone, the attempt can't be granted later either (where the old connection can't be killed).
struct Undo {
    LockKey key;
    RequestId request;
    Attempt attempt;
    NodeName node;
    std::optional<Duration> tombstone;
};

// Ends whatever this request id was granted, and bars it for `bar` (wait_max + ttl_max).
struct Cancel {
    LockKey key;
    RequestId request;
    NodeName node;
    Duration bar{};
};

// Ends the grant whoever holds it; with a fence only that grant.
struct Force {
    LockKey key;
    NodeName node;
    std::optional<Fence> fence;
};

struct Inspect {
    LockKey key;
};

// Puts a record back that this node kept while its store was replaced or restarted: free, or held
// under the same token -> granted (status restored); held by somebody else -> held.
// `keep_fence`: nobody can have been granted this lock since (embedded restart); else a new fence.
struct Restore {
    GrantRecord record;
    bool keep_fence = false;
    bool strict = false;  // as in Acquire
};

// Nobody waits for the lock on this node any more: takes it out of the queue; what is reserved for
// it is offered to the next.
struct StepOut {
    LockKey key;
    NodeName node;
};

// Rows for LOCKS, as SCAN: some may come twice, none that stays is left out.
struct List {
    std::string pattern;  // glob over resource:id; empty: all
    std::uint32_t count = 10;
    std::uint64_t cursor = 0;
};

using Operation =
    std::variant<Acquire, Release, Renew, Undo, Cancel, Force, Inspect, Restore, List, StepOut>;

enum class Status : std::uint8_t {
    granted,    // Acquire: was free
    reentered,  // Acquire: same owner, a hold more
    adopted,    // Acquire: found its own request id (or attempt)
    held,       // Acquire: somebody else's, in its DELAY, or reserved for another node; Reply::left
                // says for how long at most
    cancelled,  // Acquire: this request id was cancelled, or this attempt undone
    holds_full,     // Acquire, Renew: holds_per_lock_max or attempts_per_hold_max reached
    released,       // Release: the lock is free now
    hold_removed,   // Release, Undo: one hold fewer, still held
    renewed,        // Renew
    renew_limit,    // Renew: renew_max reached; the lease stays
    not_held,       // Release, Renew, Inspect: nobody holds it (expired, or never was)
    held_by_other,  // Release, Renew: held, but not with this token
    undone,         // Undo, StepOut: took it out
    ended,          // Cancel, Force: a grant was ended
    nothing,        // Undo, StepOut, Cancel, Force: there was none
    restored,       // Restore
    found,          // Inspect
    listed,         // List
    foreign_value,  // a value that latchd did not write is where the lock would be
};

// One answer. `record` is there for granted, reentered, adopted, renewed, hold_removed, found,
// restored, renew_limit, and (the ended grant, for messages and logs) released and ended.
struct Reply {
    Status status = Status::nothing;
    std::optional<GrantRecord> record;
    Duration left{};       // held: when the lock can be free at the latest
    Fence fence_seen = 0;  // held, held_by_other: the holder's fence; 0: free, but reserved
};

// Release with `then` has two parts; List has rows. Everything else is a Reply alone.
struct OperationReply {
    Reply reply;
    std::optional<Reply> then;
    std::vector<GrantRecord> rows;
    std::uint64_t cursor = 0;
};

// Why a store did not answer.
enum class Failure : std::uint8_t {
    refused,   // definitely not executed: the store said no (READONLY, OOM, MISCONF, LOADING …)
    unsent,    // definitely not executed: it never left, there is no connection
    stale,     // definitely not executed: epoch, nonce or counter don't match; another process
    clock,     // definitely not executed: the store's clock is not where it should be
    full,      // definitely not executed: an Acquire, and no room to write its grant down
    in_doubt,  // may have been executed: time-out, reset, end of file after it was sent
};

}  // namespace latchd::core
