// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/authority/clock_doubt.hpp>

#include <algorithm>
#include <utility>

namespace latchd::core::authority {

namespace {

// Probes are a second apart, and answer within 100 ms or tell nothing.
constexpr Duration witness_max = std::chrono::milliseconds(1100);
// An epoch may be opened after settle_grace (1 s) without who has not handed over.
constexpr Duration hand_over_max = std::chrono::milliseconds(600);

}  // namespace

bool ClockDoubt::Ahead::has_witness() const noexcept {
    return std::ranges::any_of(witnesses, [](const auto& witness) { return witness.has_value(); });
}

void ClockDoubt::agrees(Time received) noexcept {
    agreed_at_ = received;
    if (ahead_ && !ahead_->settles_at) ahead_.reset();
}

void ClockDoubt::is_ahead(Time received, const std::vector<Witness>& tiers) {
    if (ahead_ && !ahead_->settles_at) return;
    conclude(received);  // of a step before
    Ahead ahead;
    ahead.at = received;
    for (const Witness& tier : tiers) {
        const bool can_tell = tier.clock.offset() && !tier.clock.has_strayed() && agreed_at_ &&
                              tier.since <= *agreed_at_;
        ahead.witnesses.push_back(can_tell ? std::optional(tier.clock) : std::nullopt);
    }
    ahead_ = std::move(ahead);
}

void ClockDoubt::probed(std::size_t tier, Time sent, Time received, StoreMs shown) noexcept {
    if (!ahead_ || tier >= ahead_->witnesses.size() || sent < ahead_->at) return;
    std::optional<ClockOffset>& witness = ahead_->witnesses[tier];
    if (!witness || received - sent > ClockOffset::round_trip_max) return;
    if (witness->add(sent, received, shown) == ClockOffset::Verdict::steady) {
        ahead_->is_vouched = true;
    }
    witness.reset();
}

void ClockDoubt::failed(std::size_t tier) noexcept {
    if (ahead_ && tier < ahead_->witnesses.size()) ahead_->witnesses[tier].reset();
}

void ClockDoubt::settles(Time now, Time until) {
    agreed_at_.reset();
    if (!ahead_) return;
    unsure_until_ = until;
    ahead_->settles_at = now;
}

void ClockDoubt::inherits(Time until) noexcept { unsure_until_ = unvouched_until_ = until; }

void ClockDoubt::conclude(Time now) noexcept {
    if (!ahead_ || !ahead_->settles_at) return;
    if (!ahead_->is_vouched && is_unsure(now)) unvouched_until_ = unsure_until_;
    ahead_.reset();
}

bool ClockDoubt::awaits_witness(Time now) const noexcept {
    const auto until = waits_until();
    return until && now < *until;
}

std::optional<Time> ClockDoubt::waits_until() const noexcept {
    if (!ahead_ || !ahead_->settles_at || ahead_->is_vouched || !ahead_->has_witness()) {
        return std::nullopt;
    }
    return std::min(ahead_->at + witness_max, *ahead_->settles_at + hand_over_max);
}

bool ClockDoubt::is_vouched(Time now) const noexcept {
    const bool is_open = ahead_ && ahead_->settles_at && !ahead_->is_vouched;
    return is_unsure(now) && now >= unvouched_until_ && !is_open;
}

}  // namespace latchd::core::authority
