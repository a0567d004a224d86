// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/authority/clock_offset.hpp>

#include <algorithm>

namespace latchd::core::authority {

namespace {

constexpr std::int64_t slew_divisor = 1000;  // 1 ms a second

Duration magnitude(Duration d) noexcept { return d < Duration::zero() ? -d : d; }

}  // namespace

void ClockOffset::rebase() noexcept { *this = ClockOffset{}; }

void ClockOffset::seed(Time now, Duration offset) noexcept {
    rebase();
    offset_ = offset;
    followed_ = now;
}

ClockOffset::Verdict ClockOffset::add(Time sent, Time received, StoreMs shown) noexcept {
    const Duration round_trip = std::max(received - sent, Duration::zero());
    const Time middle = sent + round_trip / 2;
    const Duration offset = from_ms(static_cast<std::int64_t>(shown)) - middle.time_since_epoch();
    samples_[next_] = {round_trip, offset};
    next_ = (next_ + 1) % kept;
    count_ = std::min(count_ + 1, kept);
    if (!offset_) {
        if (round_trip > round_trip_max) return Verdict::steady;
        offset_ = offset;
        error_ = round_trip / 2;
        followed_ = received;
        return Verdict::steady;
    }
    last_deviation_ = offset - *offset_;
    // What this probe, and the one that set the offset, may be wrong by is no evidence: a frozen
    // store answers late, and its clock may have been read at either end.
    const Duration certain = magnitude(last_deviation_) - round_trip / 2 - error_;
    if (certain > jump_min) {
        const bool again = strayed_;
        strayed_ = true;
        return again ? Verdict::jumped : Verdict::strayed;
    }
    // A slow probe that can't tell is no second opinion, for or against.
    if (round_trip <= round_trip_max) {
        strayed_ = false;
        follow(received);
    }
    return Verdict::steady;
}

std::optional<StoreMs> ClockOffset::expected(Time now) const noexcept {
    if (!offset_ || is_too_far()) return std::nullopt;
    return StoreMs{to_ms(now.time_since_epoch() + *offset_)};
}

bool ClockOffset::is_too_far() const noexcept {
    return count_ == kept && quickest().round_trip > round_trip_max;
}

void ClockOffset::follow(Time now) noexcept {
    const Duration most = (now - followed_) / slew_divisor;
    const Duration wanted = quickest().offset - *offset_;
    *offset_ += std::clamp(wanted, -most, most);
    followed_ = now;
}

const ClockOffset::Sample& ClockOffset::quickest() const noexcept {
    return *std::min_element(
        samples_.begin(),
        samples_.begin() + static_cast<std::ptrdiff_t>(count_),
        [](const Sample& a, const Sample& b) { return a.round_trip < b.round_trip; });
}

}  // namespace latchd::core::authority
