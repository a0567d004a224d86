// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/core/authority/clock_offset.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace latchd::core::authority {

// Rule 9: whether this node's own clock may have stood still. What tells is that the arbiter's is
// further than it can be; but that may be a step of the arbiter's. Another store's clock is a
// witness: one that went with this node's while the arbiter's moved says that this node's went on.
// It is no proof where that store's host stood still with this one: then others must say so.
class ClockDoubt {
public:
    // The clock of one tier, as probes show it.
    struct Witness {
        ClockOffset clock;
        Time since{};  // nothing strayed from there on
    };

    // The arbiter answered as this node expects.
    void agrees(Time received) noexcept;
    // It is ahead of what this node expects. Only witnesses that went with this node's clock
    // since before the arbiter last agreed can tell anything.
    void is_ahead(Time received, const std::vector<Witness>& tiers);
    // A probe of a tier; only one that was sent since then counts.
    void probed(std::size_t tier, Time sent, Time received, StoreMs shown) noexcept;
    // That tier does not answer: it is no witness.
    void failed(std::size_t tier) noexcept;

    // An epoch settles: what is ahead now is doubt until `until`, by when all that was granted
    // before has ended. Offsets may be measured anew from here on.
    void settles(Time now, Time until);
    // Doubt about what an earlier process of this node left.
    void inherits(Time until) noexcept;
    // What is known by now is what the row says; a witness that comes later is too late.
    void conclude(Time now) noexcept;

    // A hand-over should wait: a probe that is under way may tell. Ends by `waits_until`.
    [[nodiscard]] bool awaits_witness(Time now) const noexcept;
    [[nodiscard]] std::optional<Time> waits_until() const noexcept;
    [[nodiscard]] bool is_unsure(Time now) const noexcept { return now < unsure_until_; }
    // Unsure, and another store's clock speaks for this node's.
    [[nodiscard]] bool is_vouched(Time now) const noexcept;

private:
    struct Ahead {
        Time at{};
        std::vector<std::optional<ClockOffset>> witnesses;
        bool is_vouched = false;
        std::optional<Time> settles_at;
        [[nodiscard]] bool has_witness() const noexcept;
    };
    std::optional<Time> agreed_at_;
    std::optional<Ahead> ahead_;
    Time unsure_until_ = Time::min();
    Time unvouched_until_ = Time::min();
};

}  // namespace latchd::core::authority
