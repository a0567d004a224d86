// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"
#include "uuid.hpp"

#include <algorithm>
#include <map>
#include <utility>

// When an epoch begins, and where it moves the locks (rules 3 and 7). Votes are the sights in the
// nodes' rows; whoever finds the vote passed proposes, and one compare-and-set wins.
namespace latchd::core::authority {

namespace {

const TierSight* find(const NodeRow& row, const std::string& store) {
    const auto it = std::ranges::find(row.sights, store, &TierSight::store);
    return it == row.sights.end() ? nullptr : &*it;
}

// Why the locks are in a store that is not the preferred one stays told over the epochs that begin
// there for something else.
std::string told_in(const std::string& store, std::string reason, const Placement& former) {
    if (former.store != store) return reason;
    const std::string because = "; in " + store + " because ";
    const std::size_t at = former.reason.find(because);
    const std::string why =
        at == std::string::npos ? former.reason : former.reason.substr(at + because.size());
    return std::move(reason) + because + why;
}

}  // namespace

// What lost nodes may have granted is over after this, whoever they were, also where the arbiter
// has lost a change of how long that may be.
Duration Fleet::Impl::full_wait() const {
    const Basis& own = options_.basis;
    const Basis& last = agreed_.last ? *agreed_.last : own;
    const LeaseLimits limits = this->limits();
    return judged_lease() + std::max({limits.ttl_longest + limits.delay_longest,
                                      last.ttl_max + last.delay_max,
                                      own.ttl_max + own.delay_max});
}

// For votes: the newest process of each name, until it was lost for vote_kept.
std::vector<const NodeRow*> Fleet::Impl::known_nodes() const {
    std::map<std::string_view, const NodeRow*> newest;
    const auto is_newer = [this](const NodeRow& a, const NodeRow& b) {
        const bool a_lost = is_lost(a.incarnation);
        const bool b_lost = is_lost(b.incarnation);
        if (a_lost != b_lost) return b_lost;
        return std::pair(a.started_ms, a.incarnation) > std::pair(b.started_ms, b.incarnation);
    };
    for (const NodeRow& row : view_.nodes) {
        const auto it = judged_.find(row.incarnation);
        const bool is_over = it != judged_.end() && it->second.lost_since &&
                             now() - *it->second.lost_since >= options_.vote_kept;
        if (is_over || (omits(Rule::vote_of_known) && is_lost(row.incarnation))) continue;
        const auto [place, is_new] = newest.try_emplace(row.name.view(), &row);
        if (!is_new && is_newer(row, *place->second)) place->second = &row;
    }
    std::vector<const NodeRow*> known;
    for (const auto& [name, row] : newest) known.push_back(row);
    return known;
}

void Fleet::Impl::vote() {
    const bool can_vote = open_ && own_row() != nullptr && !is_busy() && !is_another_arbiter() &&
                          view_.record->placement.state == RecordState::open;
    if (!can_vote) return;
    const std::optional<TierIndex> current = index_of(open_->placement.store);
    const auto has_wish = [this] { return wish_ && wish_->after == open_->placement.since_epoch; };
    if (arbiter_jumped_ && !has_wish()) {
        wish_ = Wish{open_->placement.since_epoch, "the arbiter's clock moved"};
    }
    if (has_wish()) {
        const auto target = current && is_usable(*current) ? current : best_but(current);
        if (!target) return;
        (void)begin({.tier = *target, .reason = wish_->reason});
        return;
    }
    if (vote_command()) return;
    const auto known = known_nodes();
    if (vote_failure(known)) return;
    if (vote_return(known)) return;
    if (vote_basis()) return;
    vote_measured();
}

// Rule 9: opened by a node that could not compare the clocks, an epoch has no strict grants. This
// node can compare them by now.
void Fleet::Impl::vote_measured() {
    const auto current = index_of(open_->placement.store);
    const bool is_wanted = options_.outlives && !open_->placement.clock_difference && current &&
                           is_usable(*current) && now() - open_->seen_at >= options_.hold_down;
    if (!is_wanted || arbiter_readings_ < readings_needed || arbiter_clock_.is_too_far()) return;
    const ClockOffset& clock = tiers_[*current].clock;
    if (!clock.offset() || clock.is_too_far()) return;
    (void)begin({.tier = *current,
                 .reason = "the clocks of " + open_->placement.store +
                           " and the arbiter can be compared now"});
}

bool Fleet::Impl::vote_failure(const std::vector<const NodeRow*>& known) {
    const Placement& placement = open_->placement;
    std::size_t alive = 0;
    std::size_t failing = 0;
    std::map<std::string_view, std::size_t> others;
    std::string reason;
    for (const NodeRow* row : known) {
        if (!is_lost(row->incarnation)) ++alive;
        const TierSight* sight = find(*row, placement.store);
        // A sight from before the opening speaks of another store.
        if (sight == nullptr || row->seen_open != placement.since_epoch) continue;
        if (is_lost(row->incarnation)) continue;
        if (sight->state == TierSight::State::failing) {
            ++failing;
            reason = sight->reason;
        } else if (sight->is_other) {
            ++others[sight->run_id];
        }
    }
    const auto is_passed = [&](std::size_t votes) {
        if (omits(Rule::majority)) return votes != 0;
        return votes != 0 && (2 * votes > known.size() || votes == alive);
    };
    const std::optional<TierIndex> current = index_of(placement.store);
    if (is_passed(failing)) {
        const auto target = best_but(current);
        if (!target) return false;
        (void)begin({.tier = *target,
                     .reason = placement.store + " fails: " + reason,
                     .is_failure = current && is_worse(*target, *current)});
        return true;
    }
    for (const auto& [run_id, votes] : others) {
        if (!is_passed(votes)) continue;
        // The store that they see is taken, if this node sees it as well.
        const bool sees_it =
            current && is_usable(*current) && tiers_[*current].identity.run_id == run_id;
        const auto target = sees_it ? current : best_but(current);
        if (!target) return false;
        (void)begin({.tier = *target, .reason = placement.store + " is another process"});
        return true;
    }
    return false;
}

// Back to a better tier: when every known node has seen it healthy for the hold-down, and it is one
// and the same server to all.
bool Fleet::Impl::vote_return(const std::vector<const NodeRow*>& known) {
    const Placement& placement = open_->placement;
    const auto current = index_of(placement.store);
    // A store that is in nobody's configuration any more is left; one that is in others' only is
    // theirs to judge.
    const auto knows_it = [&placement](const NodeRow* row) {
        return find(*row, placement.store) != nullptr;
    };
    if (!current && std::ranges::any_of(known, knows_it)) return false;
    const std::vector<TierIndex> order = order_of(basis().stores);
    const auto end = current ? std::ranges::find(order, *current) : order.end();
    const bool is_unlisted = current && end == order.end();
    const Duration needed = omits(Rule::hold_down)
                                ? Duration::zero()
                                : std::max(placement.hold_down, options_.hold_down);
    for (auto at = order.begin(); at != end; ++at) {
        const TierIndex tier = *at;
        if (!is_usable(tier)) continue;
        const bool is_agreed = std::ranges::all_of(known, [&](const NodeRow* row) {
            const TierSight* sight = find(*row, options_.tiers[tier].store);
            return sight != nullptr && row->seen_open == placement.since_epoch &&
                   sight->state == TierSight::State::healthy && sight->healthy_for >= needed &&
                   sight->run_id == tiers_[tier].identity.run_id;
        });
        if (!is_agreed) continue;
        (void)begin({.tier = tier,
                     .reason = is_unlisted
                                   ? placement.store + " is not in the fleet's list of stores"
                                   : options_.tiers[tier].store + " is healthy again"});
        return true;
    }
    return false;
}

bool Fleet::Impl::vote_command() {
    if (!command_ || command_proposed_) return false;
    const auto refuse = [this](std::string text) {
        act(Commanded{command_->id, false, std::move(text)});
        command_.reset();
        return false;
    };
    const auto current = index_of(open_->placement.store);
    std::optional<TierIndex> target;
    const std::vector<TierIndex> order = order_of(basis().stores);
    if (command_->back) {
        if (order.empty()) return refuse("this node has none of the fleet's stores");
        target = order.front();
        const std::vector<std::string> missing = missing_stores();
        const bool is_first_missing =
            goes_by(basis().stores) &&
            std::ranges::find(missing, basis().stores.front()) != missing.end();
        if (is_first_missing) {
            return refuse("this node's configuration does not name " + basis().stores.front() +
                          ", which the fleet prefers: ask another node");
        }
    } else if (command_->store.empty()) {
        target = best_but(current);
    } else {
        target = index_of(command_->store);
        if (!target) return refuse("no store is called " + command_->store);
        if (std::ranges::find(order, *target) == order.end()) {
            return refuse(command_->store +
                          " is not in the fleet's list of stores: LATCHD CLUSTER SET STORES "
                          "adds it");
        }
    }
    if (!target) return refuse("no other store is healthy");
    if (target == current) return refuse("the locks are in " + options_.tiers[*target].store);
    if (!is_usable(*target)) {
        return refuse(options_.tiers[*target].store + " can't be used: " + tiers_[*target].reason);
    }
    if (!begin({.tier = *target, .reason = "operator: " + command_->reason})) {
        return refuse("no further epoch can begin: " + closed_for_);
    }
    command_proposed_ = true;
    return true;
}

// 30 s, doubled per flap within an hour, halved per quiet hour.
Duration Fleet::Impl::hold_down(const Placement& placement, bool is_failure) const {
    if (placement.hold_down == Duration::zero())
        return is_failure ? options_.hold_down : placement.hold_down;
    const auto quiet_ms = static_cast<std::int64_t>(view_.shown) - placement.since_ms;
    const auto quiet_hours = std::clamp<std::int64_t>(quiet_ms / 3'600'000, 0, 20);
    Duration kept = placement.hold_down / (1 << quiet_hours);
    if (is_failure && quiet_hours == 0) kept = 2 * placement.hold_down;
    return std::clamp(kept, options_.hold_down, options_.hold_down_max);
}

bool Fleet::Impl::begin(Begin&& wish) {
    if (is_busy() || own_row() == nullptr) return false;
    const std::optional<FleetRecord>& old = view_.record;
    const TierView& target = tiers_[wish.tier];
    const Epoch shown = old ? old->epoch : 0;
    EpochChoice choice =
        choose_epoch({.recorded = std::max(shown, target.marker ? target.marker->epoch : 0),
                      .has_record = old.has_value(),
                      .known = highest_},
                     at_.wall);
    if (choice.epoch != 0 && wish.raise > 1) {
        choice.epoch = std::min<Epoch>(choice.epoch + wish.raise - 1, epoch_max);
    }
    if (choice.epoch == 0 || choice.epoch <= shown) {
        stop(choice.refusal, false);
        return false;
    }
    FleetRecord next;
    if (old) {
        next = *old;
    } else {
        next.basis = basis();
        next.uuid = !known_.uuid.empty() ? known_.uuid
                    : target.marker      ? target.marker->uuid
                                         : ClusterUuid(uuid_from(names_.draw()));
        next.placement.hold_down = Duration::zero();
    }
    next.epoch = choice.epoch;
    if (view_.basis_change) next.basis = view_.basis_change->in(next.epoch);
    next.arbiter = view_.arbiter;
    Placement& placement = next.placement;
    placement.hold_down = hold_down(placement, wish.is_failure);
    placement.store = options_.tiers[wish.tier].store;
    placement.tier = options_.tiers[wish.tier].kind;
    placement.state = RecordState::settling;
    placement.since_epoch = choice.epoch;
    placement.identity = {};
    placement.nonce = Nonce(names_.draw());
    placement.clock_difference.reset();
    // What this node still waits out goes on, whoever acknowledges or opens.
    const Duration left = open_ && !omits(Rule::strict_wait_carried)
                              ? std::max(open_->strict_from - now(), Duration::zero())
                              : Duration::zero();
    placement.strict_wait =
        omits(Rule::strict_wait) ? Duration::zero() : std::max(wish.strict_wait, left);
    placement.strict_wait_carried.reset();
    placement.missing.clear();
    placement.rows_unsure = wish.rows_unsure;
    placement.reason = std::move(wish.reason);
    if (old && wish.tier != 0) {
        placement.reason = told_in(placement.store, std::move(placement.reason), old->placement);
    }
    placement.since_ms = static_cast<std::int64_t>(view_.shown);
    Propose call;
    if (old) call.expected = {old->epoch, old->placement.state, old->placement.nonce};
    own_proposal_ = placement.nonce;
    call.next = std::move(next);
    (void)ask(work_, Purpose::propose, std::move(call));
    return true;
}

// Rule 7: no record. Who knows the cluster can't be sure that all rows are there.
void Fleet::Impl::begin_first() {
    if (is_busy() || own_row() == nullptr) return;
    for (TierIndex tier = 0; tier < tiers_.size(); ++tier) {
        const TierView& view = tiers_[tier];
        const bool is_unseen = has_marker(tier) && !view.is_connected && !view.is_locked_out &&
                               view.state == TierSight::State::unknown;
        if (is_unseen) {
            return stop(options_.tiers[tier].store + ": connecting, before the first epoch", false);
        }
        const OthersUse use = use_of(tier);
        if (use != OthersUse::none) return stop(others_text(tier, use), false);
    }
    const auto target = best_but(std::nullopt);
    if (!target) {
        stop("no store can be opened: " + (tiers_.empty() ? std::string() : tiers_.front().reason),
             false);
        return;
    }
    Begin wish;
    wish.tier = *target;
    const bool is_known = highest_ != 0 || tiers_[*target].marker.has_value();
    wish.reason = is_known ? "the arbiter has no record" : "first epoch";
    wish.rows_unsure = is_known;
    if (is_known) wish.strict_wait = full_wait();
    (void)begin(std::move(wish));
}

}  // namespace latchd::core::authority
