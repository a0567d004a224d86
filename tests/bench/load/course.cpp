// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "course.hpp"

#include <cstddef>

namespace latchd::load {

void Course::begin(std::int64_t now_ns) {
    begun_ns_ = now_ns;
    last_grant_ns_ = now_ns;
    is_running_ = true;
}

void Course::end(std::int64_t now_ns) {
    no_grant_until(now_ns);
    is_running_ = false;
}

void Course::no_grant_until(std::int64_t now_ns) noexcept {
    const std::int64_t length = now_ns - last_grant_ns_;
    if (length > longest_.length_ns) longest_ = {length, now_ns - begun_ns_};
    last_grant_ns_ = now_ns;
}

void Course::answered(std::int64_t asked_ns,
                      std::int64_t now_ns,
                      Answer answer,
                      std::uint64_t fence) {
    if (!is_running_) return;
    if (answer == Answer::granted) {
        no_grant_until(now_ns);
        const std::uint64_t epoch = fence >> counter_bits;
        if (epochs_.empty() || epoch > epochs_.back().first) {
            epochs_.emplace_back(epoch, now_ns - begun_ns_);
        }
    }
    if (slice_ns_ == 0 || asked_ns < begun_ns_) return;
    const auto index = static_cast<std::size_t>((asked_ns - begun_ns_) / slice_ns_);
    if (slices_.size() <= index) slices_.resize(index + 1);
    Slice& slice = slices_[index];
    slice.took.add(now_ns - asked_ns);
    if (answer == Answer::granted) ++slice.granted;
    if (answer == Answer::refused) ++slice.refused;
    if (answer == Answer::away) ++slice.away;
}

}  // namespace latchd::load
