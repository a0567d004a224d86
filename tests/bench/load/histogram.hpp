// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace latchd::load {

// Counts of nanoseconds in buckets that are 1/64 of a power of two wide: a percentile is at most
// 1.6 % above what was measured.
class Histogram {
public:
    void add(std::int64_t ns) noexcept {
        const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
        ++counts_[index_of(value)];
        ++count_;
        sum_ += value;
        max_ = std::max(max_, value);
    }
    void clear() noexcept { *this = Histogram(); }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t max_ns() const noexcept { return max_; }
    [[nodiscard]] double mean_ns() const noexcept {
        return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
    }
    // 0 < share <= 1; 0 when nothing was counted.
    [[nodiscard]] std::uint64_t percentile_ns(double share) const noexcept {
        const auto wanted =
            std::max<std::uint64_t>(static_cast<std::uint64_t>(share * double(count_) + 0.5), 1);
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size() && count_ > 0; ++i) {
            seen += counts_[i];
            if (seen >= wanted) return std::min(upper_end_of(i), max_);
        }
        return max_;
    }

private:
    static constexpr std::uint64_t parts = 64;
    static constexpr int part_bits = 6;
    static constexpr int power_max = 40;  // 18 minutes; longer counts as that

    // Values below 64 have a bucket each; above, 64 buckets for every power of two.
    static std::size_t index_of(std::uint64_t value) noexcept {
        if (value < parts) return value;
        const int power = std::min<int>(static_cast<int>(std::bit_width(value)) - 1, power_max);
        const std::uint64_t part =
            std::min<std::uint64_t>((value >> (power - part_bits)) - parts, parts - 1);
        return parts * static_cast<std::size_t>(power - part_bits + 1) + part;
    }
    static std::uint64_t upper_end_of(std::size_t index) noexcept {
        if (index < parts) return index;
        const std::size_t power = index / parts - 1;
        return ((parts + index % parts + 1) << power) - 1;
    }

    std::array<std::uint64_t, parts*(power_max - part_bits + 2)> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace latchd::load
