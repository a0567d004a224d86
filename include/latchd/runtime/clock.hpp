// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

namespace latchd::runtime {

// CLOCK_BOOTTIME: goes on while the host is suspended, is never stepped. Any thread.
[[nodiscard]] Time boot_time() noexcept;

}  // namespace latchd::runtime
