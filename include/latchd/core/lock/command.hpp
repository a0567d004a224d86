// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What clients ask of a node, already checked for form (command/ parses and limits), and what
// they are answered. No RESP here: command/ alone turns outcomes into replies.
namespace latchd::core {

// One command of one client that has not been answered yet. `slot` counts the client's commands;
// the server puts the outcome in the place of that command, whatever the order of outcomes.
struct Ticket {
    ClientId client{};
    std::uint64_t slot = 0;

    friend bool operator==(const Ticket&, const Ticket&) = default;
};

// The least that a grant must be worth when it is given.
enum class Require : std::uint8_t {
    any,     // no condition
    shared,  // kept where other hosts see it
    redis,   // the redis tier
};

struct LockCommand {
    Ticket ticket;
    LockKey key;
    std::optional<Duration> ttl;  // absent: the resource's
    Duration wait{};              // 0: an answer at once
    OwnerName owner;
    std::optional<RequestId> request;
    bool keep = false;
    bool release_on_close = false;  // ONCLOSE RELEASE; only with keep
    std::optional<Duration> hold_max;
    std::optional<Duration> expect;
    std::optional<Duration> delay;
    std::string trace;  // goes to the logs with the grant
    Require require = Require::any;
    ClientName client;
};

struct UnlockCommand {
    Ticket ticket;
    LockKey key;
    Token token;
    ClientName client;
};

struct RenewCommand {
    Ticket ticket;
    LockKey key;
    Token token;
    std::optional<Duration> ttl;
    bool keep = false;
    ClientName client;
};

struct CancelCommand {
    Ticket ticket;
    LockKey key;
    RequestId request;
};

struct InfoCommand {
    Ticket ticket;
    LockKey key;
    bool explain = false;
};

struct ListCommand {
    Ticket ticket;
    bool fleet = false;
    std::string pattern;
    std::uint32_t count = 10;
    std::uint64_t cursor = 0;
};

struct FenceCommand {
    Ticket ticket;
    LockKey key;
    Fence fence = 0;
};

struct ForceCommand {
    Ticket ticket;
    LockKey key;
    std::optional<Fence> fence;
    ClientName client;  // who asked: goes into the audit line
};

using ClientCommand = std::variant<LockCommand,
                                   UnlockCommand,
                                   RenewCommand,
                                   CancelCommand,
                                   InfoCommand,
                                   ListCommand,
                                   FenceCommand,
                                   ForceCommand>;

// The first word of an error, and so what a client is to do about it: docs/commands.md.
enum class ErrorWord : std::uint8_t {
    err,         // ERR: the command is wrong; don't repeat it
    degraded,    // DEGRADED: a grant would be worth less than REQUIRE asks
    nostore,     // NOSTORE: nothing was done; try again later
    uncertain,   // UNCERTAIN: may have happened; retry with the same REQ, or CANCEL
    lost,        // LOST: the lock ended, and why
    queue_full,  // QUEUEFULL: too many wait
    limit,       // LIMIT: a limit that the text names
};

struct Granted {
    Token token;
    Fence fence = 0;
    Duration left{};  // how long the holder may rely on it from now
    std::uint32_t holds = 1;
    std::string tier;
};
struct Refused {};  // nil: somebody else holds it
struct Number {
    std::int64_t value = 0;
};
struct Error {
    ErrorWord word = ErrorWord::err;
    std::string text;
};
// LOCKINFO and rows of LOCKS.
struct LockView {
    GrantRecord record;
    std::uint32_t waiters = 0;  // on this node
    bool held = false;          // false: record.key alone is meaningful
    bool foreign = false;       // a value that latchd did not write is where it would be
    bool keep = false;          // renewed by this node
    std::string tier;
    Epoch epoch = 0;
    std::vector<std::string> explanation;  // EXPLAIN: a sentence each
};
struct LockList {
    std::uint64_t cursor = 0;
    std::vector<LockView> rows;
};

using Outcome = std::variant<Granted, Refused, Number, Error, LockView, LockList>;

}  // namespace latchd::core
