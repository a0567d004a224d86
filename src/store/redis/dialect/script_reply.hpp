// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replies.hpp"

#include <latchd/resp/value.hpp>

#include <optional>
#include <string_view>

namespace latchd::store::redis {

[[nodiscard]] Refusal unreadable(std::string_view what);

// What all scripts that are bound to an epoch have in common: an error, STALE, CLOCK, or an array
// whose first two elements are a word and the server's time. None: the last, which is then certain.
[[nodiscard]] std::optional<Refusal> read_refusal(const resp::Value& value);

}  // namespace latchd::store::redis
