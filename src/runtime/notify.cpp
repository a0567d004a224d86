// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/runtime/notify.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>

#ifdef LATCHD_HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace latchd::runtime {
namespace {

void send([[maybe_unused]] const std::string& state) {
#ifdef LATCHD_HAVE_SYSTEMD
    sd_notify(0, state.c_str());
#endif
}

}  // namespace

NotifySupport notify_support() noexcept {
    if (std::getenv("NOTIFY_SOCKET") == nullptr) return NotifySupport::not_wanted;
#ifdef LATCHD_HAVE_SYSTEMD
    return NotifySupport::ready;
#else
    return NotifySupport::missing;
#endif
}

void notify_ready(std::string_view status) { send("READY=1\nSTATUS=" + std::string(status)); }
void notify_status(std::string_view status) { send("STATUS=" + std::string(status)); }
void notify_stopping(std::string_view status) { send("STOPPING=1\nSTATUS=" + std::string(status)); }
void notify_watchdog() { send("WATCHDOG=1"); }

std::optional<std::chrono::microseconds> watchdog_period() noexcept {
#ifdef LATCHD_HAVE_SYSTEMD
    std::uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) > 0) return std::chrono::microseconds(microseconds);
#endif
    return std::nullopt;
}

}  // namespace latchd::runtime
