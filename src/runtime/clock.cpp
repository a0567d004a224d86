// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/runtime/clock.hpp>

#include <time.h>

namespace latchd::runtime {

Time boot_time() noexcept {
    timespec spec{};
    ::clock_gettime(CLOCK_BOOTTIME, &spec);
    return Time(std::chrono::seconds(spec.tv_sec) +
                std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(spec.tv_nsec)));
}

}  // namespace latchd::runtime
