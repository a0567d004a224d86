// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"

#include <algorithm>
#include <utility>

// What this node may do: serve the recorded process, for as long as its view lease runs; strict
// resources once silent nodes are lost and waited out; the host's own table when everything else is
// gone (rules 1, 2, 6, 8 and 9).
namespace latchd::core::authority {

// A duration of another node's clock, by this one's.
Duration Fleet::Impl::later_by(Duration wait) const noexcept {
    return Duration(
        static_cast<Duration::rep>(static_cast<double>(wait.count()) * (1.0 + 2 * options_.drift)));
}

// ---- the open epoch --------------------------------------------------------------------------

void Fleet::Impl::follow_open() {
    const FleetRecord& record = *view_.record;
    const Placement& placement = record.placement;
    const bool is_same = open_ && open_->placement.since_epoch == placement.since_epoch &&
                         open_->placement.nonce == placement.nonce;
    if (is_same) return;
    const Epoch epoch = placement.since_epoch;
    const std::string text = "epoch " + std::to_string(epoch) + " was opened";
    const bool is_missing =
        std::ranges::find(placement.missing, options_.incarnation) != placement.missing.end();
    Open next;
    next.placement = placement;
    next.seen_at = now();
    // Rule 4: what this node handed over is in the store, unless it came late; under
    // a fence of this epoch where its clock is in doubt, which it learns by asserting it.
    next.carried = settling_ && settling_->epoch == epoch && settling_->acked && !is_missing &&
                   !settling_->is_unsure;
    Duration wait = later_by(placement.strict_wait);
    if (omits(Rule::wait_as_duration)) {
        const auto passed = from_ms(static_cast<std::int64_t>(view_.shown) - placement.since_ms);
        wait = std::max(placement.strict_wait - passed, Duration::zero());
    }
    next.strict_from = now() + wait;
    next.strict_owed =
        now() + later_by(placement.strict_wait_carried.value_or(placement.strict_wait));
    // An epoch that this node never saw settling: what it kept of an earlier wait goes on.
    if (open_ && !omits(Rule::strict_wait_carried)) {
        next.strict_from = std::max(next.strict_from, open_->strict_from);
        next.strict_owed = std::max(next.strict_owed, open_->strict_from);
    }
    next.settled_for =
        left_open_ ? now() - *left_open_ : options_.settle_grace + options_.redirect_after;
    left_open_.reset();
    won_ = opening_.nonce == placement.nonce && !placement.nonce.empty();
    stop(text, true);
    withdraw(text);
    open_ = std::move(next);
    doubt_.conclude(now());
    settling_.reset();
    opening_ = {};
    wish_.reset();
    strict_left_ = {};
    if (acked_ < epoch) {
        acked_ = epoch;  // late, or new: it registers, and asserts what it has by token
        next_beat_ = now();
    }
    for (TierView& tier : tiers_) {
        tier.mismatches = 0;
        tier.counter = 0;
        tier.jumped = false;
    }
    const auto tier = index_of(placement.store);
    if (tier) {
        if (const auto clock = clock_of_store(*tier)) {
            tiers_[*tier].clock.seed(now(), *clock);
            tiers_[*tier].clock_since = now();
        }
        if (tiers_[*tier].is_connected) act(TierLook{*tier});
    }
    next_beat_ = std::min(next_beat_, now() + options_.read_settling);  // sights of this epoch
    tell_registry();  // before anything is granted in it
    follow_basis();
    act(KeepRecord{record});
    act(Changed{epoch, RecordState::open, placement.tier, placement.reason});
}

// Rule 9: the arbiter's clock, and the difference that was measured at the opening.
std::optional<Duration> Fleet::Impl::clock_of_store(TierIndex tier) const {
    const auto offset = arbiter_clock_.offset();
    if (!offset || !open_ || arbiter_clock_.is_too_far()) return std::nullopt;
    const Placement& placement = open_->placement;
    if (placement.store != options_.tiers[tier].store || !placement.clock_difference) {
        return std::nullopt;
    }
    return *offset + *placement.clock_difference;
}

std::string Fleet::Impl::why_not_served(TierIndex tier) const {
    const TierView& view = tiers_[tier];
    const std::string& store = options_.tiers[tier].store;
    if (!view.is_connected)
        return store + ": " + (view.reason.empty() ? "connecting" : view.reason) + way_out(tier);
    if (is_other(tier, open_->placement)) {
        return store + " is another process than the fleet's (" + view.identity.run_id +
               "): another address, or an epoch is about to begin";
    }
    if (view.state != TierSight::State::healthy) {
        return store + ": " + view.reason + way_out(tier);
    }
    if (wish_) return wish_->reason;
    if (!is_marked(tier, open_->placement)) {
        const OthersUse use = use_of(tier);
        return use == OthersUse::none ? store + ": its marker is looked at again"
                                      : others_text(tier, use);
    }
    return {};
}

void Fleet::Impl::try_serve() {
    if (!open_ || is_local_ || is_forgetful()) return;
    const auto tier = index_of(open_->placement.store);
    if (!tier) {
        return stop("the locks are in store " + open_->placement.store +
                        ", which this node's configuration does not name",
                    false);
    }
    // Rule 1: register first.
    const bool is_recorded = recorded_.acked >= open_->placement.since_epoch || !has_view_;
    if (!is_recorded && !omits(Rule::register_first)) return;
    if (serving_ != tier && !knows_registry()) return;
    const std::optional<Duration> clock = clock_of_store(*tier);
    if (serving_ == tier) {
        // Rule 9: from now on the store's clock can be checked, and strict resources served.
        if (!options_.outlives || serves_checked_ || !clock || arbiter_readings_ < readings_needed)
            return;
        stop("the clocks are known now", true);
        withdraw("the clocks are known now");
    }
    if (const std::string reason = why_not_served(*tier); !reason.empty()) {
        return stop(reason, closed_settling_ && wish_.has_value());
    }
    serving_ = tier;
    serves_checked_ = clock.has_value();
    act(TierServe{*tier,
                  open_->placement.since_epoch,
                  open_->placement.nonce,
                  tiers_[*tier].marker ? tiers_[*tier].marker->counter : 0,
                  clock,
                  std::exchange(won_, false)});
}

void Fleet::Impl::on(TierReady&& event) {
    if (serving_ != event.tier || !open_ || is_open_) return;
    is_open_ = true;
    closed_settling_ = false;
    closed_for_.clear();
    permit_told_.reset();
    tell_permit();
    StoreOpened opened;
    opened.tier = open_->placement.tier;
    opened.epoch = open_->placement.since_epoch;
    opened.shared = true;
    opened.margin = event.margin;
    opened.kill_works = event.kill_works;
    opened.carried = open_->carried && !was_local_;
    was_local_ = false;
    to_node(std::move(opened));
}

void Fleet::Impl::stop(const std::string& reason, bool settling) {
    if (!is_open_ && reason == closed_for_ && settling == closed_settling_) return;
    if (is_local_) return;
    is_open_ = false;
    closed_for_ = reason;
    closed_settling_ = settling;
    to_node(StoreClosed{reason, settling});
}

void Fleet::Impl::withdraw(const std::string& reason) {
    if (!serving_) return;
    act(TierWithdraw{*std::exchange(serving_, std::nullopt), reason});
}

// ---- permits ---------------------------------------------------------------------------------

// Every process that has a row has acknowledged, or is lost by this node's own judgement.
bool Fleet::Impl::are_all_accounted() const {
    return std::ranges::all_of(not_acked(view_, open_->placement.since_epoch),
                               [this](Incarnation missing) { return is_lost(missing); });
}

// A lock that ran out in the former tier while the epoch settled lives on in this one for as long
// as that took, and whoever had not acknowledged may have granted it to another: it is not renewed.
void Fleet::Impl::account() {
    if (!open_ || is_local_) return;
    if (!are_all_accounted()) {
        open_->accounted_at.reset();
    } else if (!open_->accounted_at) {
        const bool was_whole = open_->placement.missing.empty();
        open_->accounted_at = was_whole ? Time::min() : now() + later_by(open_->settled_for);
    }
}

// Rule 6: late hand-overs are taken until the strict wait ends. Once every process that was
// missing, or its successor that has all of its journal, has put back all that was kept, in the
// very epoch, there is nothing left to be waited out. Whoever left meanwhile, or was followed by a
// process without that, has not: it is waited for in full.
void Fleet::Impl::consider_asserted() {
    if (!open_ || now() >= open_->strict_from || open_->placement.missing.empty()) return;
    const Epoch epoch = open_->placement.since_epoch;
    const auto has_asserted = [&](Incarnation missing) {
        const auto own = std::ranges::find(view_.nodes, missing, &NodeRow::incarnation);
        return std::ranges::any_of(view_.nodes, [&](const NodeRow& row) {
            const bool speaks = row.incarnation == missing || row.former == missing ||
                                (omits(Rule::successor_by_journal) && own != view_.nodes.end() &&
                                 row.name == own->name);
            return speaks && (omits(Rule::wait_until_asserted) ? row.acked : row.asserted) >= epoch;
        });
    };
    if (!std::ranges::all_of(open_->placement.missing, has_asserted)) return;
    open_->strict_from = std::min(open_->strict_from, open_->strict_owed);
}

void Fleet::Impl::on(Asserted&& event) {
    if (!open_ || event.epoch != open_->placement.since_epoch) return;
    asserted_ = event.epoch;
    const auto& missing = open_->placement.missing;
    const bool is_waited_for = std::ranges::any_of(missing, [this](Incarnation each) {
        return each == options_.incarnation || each == spoken_for();
    });
    if (is_waited_for) next_beat_ = now();
}

// Whose grants this process puts back with its own; 0: nobody's. A former self that had served this
// very epoch may have found less in its store than it kept, and has forgotten the rest since.
Incarnation Fleet::Impl::spoken_for() const noexcept {
    const auto& seen = options_.kept_record;
    const bool has_served =
        open_ && seen && seen->placement.since_epoch >= open_->placement.since_epoch;
    return options_.has_journal && !has_served ? options_.former.value_or(0) : 0;
}

bool Fleet::Impl::may_renew_strict() const {
    if (omits(Rule::strict_lost_first)) return true;
    return open_->accounted_at && now() >= *open_->accounted_at;
}

PermitChanged Fleet::Impl::permit() const {
    PermitChanged permit;
    permit.limits = limits();
    permit.preferred = preferred_;
    if (is_local_ || !open_) return permit;
    permit.is_confirmed = now() < lease_end_;
    permit.available_until = std::max(view_sent_ + options_.available_max, noted_until_);
    permit.strict_until = lease_end_;
    permit.strict_carried = may_renew_strict();
    const bool is_waited = now() >= open_->strict_from;
    permit.strict_fresh = permit.strict_carried && is_waited;
    if (omits(Rule::view_lease)) permit.available_until = permit.strict_until = Time::max();
    permit.strict_all = recorded_.strict_all;
    permit.strict_named = recorded_.strict;
    permit.strict_ttl_max = recorded_.ttl_high;
    if (!options_.outlives) {
        permit.strict_until = Time::min();
        permit.reason = "strict resources need an arbiter that outlives the store: configure MySQL";
    } else if (serving_ && tiers_[*serving_].evicts) {
        permit.strict_until = Time::min();
        permit.reason = open_->placement.store + " evicts keys: strict resources need noeviction";
    } else if (arbiter_clock_.is_too_far() || !open_->placement.clock_difference) {
        permit.strict_until = Time::min();
        permit.reason = "strict resources need a store and an arbiter nearer than 100 ms";
    } else if (!serves_checked_) {
        permit.strict_until = Time::min();
        permit.reason = "the clocks of the store and the arbiter are being measured";
    } else if (arbiter_readings_ < readings_needed) {
        permit.strict_fresh = false;
        permit.reason = "the arbiter's clock is being measured";
    } else if (!permit.is_confirmed) {
        permit.reason = "arbiter: " + (arbiter_error_.empty() ? std::string("not heard of in time")
                                                              : arbiter_error_);
    } else if (!permit.strict_carried) {
        permit.reason = "settling: a node has not acknowledged the epoch";
    } else if (!is_waited) {
        permit.reason = "settling: waiting for what a lost node may have granted";
    }
    return permit;
}

void Fleet::Impl::tell_permit() {
    account();
    consider_asserted();
    if (!is_open_ && !is_local_) return;
    PermitChanged next = permit();
    if (permit_told_ == next) return;
    permit_told_ = next;
    to_node(std::move(next));
}

// ---- local mode ------------------------------------------------------------------------------

// Rule 8: only when neither the tier nor the arbiter was reached for `fall` probes.
void Fleet::Impl::consider_local() {
    if (!options_.has_local || is_local_ || serving_ || arbiter_fails_ < options_.fall) return;
    const bool is_known = open_ && index_of(open_->placement.store).has_value();
    for (TierIndex tier = 0; tier < tiers_.size(); ++tier) {
        const bool is_concerned = !is_known || open_->placement.store == options_.tiers[tier].store;
        if (is_concerned && tiers_[tier].state != TierSight::State::failing) return;
    }
    stop("neither the store nor the arbiter answers", false);
    is_local_ = true;
    was_local_ = true;
    closed_for_ = "neither the store nor the arbiter answers: " + arbiter_error_;
    closed_settling_ = false;
    act(Changed{0, RecordState::open, "local", closed_for_});
    act(LocalServe{});
    permit_told_.reset();
    tell_permit();
    StoreOpened opened;
    opened.tier = "local";
    opened.epoch = 0;
    opened.shared = false;
    to_node(std::move(opened));
}

void Fleet::Impl::leave_local(const std::string& reason) {
    is_local_ = false;
    act(LocalWithdraw{});
    is_open_ = true;  // so that it is told
    stop(reason, true);
    permit_told_.reset();
}

}  // namespace latchd::core::authority
