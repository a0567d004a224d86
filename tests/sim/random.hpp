// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <cstddef>
#include <cstdint>

namespace latchd::sim {

// The only source of chance of a run: the same seed, the same run (xorshift64*).
class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15ull + 1) {
        for (int i = 0; i < 8; ++i) (void)next();
    }

    std::uint64_t next() noexcept {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 2685821657736338717ull;
    }
    // Both ends included.
    std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
        return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
    }
    Duration between(Duration low, Duration high) noexcept {
        return Duration(between(low.count(), high.count()));
    }
    std::size_t index(std::size_t size) noexcept { return static_cast<std::size_t>(next() % size); }
    bool chance(int percent) noexcept { return between(1, 100) <= percent; }

private:
    std::uint64_t state_;
};

}  // namespace latchd::sim
