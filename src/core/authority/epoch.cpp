// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/authority/epoch.hpp>

#include <algorithm>

namespace latchd::core::authority {

namespace {

constexpr std::int64_t start_ms = 1'735'689'600'000;  // 2025-01-01T00:00:00Z
constexpr std::int64_t period_ms = 5 * 60 * 1000;
constexpr std::uint32_t counters_per_ms = 1u << 13;

std::int64_t since_start(WallMs wall) noexcept {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(wall) - start_ms);
}

EpochChoice refuse(std::string text) { return {.epoch = 0, .refusal = std::move(text)}; }

}  // namespace

std::uint64_t periods_at(WallMs wall) noexcept {
    return static_cast<std::uint64_t>(since_start(wall) / period_ms);
}

std::uint32_t counter_start(Epoch epoch, WallMs wall) noexcept {
    const std::uint64_t period = periods_at(wall);
    if (epoch == period) {
        const auto into = static_cast<std::uint32_t>(since_start(wall) % period_ms);
        return into * counters_per_ms;
    }
    if (epoch + std::uint64_t{1} == period) {
        return static_cast<std::uint32_t>(period_ms) * counters_per_ms;
    }
    return 0;
}

bool is_by_clock(Epoch epoch, WallMs wall) noexcept { return epoch <= periods_at(wall); }

EpochChoice choose_epoch(const EpochWish& wish, WallMs wall) {
    const std::uint64_t floor = periods_at(wall);
    const bool raised_by_known = wish.known > wish.recorded;
    if (!wish.has_record && floor > floor_max) {
        return refuse(
            "the host's clock is past 2034: an epoch taken from it would use up the "
            "numbers; set the clock, then restart");
    }
    if (raised_by_known && wish.known > floor + known_above_floor) {
        return refuse("the state directory knows epoch " + std::to_string(wish.known) +
                      ", which is more than " + std::to_string(known_above_floor) +
                      " above the epoch of the host's clock (" + std::to_string(floor) +
                      "): set the clock, or remove the state directory if it is another "
                      "cluster's");
    }
    std::uint64_t next = std::uint64_t{std::max(wish.recorded, wish.known)} + 1;
    if (!wish.has_record) next = std::max(next, floor);
    if (next > epoch_max) return refuse("epoch " + std::to_string(next) + " is past the last one");
    return {.epoch = static_cast<Epoch>(next), .refusal = {}};
}

}  // namespace latchd::core::authority
