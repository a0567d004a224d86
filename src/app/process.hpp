// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/config/command_line.hpp>

namespace latchd::app {

// The exit codes beside config's 64 and 78 (sysexits.h, as service managers know them).
inline constexpr int exit_unavailable = 69;  // address or folder taken, no room; may work later
inline constexpr int exit_software = 70;     // a bug, or no random numbers

// Serves until it is told to end. Returns the exit code.
[[nodiscard]] int serve(const config::Invocation& invocation);

}  // namespace latchd::app
