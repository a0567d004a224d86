// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replies.hpp"

#include <latchd/resp/value.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace latchd::store::redis {

[[nodiscard]] Refusal unreadable(std::string_view what);

// An integer, or a bulk string of decimal digits: scripts pass text on where they can.
[[nodiscard]] std::optional<std::int64_t> number_in(const resp::Value& value) noexcept;

// What all scripts that are bound to an epoch have in common: an error, STALE, CLOCK, or an array
// whose first two elements are a word and the server's time. None: the last, which is then certain.
// In that case `server_ms` is that time.
[[nodiscard]] std::optional<Refusal> read_refusal(const resp::Value& value,
                                                  std::int64_t& server_ms);

}  // namespace latchd::store::redis
