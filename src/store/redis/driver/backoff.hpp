// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <cstdint>

namespace latchd::store::redis {

// Jittered: half to whole of a time that doubles from min to max.
class Backoff {
public:
    Backoff(Duration min, Duration max) : min_(min), max_(max), next_(min) {}

    void reset() noexcept { next_ = min_; }
    // `drawn`: a random number.
    [[nodiscard]] Duration next(std::uint64_t drawn) noexcept {
        const Duration whole = next_;
        next_ = next_ * 2 > max_ ? max_ : next_ * 2;
        const auto half = static_cast<std::uint64_t>(whole.count()) / 2;
        return Duration(static_cast<Duration::rep>(half + drawn % (half + 1)));
    }

private:
    Duration min_;
    Duration max_;
    Duration next_;
};

}  // namespace latchd::store::redis
