// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

// What the service manager is told. All calls do nothing where nobody asked (no NOTIFY_SOCKET).
namespace latchd::runtime {

enum class NotifySupport {
    not_wanted,  // the manager did not ask
    ready,       // it did, and this build can answer
    missing,     // it did, and this build can't: the start would hang, so say it loudly
};
[[nodiscard]] NotifySupport notify_support() noexcept;

void notify_ready(std::string_view status);
void notify_status(std::string_view status);
void notify_stopping(std::string_view status);
void notify_watchdog();

// How long the manager waits for a notify_watchdog(); ping at half of it or faster.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_period() noexcept;

}  // namespace latchd::runtime
