// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace latchd::sim {

// True time, which nobody in the simulated world can read; only the oracle compares by it.
struct TrueClock {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<TrueClock, duration>;
    static constexpr bool is_steady = true;
};
using Moment = TrueClock::time_point;

// The clock of one host: where it started, and how wrong it runs (parts per million).
class HostClock {
public:
    HostClock(Duration start, std::int64_t ppm) noexcept : start_(start), ppm_(ppm) {}

    [[nodiscard]] Time at(Moment moment) const noexcept {
        const std::int64_t passed = moment.time_since_epoch().count();
        return Time(start_ + Duration(passed + passed * ppm_ / 1'000'000));
    }
    // The first moment at which this clock shows `local` or later.
    [[nodiscard]] Moment when(Time local) const noexcept {
        const std::int64_t shown = (local.time_since_epoch() - start_).count();
        Moment moment{Duration(shown - shown * ppm_ / (1'000'000 + ppm_))};
        while (at(moment) < local) moment += Duration(1);
        while (at(moment - Duration(1)) >= local) moment -= Duration(1);
        return moment;
    }
    // Somebody set it, or it stood still for a while.
    void step(Duration by) noexcept { start_ += by; }

private:
    Duration start_;
    std::int64_t ppm_;
};

// What is going to happen, in order of time, then of scheduling.
class Timeline {
public:
    [[nodiscard]] Moment now() const noexcept { return now_; }

    void at(Moment moment, std::function<void()> what) {
        queue_.push({moment < now_ ? now_ : moment, ++count_, std::move(what)});
    }
    void after(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

    // Lets the next thing happen that is due before `limit`. False: nothing is.
    bool step(Moment limit) {
        if (queue_.empty() || queue_.top().moment >= limit) return false;
        // The queue's order doesn't look at `what`.
        std::function<void()> what = std::move(const_cast<Entry&>(queue_.top()).what);
        now_ = queue_.top().moment;
        queue_.pop();
        what();
        return true;
    }
    void skip_to(Moment moment) noexcept { now_ = moment; }

private:
    struct Entry {
        Moment moment;
        std::uint64_t number;
        std::function<void()> what;
        bool operator<(const Entry& other) const noexcept {
            return moment != other.moment ? moment > other.moment : number > other.number;
        }
    };

    Moment now_{};
    std::uint64_t count_ = 0;
    std::priority_queue<Entry> queue_;
};

}  // namespace latchd::sim
