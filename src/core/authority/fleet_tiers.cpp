// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"

#include <algorithm>
#include <utility>

// What the tiers show: which process is there, whether it is well, whether its marker and its clock
// are where they should be (rules 2, 3 and 9).
namespace latchd::core::authority {

namespace {

// A marker that was read before this node asked again may be older than the record: of the answers
// that come after, one may have been under way.
constexpr std::uint32_t mismatches_max = 3;
// Between two good probes, however seldom they are.
constexpr Duration unseen_max = std::chrono::seconds(5);

}  // namespace

std::optional<TierIndex> Fleet::Impl::index_of(const std::string& store) const {
    const auto it = std::ranges::find(options_.tiers, store, &FleetOptions::Tier::store);
    if (it == options_.tiers.end()) return std::nullopt;
    return static_cast<TierIndex>(it - options_.tiers.begin());
}

bool Fleet::Impl::has_marker(TierIndex tier) const { return options_.tiers[tier].kind != "mysql"; }

// Rule 2: another run id, another role, or a second replication id is another store, whatever data
// it holds. A changed replication id alone is a first replica that was attached.
bool Fleet::Impl::is_other(TierIndex tier, const Placement& placement) const {
    if (omits(Rule::same_process)) return false;
    const Identity& identity = tiers_[tier].identity;
    return identity.run_id != placement.identity.run_id || identity.role != Role::master ||
           (!identity.replid2.empty() && identity.replid2 != placement.identity.replid2);
}

bool Fleet::Impl::is_marked(TierIndex tier, const Placement& placement) const {
    if (!has_marker(tier) || omits(Rule::marker_checked)) return true;
    const auto& marker = tiers_[tier].marker;
    return marker && marker->epoch == placement.since_epoch && marker->nonce == placement.nonce;
}

// Its marker is another cluster's: never overwritten.
bool Fleet::Impl::is_foreign(TierIndex tier) const {
    const auto& marker = tiers_[tier].marker;
    if (!marker || marker->uuid.empty()) return false;
    const ClusterUuid& ours = view_.record ? view_.record->uuid : known_.uuid;
    return !ours.empty() && marker->uuid != ours;
}

// A marker of an opening of which this node's arbiter shows nothing is left from before that lost
// its record; or nodes that ask another arbiter keep their locks there. The two would begin epochs
// over each other without end, each without the other's grants.
TierView::OthersUse Fleet::Impl::use_of(TierIndex tier) const {
    const TierView& view = tiers_[tier];
    if (!view.marker || !has_marker(tier)) return OthersUse::none;
    const bool is_followed = open_ && open_->placement.since_epoch == view.marker->epoch &&
                             open_->placement.nonce == view.marker->nonce;
    if (is_followed || (view_.record && view.marker->epoch <= view_.record->epoch)) {
        return OthersUse::none;
    }
    const Duration watched = 3 * options_.check_every;
    if (view.used_at && now() - *view.used_at < 2 * watched) return OthersUse::seen;
    return now() - view.marker_since < watched ? OthersUse::unsure : OthersUse::none;
}

std::string Fleet::Impl::others_text(TierIndex tier, OthersUse use) const {
    const std::string& store = options_.tiers[tier].store;
    const std::string epoch = std::to_string(tiers_[tier].marker->epoch);
    if (use == OthersUse::unsure) {
        return store + " has the marker of epoch " + epoch +
               ", which the arbiter doesn't know: it is watched whether somebody uses it";
    }
    if (!arbiter_error_.empty()) {
        return store + " is served in epoch " + epoch +
               ", and the arbiter, which would tell, is "
               "not reached: " +
               arbiter_error_;
    }
    return store + " keeps the locks of nodes that ask another arbiter (their epoch is " + epoch +
           "): all nodes of a cluster need the same authority.arbiter";
}

void Fleet::Impl::note_use(TierView& view, const TierIdentified& event) const {
    const bool is_same = view.marker && event.marker && view.marker->epoch == event.marker->epoch &&
                         view.marker->nonce == event.marker->nonce;
    if (!is_same) {
        view.marker_since = now();
        view.used_at.reset();
    } else if (event.marker_used != view.marker_used) {
        view.used_at = now();
    }
    view.marker_used = event.marker_used;
}

// Could be opened by this node.
bool Fleet::Impl::is_usable(TierIndex tier) const {
    const TierView& view = tiers_[tier];
    // Redis about itself: the arbiter's connection may lead to another server than the tier's.
    const bool is_split = options_.tiers[tier].is_arbiter && has_marker(tier) &&
                          view.identity.run_id != view_.arbiter.run_id;
    return view.is_connected && view.identity.role == Role::master &&
           view.state == TierSight::State::healthy && !is_foreign(tier) && !is_split &&
           use_of(tier) != OthersUse::seen;
}

TierSight Fleet::Impl::sight_of(TierIndex tier) const {
    const TierView& view = tiers_[tier];
    TierSight sight;
    sight.store = options_.tiers[tier].store;
    sight.state = view.state;
    sight.run_id = view.identity.run_id;
    sight.reason = view.reason;
    const bool is_patient = now() - view.failing_since < options_.tiers[tier].patience;
    if (sight.state == TierSight::State::failing && is_patient) {
        sight.state = TierSight::State::unknown;
    }
    if (sight.state == TierSight::State::healthy) {
        // Rule 3: the hold-down begins with the epoch, or what an operator moved came back at once.
        const Time since =
            open_ ? std::max(view.healthy_since, open_->seen_at) : view.healthy_since;
        sight.healthy_for = std::max(view.good_at - since, Duration::zero());
    }
    const bool is_placed = open_ && open_->placement.store == sight.store;
    sight.is_other = is_placed && view.is_connected && view.identity.role == Role::master &&
                     is_other(tier, open_->placement);
    return sight;
}

void Fleet::Impl::on(TierIdentified&& event) {
    TierView& view = tiers_[event.tier];
    const bool was_other = sight_of(event.tier).is_other;
    view.is_connected = event.identity.role == Role::master;
    if (event.identity.run_id != view.identity.run_id) {
        // Another process has a health of its own, and a clock.
        view.state = TierSight::State::unknown;
        view.good = view.bad = 0;
        view.clock.rebase();
    }
    view.identity = std::move(event.identity);
    note_use(view, event);
    view.marker = std::move(event.marker);
    view.evicts = event.evicts;
    if (!view.is_connected) {
        view.reason = "the server is a replica";
    }
    if (sight_of(event.tier).is_other != was_other) next_beat_ = now();
    if (serving_ == event.tier && open_ && is_other(event.tier, open_->placement)) {
        stop("the store is another process", false);
        withdraw("another process");
    }
    check_marker(event.tier);
}

// Rule 3: a lost marker on the recorded process needs one witness, who looked again.
void Fleet::Impl::check_marker(TierIndex tier) {
    TierView& view = tiers_[tier];
    const bool is_concerned = open_ && view.is_connected &&
                              open_->placement.store == options_.tiers[tier].store &&
                              !is_other(tier, open_->placement);
    if (!is_concerned || is_marked(tier, open_->placement)) {
        view.mismatches = 0;
        if (is_concerned && view.marker) {
            if (view.marker->counter < view.counter && serving_ == tier) {
                witness("the fence counter of " + options_.tiers[tier].store + " went back");
            }
            view.counter = std::max(view.counter, view.marker->counter);
        }
        return;
    }
    if (++view.mismatches < mismatches_max) {
        act(TierLook{tier});
        return;
    }
    if (const OthersUse use = use_of(tier); use != OthersUse::none) {
        stop(others_text(tier, use), false);
        return withdraw(others_text(tier, use));
    }
    witness(options_.tiers[tier].store +
            (view.marker ? " has the marker of another opening" : " lost its marker"));
}

void Fleet::Impl::witness(std::string reason) {
    if (!open_ || (wish_ && wish_->after == open_->placement.since_epoch)) return;
    wish_ = Wish{open_->placement.since_epoch, std::move(reason)};
    stop("settling: " + wish_->reason, true);
    withdraw(wish_->reason);
    next_read_ = now();
}

void Fleet::Impl::on(TierDoubted&& event) {
    tiers_[event.tier].mismatches = 0;
    act(TierLook{event.tier});
}

void Fleet::Impl::on(TierCounter&& event) {
    TierView& view = tiers_[event.tier];
    if (serving_ != event.tier) return;
    view.counter = std::max(view.counter, event.counter);
    if (view.counter >= counter_full) witness("the fence counter is nearly full");
}

void Fleet::Impl::on(TierProbed&& event) {
    using State = TierSight::State;
    TierView& view = tiers_[event.tier];
    view.bad = 0;
    view.is_locked_out = false;
    ++view.good;
    // One good probe suffices at a node's start.
    if (view.state != State::healthy &&
        (view.state == State::unknown || view.good >= options_.rise)) {
        view.state = State::healthy;
        view.healthy_since = now();
        view.reason.clear();
        next_beat_ = std::min(next_beat_, now());
    }
    // Nobody looked meanwhile: this process stood still.
    if (now() - view.good_at > std::max(options_.hold_down, unseen_max)) view.healthy_since = now();
    view.good_at = now();
    doubt_.probed(event.tier, event.sent, event.received, event.shown);
    const bool is_measured = view.clock.offset().has_value();
    const auto verdict = view.clock.add(event.sent, event.received, event.shown);
    if (!is_measured) view.clock_since = event.received;
    if (verdict != ClockOffset::Verdict::jumped) return;
    const bool is_placed = open_ && open_->placement.store == options_.tiers[event.tier].store &&
                           !is_other(event.tier, open_->placement);
    if (!is_placed || omits(Rule::rebase_only_settling)) {
        // Nobody's lease rests on it; it is measured anew when it is opened.
        view.clock.rebase();
        const bool is_former =
            settling_ && last_open_ && last_open_->store == options_.tiers[event.tier].store;
        last_clock_jumped_ = last_clock_jumped_ || is_former;
        return;
    }
    view.jumped = true;
    witness("the clock of " + options_.tiers[event.tier].store + " moved by " +
            std::to_string(to_ms(view.clock.last_deviation())) + " ms");
}

void Fleet::Impl::on(TierFailed&& event) {
    using Evidence = TierFailed::Evidence;
    TierView& view = tiers_[event.tier];
    view.good = 0;
    doubt_.failed(event.tier);
    if (!event.is_connected) {
        view.is_connected = false;
        if (opening_.stage != Opening::Stage::idle && opening_.tier == event.tier) again_later();
    }
    if (event.evidence == Evidence::access) {
        // This node's own trouble: it can't serve, and says nothing about the store.
        view.state = TierSight::State::unknown;
        view.reason = std::move(event.reason);
        view.is_locked_out = true;
    } else if (event.evidence == Evidence::refused || ++view.bad >= options_.fall) {
        set_failing(event.tier, std::move(event.reason));
    } else {
        view.reason = std::move(event.reason);
    }
    const bool is_served = serving_ == event.tier;
    if (!is_served) return;
    if (!event.is_connected) {
        serving_.reset();  // the tier failed what was under way itself
        stop(view.reason + way_out(event.tier), false);
    } else if (view.state != TierSight::State::healthy) {
        stop(view.reason + way_out(event.tier), false);
        withdraw(view.reason);
    }
}

// Nodes that a healthy store turns away are no evidence against it, all of them together neither:
// only an operator can tell a changed password from a fleet that should move.
std::string Fleet::Impl::way_out(TierIndex tier) const {
    if (!tiers_[tier].is_locked_out) return {};
    const auto target = best_but(tier);
    if (!target) return {};
    return "; for a node that is not let in the fleet never leaves a store: if no node is, LATCHD "
           "FAILOVER " +
           options_.tiers[*target].store + " moves the locks";
}

void Fleet::Impl::set_failing(TierIndex tier, std::string reason) {
    TierView& view = tiers_[tier];
    view.is_locked_out = false;
    view.reason = std::move(reason);
    if (view.state == TierSight::State::failing) return;
    view.state = TierSight::State::failing;
    view.failing_since = now();
    next_beat_ = now();
    next_read_ = std::min(next_read_, now() + options_.read_settling);
}

}  // namespace latchd::core::authority
