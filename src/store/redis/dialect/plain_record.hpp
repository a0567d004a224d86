// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/record.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace latchd::store::redis {

// The numbers of a record's value, as they stand there: lua/lib/value.lua.
struct RecordNumbers {
    std::int64_t fence = 0;
    std::int64_t since_ms = 0;
    std::int64_t lease_ms = 0;
    std::int64_t delay_ms = 0;
    std::int64_t version = 0;
    std::int64_t ttl_ms = 0;
    std::int64_t hard_ms = 0;
    std::int64_t renewals = 0;
    std::int64_t renew_max = 0;

    // Exact in Lua's numbers, and far beyond every time.
    static constexpr std::int64_t max = (std::int64_t{1} << 53) - 1;
    static constexpr std::int64_t count_max = std::numeric_limits<std::uint32_t>::max();

    // Each is where it may be.
    [[nodiscard]] bool are_in_range() const noexcept;
    // Turns what counts from since_ms into what is left at `now_ms`; adopt_left of each hold is
    // adopt_ms before, and what is left after.
    void put_into(core::GrantRecord& record, std::int64_t now_ms) const;
};

// "incarnation.number"
[[nodiscard]] std::optional<Attempt> parse_attempt(std::string_view text) noexcept;

// Reads a value that is spelled as latchd's scripts spell it: its fields in their order, no blanks,
// nothing escaped. That is nearly every one, and takes a tenth of what a JSON parser does. None: it
// is spelled otherwise, or wrong; parse_record() tells.
[[nodiscard]] std::optional<core::GrantRecord> read_plain_record(const LockKey& key,
                                                                 std::string_view value,
                                                                 std::int64_t now_ms);

}  // namespace latchd::store::redis
