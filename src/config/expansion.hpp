// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "value.hpp"

#include <latchd/config/surroundings.hpp>

#include <string>
#include <string_view>

namespace latchd::config {

// Replaces `${NAME}` and `${NAME:-default}` by the environment and `$$` by a dollar; any other
// dollar stays, so that passwords survive. The default stands for an empty variable too, as in a
// shell. What was inserted is not expanded again.
[[nodiscard]] Parsed<std::string> expand(std::string_view text, const Surroundings& surroundings);

}  // namespace latchd::config
