// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.hpp"

#include <latchd/command/options.hpp>
#include <latchd/core/lock/command.hpp>

// The arguments of the commands that have many options. Tickets and clients are not filled in.
namespace latchd::command {

[[nodiscard]] Complaint read_lock(const Limits& limits, Arguments args, core::LockCommand& into);
[[nodiscard]] Complaint read_renew(const Limits& limits, Arguments args, core::RenewCommand& into);
[[nodiscard]] Complaint read_list(Arguments args, core::ListCommand& into);

// PX or EX, TTL: at least ttl_min; what is above ttl_max is cut to it, and the reply shows it.
[[nodiscard]] Complaint read_ttl(const Limits& limits,
                                 std::string_view option,
                                 std::string_view input,
                                 std::optional<Duration>& ttl);

inline constexpr std::uint64_t hold_ms_max = 30ull * 24 * 3600 * 1000;  // MAXHOLD, EXPECT

}  // namespace latchd::command
