// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "renewal.hpp"

#include <algorithm>

namespace latchd::core {
namespace {

constexpr int slowness = 4;  // a try may take so many round trips
constexpr int tries = 3;
constexpr int long_hold = 4;  // ttls

Duration nearer(Duration from, Duration to) noexcept { return from + (to - from) / 8; }

}  // namespace

void Pace::saw_round_trip(Duration sample) noexcept {
    round_trip = sample > round_trip ? sample : nearer(round_trip, sample);
}

void Pace::saw_hold(Duration sample) noexcept {
    held = held == Duration::zero() ? sample : nearer(held, sample);
}

Duration renew_after(Duration ttl, const Pace& pace) noexcept {
    const Duration usual = pace.held > long_hold * ttl ? ttl / 4 : ttl / 3;
    return std::clamp(ttl - tries * slowness * pace.round_trip, ttl / 6, usual);
}

}  // namespace latchd::core
