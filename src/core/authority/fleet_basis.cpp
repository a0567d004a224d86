// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"

#include <algorithm>
#include <utility>

// What safety rests on is the fleet's, not a node's: the record's ttl_max and delay_max, and SAFETY
// and DEGRADE of the registered resources. A change of those holds from an epoch on, so that no
// node grants by the old while another grants by the new. One towards safety is promised only once
// what a node that was cut off meanwhile may have granted by the old is over.
namespace latchd::core::authority {

const Basis& Fleet::Impl::basis() const noexcept {
    if (view_.record) return view_.record->basis;
    return agreed_.last ? *agreed_.last : options_.basis;
}

// Less is granted from the moment that a change is heard of; more once its epoch is open. What may
// live of what was granted before is reckoned with until the change is promised.
LeaseLimits Fleet::Impl::limits() const {
    const auto& change = view_.basis_change;
    const Basis& is = change && open_ ? change->in(open_->placement.since_epoch) : basis();
    LeaseLimits limits{is.ttl_max, is.delay_max, is.ttl_max, is.delay_max};
    limits.claims_kept = std::max(2 * (is.ttl_max + is.delay_max), view_.claims_kept());
    if (!change || is_basis_promised()) return limits;
    if (!holds(*change)) {
        limits.ttl_max = std::min(limits.ttl_max, change->next.ttl_max);
        limits.delay_max = std::min(limits.delay_max, change->next.delay_max);
    }
    if (omits(Rule::former_basis_waited)) return limits;
    limits.ttl_longest = std::max(limits.ttl_longest, change->ttl_longest());
    limits.delay_longest = std::max(limits.delay_longest, change->delay_longest());
    return limits;
}

// In the epoch that is open here.
bool Fleet::Impl::holds(const BasisChange& change) const noexcept {
    return open_ && open_->placement.since_epoch >= change.from;
}

// What a node that is cut off may have granted by the old, to the end of its leases.
Duration Fleet::Impl::unsure() const { return options_.available_max + limits().ttl_longest; }

// When nothing lives any more that a node that was cut off meanwhile may have granted by the old.
// Absent: the change does not hold yet.
std::optional<Time> Fleet::Impl::basis_promised_at() const {
    const auto& change = view_.basis_change;
    if (!change || agreed_.held != change->number) return std::nullopt;
    const bool is_wider = change->next.ttl_max >= change->ttl_before &&
                          change->next.delay_max == change->delay_before;
    if (is_wider) return agreed_.since;
    const Duration cut_off = std::max(options_.available_max, judged_lease());
    return agreed_.since + later_by(cut_off + change->ttl_before);
}

bool Fleet::Impl::is_basis_promised() const {
    const auto at = basis_promised_at();
    return at && now() >= *at;
}

void Fleet::Impl::follow_basis_change() {
    if (view_.record) agreed_.last = view_.record->basis;
    const auto& change = view_.basis_change;
    if (!change || !holds(*change) || agreed_.held == change->number) return;
    agreed_.held = change->number;
    agreed_.since = now();
}

// ---- an operator changes it -------------------------------------------------------------------

void Fleet::Impl::on(BasisWanted&& event) {
    if (agreed_.wish) {
        act(Commanded{event.id, false, "another change is being written"});
        return;
    }
    agreed_.wish = std::move(event);
    agreed_.wish_due = now() + command_max;
    next_read_ = now();
}

// Asked for again while somebody else's change, or an epoch, came first.
void Fleet::Impl::consider_basis_wish() {
    if (!agreed_.wish) return;
    if (now() >= agreed_.wish_due) {
        const std::string why = !arbiter_error_.empty() ? arbiter_error_
                                : !closed_for_.empty()  ? closed_for_
                                                        : "it does not answer";
        return basis_answered(false,
                              agreed_.is_written ? why +
                                                       "; whether it was written is not known: see "
                                                       "LATCHD CLUSTER"
                                                 : why + "; nothing was changed");
    }
    if (agreed_.is_written || is_busy() || !view_.record || is_forgetful()) return;
    if (view_sent_ < agreed_.wish_due - command_max) return;  // as it is now
    const FleetRecord& record = *view_.record;
    const auto& old = view_.basis_change;
    BasisChange change;
    change.number = old ? old->number + 1 : 1;
    change.now = record.basis;
    change.next = old && old->from > record.epoch ? old->next : record.basis;
    const Basis before = change.next;
    if (agreed_.wish->ttl_max) change.next.ttl_max = *agreed_.wish->ttl_max;
    if (agreed_.wish->delay_max) change.next.delay_max = *agreed_.wish->delay_max;
    if (agreed_.wish->stores) {
        change.next.stores = *agreed_.wish->stores;
        if (std::string why = why_not_listed(before, change.next); !why.empty()) {
            return basis_answered(false, "ERR STORES: " + why);
        }
    }
    if (change.next == before) return basis_answered(true, "OK");
    change.from = change.next == change.now ? record.epoch : record.epoch + 1;
    const LeaseLimits limits = this->limits();
    change.ttl_before = limits.ttl_longest;
    change.delay_before = limits.delay_longest;
    agreed_.is_written = true;
    (void)ask(work_, Purpose::basis, WriteBasis{std::move(change), record.epoch});
}

void Fleet::Impl::basis_answered(bool done, std::string text) {
    act(Commanded{agreed_.wish->id, done, std::move(text)});
    agreed_.wish.reset();
    agreed_.is_written = false;
}

// The view that came with the answer has been followed already.
void Fleet::Impl::basis_written(bool done) {
    if (!std::exchange(agreed_.is_written, false) || !agreed_.wish || !done) return;
    basis_answered(true, "OK");
}

// ---- the registry -----------------------------------------------------------------------------

// Of the registry that the arbiter showed last. A process that has not heard of the arbiter goes by
// its configuration.
bool Fleet::Impl::knows_registry() const noexcept {
    return !has_view_ || (has_registry_ && registry_version_ == view_.registry_version);
}

// As it was at `version`, which may be older than what was shown meanwhile: then it is read again.
void Fleet::Impl::registry_was_read(
    std::vector<std::pair<ResourceName, ResourceSettings>>&& resources, std::uint64_t version) {
    registry_version_ = version;
    has_registry_ = true;
    resources_ = std::move(resources);
    tell_registry();
    collect_if_retired();
}

// As they hold in the open epoch.
void Fleet::Impl::tell_registry() {
    if (!has_registry_) return;
    const Epoch epoch = open_ ? open_->placement.since_epoch : 0;
    const Duration unsure = this->unsure();
    std::vector<std::pair<ResourceName, ResourceSettings>> told = resources_;
    std::map<ResourceName, Time> held_since;
    for (auto& [name, settings] : told) {
        if (!settings.pending || settings.pending->from > epoch) continue;
        const bool is_safer =
            settings.pending->safety == Safety::strict && settings.safety != Safety::strict;
        settings.safety = settings.pending->safety;
        settings.degrade = settings.pending->degrade;
        if (is_safer) {
            const auto known = agreed_.held_since.find(name);
            const Time since = known != agreed_.held_since.end() ? known->second : now();
            held_since.emplace(name, since);
            if (now() < since + unsure) continue;  // it holds, but is not promised yet
            agreed_.promised.insert(name);
        }
        settings.pending.reset();
    }
    agreed_.held_since = std::move(held_since);
    std::erase_if(agreed_.promised,
                  [this](const auto& name) { return !agreed_.held_since.contains(name); });
    act(RegistryRead{std::move(told)});
}

// Tells that something which holds is promised by now.
void Fleet::Impl::consider_promised() {
    const Duration unsure = this->unsure();
    const bool is_any_due = std::ranges::any_of(agreed_.held_since, [&](const auto& each) {
        return now() >= each.second + unsure && !agreed_.promised.contains(each.first);
    });
    if (is_any_due) tell_registry();
}

bool Fleet::Impl::vote_basis() {
    const Epoch epoch = open_->placement.since_epoch;
    const auto& change = view_.basis_change;
    const bool is_change = change && change->from > epoch;
    auto target = index_of(open_->placement.store);
    const auto has_it = [this](const NodeRow* row) {
        return std::ranges::find(row->sights, open_->placement.store, &TierSight::store) !=
               row->sights.end();
    };
    // Nobody has it any more: it may have been taken out of the list.
    if (!target && is_change && std::ranges::none_of(known_nodes(), has_it)) {
        target = best_of(order_of(change->next.stores), std::nullopt);
    }
    if (!target || !is_usable(*target)) return false;
    if (is_change) {
        return begin({.tier = *target,
                      .reason = "operator: " + text_of(change->next, change->now) +
                                ", instead of " + text_of(change->now, change->next)});
    }
    const auto changed = std::ranges::find_if(resources_, [epoch](const auto& resource) {
        return resource.second.pending && resource.second.pending->from > epoch;
    });
    if (changed == resources_.end()) return false;
    return begin({.tier = *target,
                  .reason = "SAFETY or DEGRADE of resource " + changed->first.str() + " changes"});
}

// The record counts, whatever the configuration of this node proposes.
void Fleet::Impl::follow_basis() {
    const Basis agreed = without_local(view_.record->basis);
    if (agreed == agreed_.told) return;
    agreed_.told = agreed;
    if (agreed == options_.basis) return;
    notice(Notice::Level::warning,
           "authority.basis_differs",
           "the configuration of this node says " + text_of(options_.basis, agreed) +
               ", the fleet's record " + text_of(agreed, options_.basis) + "; the record counts");
    for (const std::string& store : missing_stores()) {
        notice(Notice::Level::warning,
               "authority.store_missing",
               "the configuration of this node does not name store " + store +
                   ", which the fleet's list has: while the locks are there this node can't serve");
    }
}

FleetStatus::OfBasis Fleet::Impl::status_of_basis(Time at) const {
    FleetStatus::OfBasis status;
    status.limits = permit_told_ && permit_told_->limits ? *permit_told_->limits : limits();
    status.configured = options_.basis;
    status.agreed = view_.record ? without_local(view_.record->basis) : options_.basis;
    for (const TierIndex tier : order_of(basis().stores))
        status.order.push_back(options_.tiers[tier].store);
    status.missing = missing_stores();
    status.unlisted = unlisted_stores();
    const auto& change = view_.basis_change;
    if (!change || is_basis_promised()) return status;
    status.pending = change;
    if (const auto promised_at = basis_promised_at()) {
        status.promised_in = std::max(*promised_at - at, Duration::zero());
    }
    return status;
}

}  // namespace latchd::core::authority
