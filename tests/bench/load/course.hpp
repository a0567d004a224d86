// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "histogram.hpp"
#include "speaker.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace latchd::load {

// How a run went over its time: its LOCKs by when they were asked, the longest time in which
// nothing was granted, and when each epoch was first seen in a fence.
class Course {
public:
    struct Slice {
        Histogram took;  // of all answers
        std::uint64_t granted = 0;
        std::uint64_t refused = 0;
        std::uint64_t away = 0;
    };
    struct Gap {
        std::int64_t length_ns = 0;
        std::int64_t end_ns = 0;  // since begin(), as all times here
    };
    using EpochSeen = std::pair<std::uint64_t, std::int64_t>;  // epoch, its first grant

    // 0: no slices.
    explicit Course(std::int64_t slice_ns) noexcept : slice_ns_(slice_ns) {}

    void begin(std::int64_t now_ns);
    void end(std::int64_t now_ns);
    // A LOCK that was asked before begin() counts as a grant only.
    void answered(std::int64_t asked_ns, std::int64_t now_ns, Answer answer, std::uint64_t fence);

    [[nodiscard]] const std::vector<Slice>& slices() const noexcept { return slices_; }
    [[nodiscard]] const Gap& longest_gap() const noexcept { return longest_; }
    [[nodiscard]] const std::vector<EpochSeen>& epochs() const noexcept { return epochs_; }

private:
    static constexpr int counter_bits = 32;  // of a fence; the epoch is above

    void no_grant_until(std::int64_t now_ns) noexcept;

    std::int64_t slice_ns_;
    std::int64_t begun_ns_ = 0;
    std::int64_t last_grant_ns_ = 0;
    bool is_running_ = false;
    std::vector<Slice> slices_;
    Gap longest_;
    std::vector<EpochSeen> epochs_;
};

}  // namespace latchd::load
