// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>

#include <cstdint>
#include <string>

// The arithmetic of epochs and counters (design section 5, rule 7). A new epoch is the highest
// known + 1. Where nothing is written down it is at least the number of 5-minute periods since
// 2025-01-01 UTC, and its counter starts at the milliseconds into the period * 2^13: who has lost
// everything still starts above the past.
namespace latchd::core::authority {

// Milliseconds since 1970 by the host's wall clock. May be wrong: it only ever raises.
enum class WallMs : std::int64_t {};

inline constexpr Epoch epoch_max = (1u << 21) - 1;
inline constexpr Epoch floor_max = 1u << 20;      // above: an operator has to look at the clock
inline constexpr Epoch known_above_floor = 4096;  // a state directory may be so far ahead
// So near to its end the counter asks for a new epoch: 16 million grants, more than a minute.
inline constexpr std::uint32_t counter_full = 0xffffffffu - (1u << 24);

// Whole periods since 2025-01-01; 0 for a clock before it.
[[nodiscard]] std::uint64_t periods_at(WallMs wall) noexcept;

// Where the counter of `epoch` starts when it is opened at `wall`. An epoch that is the period's
// own, or that of the period just over (settled in one, opened in the next), may have been given
// out before by who lost everything; its earlier counters are below the result.
[[nodiscard]] std::uint32_t counter_start(Epoch epoch, WallMs wall) noexcept;

// Whether the clock alone leads above what `epoch`, opened at `wall`, gives: if not, it has to be
// written down before it gives anything, or who finds no trace of it begins with it again.
[[nodiscard]] bool is_by_clock(Epoch epoch, WallMs wall) noexcept;

struct EpochWish {
    Epoch recorded = 0;       // highest that record or marker show; 0: none
    bool has_record = false;  // the record is there (a marker alone is none)
    Epoch known = 0;          // highest of the state directory and of this process; 0: none
};
struct EpochChoice {
    Epoch epoch = 0;      // 0: none may be chosen, see refusal
    std::string refusal;  // what an operator has to decide
};
[[nodiscard]] EpochChoice choose_epoch(const EpochWish& wish, WallMs wall);

}  // namespace latchd::core::authority
