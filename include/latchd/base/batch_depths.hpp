// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace latchd {

// How much of what goes to a store left together, since the start: a histogram in powers of two, at
// most 1, at most 2, at most 4 … at most 1,024, and whatever is above.
class BatchDepths {
public:
    static constexpr std::size_t buckets = 12;

    // A batch of nothing is none.
    void add(std::size_t depth) noexcept {
        if (depth == 0) return;
        const auto bucket = static_cast<std::size_t>(std::bit_width(depth - 1));
        ++counts_[std::min(bucket, buckets - 1)];
        ++batches_;
        commands_ += depth;
    }

    [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }
    [[nodiscard]] std::uint64_t commands() const noexcept { return commands_; }
    [[nodiscard]] std::uint64_t at(std::size_t bucket) const noexcept { return counts_[bucket]; }
    // Of all buckets but the last.
    [[nodiscard]] static std::uint64_t upper(std::size_t bucket) noexcept {
        return std::uint64_t{1} << bucket;
    }

private:
    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t batches_ = 0;
    std::uint64_t commands_ = 0;
};

}  // namespace latchd
