// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace latchd::command {

// What LATENCY shows: the spikes of each event class, one sample a second (the worst), the last
// 160 of them. Event names are latchd's own, so their number is small.
class LatencyLog {
public:
    static constexpr std::size_t samples_max = 160;

    struct Sample {
        std::int64_t unix_seconds = 0;
        std::int64_t ms = 0;
    };
    struct Series {
        std::deque<Sample> samples;
        std::int64_t ms_max = 0;
    };

    void add(std::string_view event, Sample sample) {
        Series& series = events_[std::string(event)];
        series.ms_max = std::max(series.ms_max, sample.ms);
        auto& samples = series.samples;
        if (!samples.empty() && samples.back().unix_seconds == sample.unix_seconds) {
            samples.back().ms = std::max(samples.back().ms, sample.ms);
            return;
        }
        samples.push_back(sample);
        if (samples.size() > samples_max) samples.pop_front();
    }
    void add(const LatencyLog& other) {
        for (const auto& [event, series] : other.events_) {
            Series& to = events_[event];
            to.ms_max = std::max(to.ms_max, series.ms_max);
            to.samples.insert(to.samples.end(), series.samples.begin(), series.samples.end());
            std::stable_sort(to.samples.begin(), to.samples.end(), [](Sample a, Sample b) {
                return a.unix_seconds < b.unix_seconds;
            });
            while (to.samples.size() > samples_max) to.samples.pop_front();
        }
    }
    std::size_t reset() {
        const std::size_t count = events_.size();
        events_.clear();
        return count;
    }
    std::size_t reset(std::string_view event) {
        const auto it = events_.find(event);
        if (it == events_.end()) return 0;
        events_.erase(it);
        return 1;
    }
    [[nodiscard]] const std::map<std::string, Series, std::less<>>& events() const noexcept {
        return events_;
    }

private:
    std::map<std::string, Series, std::less<>> events_;
};

}  // namespace latchd::command
