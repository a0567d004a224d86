// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "keys.hpp"
#include "scripts.hpp"

#include <latchd/base/time.hpp>
#include <latchd/core/lock/operation.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// Commands for Redis, appended to a buffer that goes out in one write. Each append is one command
// and gets one reply.
namespace latchd::store::redis {

// What every script checks before it does anything; epoch and nonce are those of the scripts.
struct Guard {
    std::uint32_t counter_seen = 0;  // the highest fence counter seen in this epoch
    std::int64_t expected_ms = 0;  // what the server's clock should show (Unix time); 0: unchecked
    Duration window{};             // how far off it may be, either way
};

struct Target {
    const Keys& keys;
    const Scripts& scripts;
    Guard guard;
};

// Any operation but List, which is append_scan() and then append_list(). A Release's `then` is of
// the same lock.
void append_operation(std::string& out, const Target& target, const core::Operation& operation);

// LOCKs and UNLOCKs that arrived together in one command, which does what they have in common once
// (lua/many.lua). They are carried out in their order, as by append_operation(). Where none is a
// LOCK the clock isn't checked.
[[nodiscard]] bool fits_many(const core::Operation& operation) noexcept;
void append_many(std::string& out,
                 const Target& target,
                 std::span<const core::Operation* const> operations);

// SCAN for one page of LOCKS FLEET, or of a sweep (with an empty pattern).
void append_scan(std::string& out, const Keys& keys, const core::List& list);
// The records behind the keys of a scanned page, in their order.
void append_list(std::string& out, const Target& target, std::span<const std::string> redis_keys);
// Deletes of these keys those that hold a record of another epoch or nonce, and nothing else.
void append_sweep(std::string& out, const Target& target, std::span<const std::string> redis_keys);

// A write through the same checks as a LOCK; the clock isn't checked.
void append_probe(std::string& out, const Target& target);
// The two halves of a probe that says nothing about locks: a write, and the server's time.
void append_plain_write(std::string& out, const Keys& keys);
void append_plain_time(std::string& out);

}  // namespace latchd::store::redis
