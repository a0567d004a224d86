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
    return view_.record ? view_.record->basis : options_.basis;
}

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
    const Duration unsure = options_.available_max + basis().ttl_max;
    std::vector<std::pair<ResourceName, ResourceSettings>> told = resources_;
    std::map<ResourceName, Time> held_since;
    for (auto& [name, settings] : told) {
        if (!settings.pending || settings.pending->from > epoch) continue;
        const bool is_safer =
            settings.pending->safety == Safety::strict && settings.safety != Safety::strict;
        settings.safety = settings.pending->safety;
        settings.degrade = settings.pending->degrade;
        if (is_safer) {
            const auto known = held_since_.find(name);
            const Time since = known != held_since_.end() ? known->second : now();
            held_since.emplace(name, since);
            if (now() < since + unsure) continue;  // it holds, but is not promised yet
            promised_.insert(name);
        }
        settings.pending.reset();
    }
    held_since_ = std::move(held_since);
    std::erase_if(promised_, [this](const auto& name) { return !held_since_.contains(name); });
    act(RegistryRead{std::move(told)});
}

// Tells that something which holds is promised by now.
void Fleet::Impl::consider_promised() {
    const Duration unsure = options_.available_max + basis().ttl_max;
    const bool is_any_due = std::ranges::any_of(held_since_, [&](const auto& each) {
        return now() >= each.second + unsure && !promised_.contains(each.first);
    });
    if (is_any_due) tell_registry();
}

bool Fleet::Impl::vote_basis() {
    const Epoch epoch = open_->placement.since_epoch;
    const auto changed = std::ranges::find_if(resources_, [epoch](const auto& resource) {
        return resource.second.pending && resource.second.pending->from > epoch;
    });
    const auto current = index_of(open_->placement.store);
    if (changed == resources_.end() || !current || !is_usable(*current)) return false;
    return begin({.tier = *current,
                  .reason = "SAFETY or DEGRADE of resource " + changed->first.str() + " changes"});
}

// The record counts, whatever the configuration of this node proposes.
void Fleet::Impl::follow_basis() {
    const Basis& agreed = view_.record->basis;
    if (agreed == options_.basis || std::exchange(basis_told_, true)) return;
    const auto text = [](const Basis& each) {
        std::string stores;
        for (const std::string& store : each.stores) stores += (stores.empty() ? "" : ", ") + store;
        return "ttl_max " + std::to_string(to_ms(each.ttl_max)) + " ms, delay_max " +
               std::to_string(to_ms(each.delay_max)) + " ms, stores " + stores;
    };
    notice(Notice::Level::warning,
           "authority.basis_differs",
           "the configuration of this node says " + text(options_.basis) + ", the fleet's record " +
               text(agreed) + "; the record counts");
}

}  // namespace latchd::core::authority
