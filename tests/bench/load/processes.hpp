// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace latchd::load {

// What a process used so far, all its threads together, in user and kernel; -1: there is none.
[[nodiscard]] std::int64_t cpu_ns(int pid) noexcept;

// Memory of a process that is only its own, in bytes: heap and stacks, not mapped files (a
// journal's pages belong to its file). 0: can't be read.
[[nodiscard]] std::uint64_t private_bytes(int pid);

}  // namespace latchd::load
