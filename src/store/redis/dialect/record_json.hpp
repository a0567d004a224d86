// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/operation.hpp>
#include <latchd/core/lock/record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchd::store::redis {

// "incarnation.number"
[[nodiscard]] std::string attempt_text(const Attempt& attempt);

// The bytes as a JSON string, escaped as Redis's cjson does it, so that a name stands in a value
// the same whoever wrote it last.
void append_quoted(std::string& out, std::string_view bytes);

// How the value of every record of this epoch and nonce ends: lua/lib/value.lua.
[[nodiscard]] std::string record_tail(Epoch epoch, std::string_view nonce);

// The value of a fresh grant without fence and time: what comes before the fence, and what comes
// after since_ms.
[[nodiscard]] std::string grant_head(const Token& token);
[[nodiscard]] std::string grant_body(const core::Acquire& wish, std::string_view tail);
// What such a value says at the moment of the grant, without reading it.
[[nodiscard]] core::GrantRecord granted_record(const core::Acquire& wish, Fence fence);

// Durations as the scripts count them. What makes a lock safer is rounded up (delay, bars), what
// a holder relies on is rounded down (ttl). Never negative.
[[nodiscard]] std::int64_t ms_down(Duration d) noexcept;
[[nodiscard]] std::int64_t ms_up(Duration d) noexcept;
// For what would mean "none" as 0.
[[nodiscard]] std::int64_t at_least_1(std::int64_t ms) noexcept;

// A lock's value as lua/lib/value.lua has it, seen at `now_ms` of the server. None if latchd
// didn't write it.
[[nodiscard]] std::optional<core::GrantRecord> parse_record(const LockKey& key,
                                                            std::string_view value,
                                                            std::int64_t now_ms);

// What comes after since_ms in the value of a record that is carried into an epoch as it is: the
// end of the lease counted from since_ms, so that nothing is lost to the time between.
[[nodiscard]] std::string carried_body(const core::GrantRecord& record, std::string_view tail);

// The argument of lua/restore.lua. Remainders are rounded down, DELAY up.
[[nodiscard]] std::string restore_text(const core::GrantRecord& record);

}  // namespace latchd::store::redis
