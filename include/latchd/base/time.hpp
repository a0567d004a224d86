// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace latchd {

// The clock of every decision: CLOCK_BOOTTIME of the node's host, in microseconds. It has no
// now() on purpose: the core is told the time, and reading a real clock there does not compile.
// runtime/ reads the kernel's clock; the simulator makes up its own.
struct BootClock {
    using duration = std::chrono::microseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<BootClock, duration>;
    static constexpr bool is_steady = true;
};

using Duration = BootClock::duration;
using Time = BootClock::time_point;

// Milliseconds as the wire speaks them; rounds down, so that nothing is told longer than it is.
constexpr std::int64_t to_ms(Duration d) noexcept {
    return std::chrono::floor<std::chrono::milliseconds>(d).count();
}

constexpr Duration from_ms(std::int64_t ms) noexcept { return std::chrono::milliseconds(ms); }

}  // namespace latchd
