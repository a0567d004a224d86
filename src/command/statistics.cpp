// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace latchd::command {

void Histogram::add(Duration took) noexcept {
    const auto usec = static_cast<std::uint64_t>(std::max<Duration::rep>(took.count(), 0));
    const std::size_t bucket = usec <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(usec - 1));
    ++counts_[std::min(bucket, buckets - 1)];
    ++count_;
}

void Histogram::add(const Histogram& other) noexcept {
    for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
}

std::uint64_t Histogram::quantile_usec(double share) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        seen += counts_[bucket];
        if (seen >= wanted && seen > 0) return upper_usec(bucket);
    }
    return 0;
}

void Statistics::count_error(std::string_view text) {
    ++error_replies_;
    const std::string_view word = text.substr(0, text.find(' '));
    const auto it = errors_.find(word);
    if (it != errors_.end()) {
        ++it->second;
    } else {
        errors_.emplace(word, 1);
    }
}

void Statistics::add(const Statistics& other) {
    for (const auto& [command, counts] : other.commands_) {
        CommandCounts& to = commands_[command];
        to.calls += counts.calls;
        to.usec += counts.usec;
        to.rejected += counts.rejected;
        to.failed += counts.failed;
        to.took.add(counts.took);
    }
    for (const auto& [word, count] : other.errors_) errors_[word] += count;
    processed_ += other.processed_;
    error_replies_ += other.error_replies_;
}

void Statistics::reset() {
    commands_.clear();
    errors_.clear();
    processed_ = 0;
    error_replies_ = 0;
}

}  // namespace latchd::command
