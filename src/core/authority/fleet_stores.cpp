// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

// Which stores the fleet goes to, and in which order: the record's list says so. By lists of their
// own, nodes that prefer different stores would move the locks there and back for ever.
namespace latchd::core::authority {

namespace {

bool has_sight(const NodeRow& row, const std::string& store) {
    return std::ranges::find(row.sights, store, &TierSight::store) != row.sights.end();
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

// Not while a node of a version is there that goes by its own list; nor if no node knows any of the
// names, or nothing would be served any more where all stores have other names by now.
bool Fleet::Impl::goes_by(const std::vector<std::string>& stores) const {
    if (stores.empty() || omits(Rule::stores_of_record)) return false;
    const auto known = known_nodes();
    const auto is_older = [](const NodeRow* row) { return row->protocol < protocol_listed; };
    if (std::ranges::any_of(known, is_older)) return false;
    return std::ranges::any_of(stores, [&](const std::string& store) {
        return index_of(store) || std::ranges::any_of(known, [&](const NodeRow* row) {
                   return has_sight(*row, store);
               });
    });
}

// Those of them that this node has.
std::vector<TierIndex> Fleet::Impl::order_of(const std::vector<std::string>& stores) const {
    std::vector<TierIndex> order;
    if (!goes_by(stores)) {
        order.resize(tiers_.size());
        std::iota(order.begin(), order.end(), TierIndex{0});
        return order;
    }
    for (const std::string& store : stores) {
        if (const auto tier = index_of(store)) order.push_back(*tier);
    }
    return order;
}

// Less preferred; what is not in the list is less so than all that are.
bool Fleet::Impl::is_worse(TierIndex tier, TierIndex than) const {
    const auto order = order_of(basis().stores);
    return std::ranges::find(order, tier) > std::ranges::find(order, than);
}

// The most preferred of them but `current` that this node could open and that a majority has and
// doesn't see failing.
std::optional<TierIndex> Fleet::Impl::best_of(const std::vector<TierIndex>& order,
                                              std::optional<TierIndex> current) const {
    const auto known = known_nodes();
    const bool is_listed = goes_by(basis().stores);
    for (const TierIndex tier : order) {
        if (tier == current || !is_usable(tier)) continue;
        const auto failing = std::ranges::count_if(known, [&](const NodeRow* row) {
            const auto sight =
                std::ranges::find(row->sights, options_.tiers[tier].store, &TierSight::store);
            if (sight == row->sights.end()) return is_listed;
            return sight->state == TierSight::State::failing;
        });
        if (2 * static_cast<std::size_t>(failing) > known.size()) continue;
        return tier;
    }
    return std::nullopt;
}

std::optional<TierIndex> Fleet::Impl::best_but(std::optional<TierIndex> current) const {
    return best_of(order_of(basis().stores), current);
}

// Of the first store that the fleet prefers, for DEGRADE. Empty: this node's own order counts.
std::string Fleet::Impl::preferred_kind() const {
    if (!goes_by(basis().stores)) return {};
    const auto tier = index_of(basis().stores.front());
    return tier ? options_.tiers[*tier].kind : "unknown";
}

// Why an operator can't have the list of `next`; empty: they can.
std::string Fleet::Impl::why_not_listed(const Basis& before, const Basis& next) const {
    const auto is_in = [](const std::vector<std::string>& stores, const std::string& store) {
        return std::ranges::find(stores, store) != stores.end();
    };
    std::vector<const NodeRow*> alive = known_nodes();
    std::erase_if(alive, [this](const NodeRow* row) { return is_lost(row->incarnation); });
    for (const NodeRow* row : alive) {
        if (row->protocol >= protocol_listed) continue;
        return "node " + row->name.str() + " (" + row->version +
               ") goes by its own list of stores: it needs this version first";
    }
    for (const std::string& store : next.stores) {
        for (const NodeRow* row : alive) {
            if (has_sight(*row, store)) continue;
            return "node " + row->name.str() + " has no shared store named " + store +
                   ": it needs it in its configuration, and a restart, first";
        }
    }
    const std::string& current = view_.record->placement.store;
    const bool is_there =
        std::ranges::any_of(alive, [&](const NodeRow* row) { return has_sight(*row, current); });
    if (is_there && !is_in(next.stores, current)) {
        return "the locks are in " + current +
               ": LATCHD FAILOVER to another store has to move them first";
    }
    for (const FleetOptions::Tier& tier : options_.tiers) {
        const bool is_removed = is_in(before.stores, tier.store) && !is_in(next.stores, tier.store);
        if (tier.is_arbiter && is_removed) {
            return tier.store + " is the arbiter, and stays in the list";
        }
    }
    return {};
}

// What the record has and this node's configuration has not.
std::vector<std::string> Fleet::Impl::missing_stores() const {
    std::vector<std::string> missing;
    if (!view_.record) return missing;
    for (const std::string& store : view_.record->basis.stores) {
        if (!index_of(store) && store != options_.local_store) missing.push_back(store);
    }
    return missing;
}

// And the other way round; nothing while each node goes by its own list.
std::vector<std::string> Fleet::Impl::unlisted_stores() const {
    std::vector<std::string> unlisted;
    if (!view_.record || !goes_by(basis().stores)) return unlisted;
    const auto& stores = view_.record->basis.stores;
    for (const FleetOptions::Tier& tier : options_.tiers) {
        if (std::ranges::find(stores, tier.store) == stores.end()) unlisted.push_back(tier.store);
    }
    return unlisted;
}

// The host's own table is each node's affair.
Basis Fleet::Impl::without_local(Basis basis) const {
    std::erase(basis.stores, options_.local_store);
    return basis;
}

std::string text_of(const Basis& basis, const Basis& other) {
    std::string text;
    const bool has_leases = basis.ttl_max != other.ttl_max || basis.delay_max != other.delay_max;
    if (has_leases) {
        text = "ttl_max " + std::to_string(to_ms(basis.ttl_max)) + " ms, delay_max " +
               std::to_string(to_ms(basis.delay_max)) + " ms";
    }
    if (basis.stores != other.stores) {
        text += (text.empty() ? "" : ", ") + ("stores " + joined(basis.stores));
    }
    return text;
}

}  // namespace latchd::core::authority
