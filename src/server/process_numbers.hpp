// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/command/host.hpp>

namespace latchd::server {

// What the kernel and the allocator know of this process: pid, os, executable, memory, CPU.
// Costs a few system calls: for INFO, not for every command.
void read_process_numbers(command::ProcessInfo& info);

[[nodiscard]] std::int64_t wall_clock_usec() noexcept;

}  // namespace latchd::server
