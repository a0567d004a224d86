// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace latchd::core::authority {

// Milliseconds since 1970 by a store's clock.
enum class StoreMs : std::int64_t {};

// What a store's clock shows, as an offset to this node's boot-time clock (design section 5,
// rule 9). The first quick probe of an epoch sets it; from then on it follows the quickest round
// trip of the last 20 by at most 1 ms a second, so that drift never adds up. Faster is a step of
// the store's clock (or a pause of this host): it is reported, never followed.
class ClockOffset {
public:
    enum class Verdict : std::uint8_t {
        steady,   // as expected, or too slow a round trip to tell
        strayed,  // more than jump_min off; once: may be an accident of this probe
        jumped,   // in two probes running: the epoch's leases can't be trusted
    };

    // A new epoch: the next quick probe sets the offset anew. Only then.
    void rebase() noexcept;
    // As rebase(), but the offset (the store's clock less this node's) is known already, from the
    // arbiter's clock and the recorded difference: a probe that finds another one is a jump.
    void seed(Time now, Duration offset) noexcept;

    // The store showed `shown` at some moment between sending and receiving.
    Verdict add(Time sent, Time received, StoreMs shown) noexcept;

    // What the store's clock should show at `now`; none while no round trip was quick enough.
    [[nodiscard]] std::optional<StoreMs> expected(Time now) const noexcept;

    // The last 20 round trips all took longer than round_trip_max: operations go unchecked.
    [[nodiscard]] bool is_too_far() const noexcept;

    // The offset itself; none before the first quick probe.
    [[nodiscard]] std::optional<Duration> offset() const noexcept { return offset_; }

    // The last probe that could tell was off; the next one decides whether it is a jump.
    [[nodiscard]] bool has_strayed() const noexcept { return strayed_; }

    // How far the last probe was from the expected, for messages.
    [[nodiscard]] Duration last_deviation() const noexcept { return last_deviation_; }

    static constexpr Duration round_trip_max = std::chrono::milliseconds(100);
    static constexpr Duration jump_min = std::chrono::milliseconds(100);
    static constexpr std::size_t kept = 20;

private:
    struct Sample {
        Duration round_trip{};
        Duration offset{};  // store - boot, at the middle of the round trip
    };
    void follow(Time now) noexcept;
    [[nodiscard]] const Sample& quickest() const noexcept;

    std::array<Sample, kept> samples_{};
    std::size_t count_ = 0;
    std::size_t next_ = 0;
    std::optional<Duration> offset_;
    Duration error_{};  // of the probe that set it: half its round trip
    Time followed_{};
    bool strayed_ = false;
    Duration last_deviation_{};
};

}  // namespace latchd::core::authority
