// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/command/client_state.hpp>

#include <string>
#include <string_view>

namespace latchd::command {

// One line of CLIENT LIST, with its line feed: Redis's fields, of which those that latchd has no
// notion of are 0.
[[nodiscard]] std::string client_line(const ClientState& client, Time now);

// "normal" or "pubsub", as CLIENT LIST TYPE and CLIENT KILL TYPE divide them.
[[nodiscard]] std::string_view type_of(const ClientState& client) noexcept;

}  // namespace latchd::command
