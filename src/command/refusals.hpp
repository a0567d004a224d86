// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "table.hpp"

#include <latchd/command/dispatcher.hpp>

#include <string>
#include <string_view>

// What is said of a request that no handler gets, in Redis's own words.
namespace latchd::command {

[[nodiscard]] bool is_http(std::string_view name) noexcept;
[[nodiscard]] std::string unknown_command(Arguments args);
[[nodiscard]] std::string unknown_subcommand(const Command& container, std::string_view name);
[[nodiscard]] std::string wrong_arity(const Command& command);

}  // namespace latchd::command
