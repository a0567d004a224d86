// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::telemetry {

// Decides which lines of an event id are written. Told the time; not for several threads.
class RateLimit {
public:
    using Time = std::chrono::steady_clock::time_point;

    struct Summary {
        std::string event;
        std::uint64_t suppressed = 0;
    };

    RateLimit(std::uint32_t burst, std::chrono::milliseconds window) noexcept
        : burst_(burst), window_(window) {}

    [[nodiscard]] bool may_write(Time now, std::string_view event) {
        auto it = events_.find(event);
        if (it == events_.end()) it = events_.emplace(std::string(event), Window{now, 0, 0}).first;
        Window& window = it->second;
        // A window with suppressed lines ends in due(), so that its count isn't lost.
        if (now - window.since >= window_ && window.suppressed == 0) window = {now, 0, 0};
        if (window.written < burst_) {
            ++window.written;
            return true;
        }
        ++window.suppressed;
        return false;
    }

    // Windows that are over; those with suppressed lines are returned.
    [[nodiscard]] std::vector<Summary> due(Time now) {
        std::vector<Summary> out;
        for (auto it = events_.begin(); it != events_.end();) {
            if (now - it->second.since < window_) {
                ++it;
                continue;
            }
            if (it->second.suppressed > 0) out.push_back({it->first, it->second.suppressed});
            it = events_.erase(it);
        }
        return out;
    }

private:
    struct Window {
        Time since;
        std::uint32_t written = 0;
        std::uint64_t suppressed = 0;
    };

    std::uint32_t burst_;
    std::chrono::milliseconds window_;
    std::map<std::string, Window, std::less<>> events_;
};

}  // namespace latchd::telemetry
