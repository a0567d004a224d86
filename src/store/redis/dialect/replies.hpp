// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "keys.hpp"

#include <latchd/core/lock/node.hpp>
#include <latchd/core/lock/operation.hpp>
#include <latchd/resp/value.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What Redis answered, in latchd's words. Nothing here throws on what a server may send: what
// can't be understood is a Refusal in doubt.
namespace latchd::store::redis {

// Why an operation wasn't carried out, for the driver's reaction.
enum class Cause : std::uint8_t {
    marker,          // STALE: epoch, nonce or counter don't match, or there is no marker
    script_missing,  // NOSCRIPT: another process, or SCRIPT FLUSH: ask the identity, then load
    clock,           // CLOCK: the server's clock isn't where it should be; send again
    role,            // READONLY, MASTERDOWN: not the master any more
    loading,         // LOADING: the process was restarted
    unwell,          // OOM, MISCONF, NOREPLICAS, BUSY, CLUSTERDOWN, TRYAGAIN: no change of process
    access,          // NOAUTH, WRONGPASS, NOPERM, NOPROTO, DENIED: for the operator
    foreign,         // WRONGTYPE: where marker, record or bar should be is something else
    other,           // any other error, or a reply that can't be read: may have been executed
};

struct Refusal {
    core::Failure failure = core::Failure::in_doubt;
    Cause cause = Cause::other;
    std::string text;            // what the server said, for the log and -NOSTORE
    std::int64_t server_ms = 0;  // clock: what it showed
};

struct Answered {
    core::OperationReply reply;
    std::int64_t server_ms = 0;  // Unix time of the server when it ran
};
using Answer = std::variant<Answered, Refusal>;

[[nodiscard]] Refusal read_error(std::string_view error);

// The reply of append_operation(); `key` is the operation's.
[[nodiscard]] Answer read_operation(const LockKey& key, const resp::Value& value);
// The same, and the short form of lua/acquire.lua and lua/release.lua, which is of this operation.
[[nodiscard]] Answer read_operation(const core::Operation& operation, const resp::Value& value);

// The reply of append_many() for these: an answer for each, or why none of them was carried out.
[[nodiscard]] std::variant<std::vector<Answer>, Refusal> read_many(
    std::span<const core::Operation* const> operations, const resp::Value& value);

// The highest counter among the fences of this epoch that the reply shows; 0: none.
[[nodiscard]] std::uint32_t counter_shown(const core::OperationReply& reply, Epoch epoch) noexcept;

struct ScanPage {
    std::uint64_t cursor = 0;  // 0: the scan is complete
    std::vector<std::string> redis_keys;
};
[[nodiscard]] std::variant<ScanPage, Refusal> read_scan(const resp::Value& value);

// The reply of append_list() with these keys. Rows: live records of this epoch and nonce (those
// in their DELAY too) whose lock matches the pattern.
[[nodiscard]] Answer read_list(const Keys& keys,
                               std::span<const std::string> redis_keys,
                               std::string_view pattern,
                               const resp::Value& value);

// How many keys a sweep deleted.
[[nodiscard]] std::variant<std::uint64_t, Refusal> read_sweep(const resp::Value& value);

struct Probed {
    std::int64_t server_ms = 0;
    std::string run_id;  // as the marker has it
    std::uint32_t counter = 0;
};
[[nodiscard]] std::variant<Probed, Refusal> read_probe(const resp::Value& value);
// The reply of append_plain_time(); no run id, no counter.
[[nodiscard]] std::variant<Probed, Refusal> read_plain_time(const resp::Value& value);

// A message of one of this cluster's channels; none if it isn't one that latchd sends.
[[nodiscard]] std::optional<core::NodeMessage> read_message(const Keys& keys,
                                                            std::string_view payload);

}  // namespace latchd::store::redis
