// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchd::store::redis {

// "incarnation.number"
[[nodiscard]] std::string attempt_text(const Attempt& attempt);

// A lock's value as lua/lib/record.lua writes it, seen at `now_ms` of the server. None if latchd
// didn't write it.
[[nodiscard]] std::optional<core::GrantRecord> parse_record(const LockKey& key,
                                                            std::string_view value,
                                                            std::int64_t now_ms);

// The argument of lua/restore.lua. Remainders are rounded down, DELAY up.
[[nodiscard]] std::string restore_text(const core::GrantRecord& record);

}  // namespace latchd::store::redis
