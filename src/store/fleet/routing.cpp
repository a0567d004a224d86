// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Where operations go, and what is told of that.
#include "fleet_store.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace latchd::store::fleet {
namespace {

namespace authority = core::authority;
using telemetry::Level;

std::uint64_t number(core::OperationId id) noexcept { return static_cast<std::uint64_t>(id); }

}  // namespace

void FleetStore::submit(core::OperationId id, core::Operation&& operation) {
    if (is_local_) {
        under_way_.insert(number(id));
        local_->submit(id, std::move(operation));
    } else if (serving_) {
        under_way_.insert(number(id));
        tiers_[*serving_]->submit(id, std::move(operation));
    } else if (is_started_) {
        sink_.deliver(core::StoreFailed{id, core::Failure::unsent, closed_reason_});
    }
}

void FleetStore::from_tier(std::size_t tier, core::Event&& event) {
    const bool serves = serving_ == tier;
    if (const auto* replied = std::get_if<core::StoreReplied>(&event)) {
        if (serves && under_way_.erase(number(replied->id)) > 0) sink_.deliver(std::move(event));
    } else if (const auto* failed = std::get_if<core::StoreFailed>(&event)) {
        if (serves && under_way_.erase(number(failed->id)) > 0) sink_.deliver(std::move(event));
    } else if (std::holds_alternative<core::NodeMessage>(event) ||
               std::holds_alternative<core::MessagesLost>(event) ||
               std::holds_alternative<core::MessagesResumed>(event)) {
        if (serves) sink_.deliver(std::move(event));
    }
}

// Of a node of several on this host, the table may be another loop's, which may hang.
void FleetStore::from_table(core::Event&& event) {
    if (!is_local_) return;
    if (const auto* replied = std::get_if<core::StoreReplied>(&event)) {
        if (under_way_.erase(number(replied->id)) == 0) return;
    } else if (const auto* failed = std::get_if<core::StoreFailed>(&event)) {
        if (under_way_.erase(number(failed->id)) == 0) return;
    } else if (const auto* closed = std::get_if<core::StoreClosed>(&event)) {
        closed_reason_ = closed->reason;
        is_table_away_ = true;
    } else if (std::holds_alternative<core::StoreOpened>(event)) {
        // The decider has told of the table itself.
        if (!std::exchange(is_table_away_, false)) return;
        event = local_opening_;
    }
    sink_.deliver(std::move(event));
}

void FleetStore::doubt_all(const std::string& reason) {
    doubtful_.insert(doubtful_.end(), under_way_.begin(), under_way_.end());
    under_way_.clear();
    doubt_ = reason;
    closed_reason_ = reason;
}

void FleetStore::end_local(const std::string& reason) {
    if (!std::exchange(is_local_, false)) return;
    is_table_away_ = false;
    local_->close();
    doubt_all(reason);
}

void FleetStore::serve(authority::TierServe&& action) {
    end_local("another store serves");
    serving_ = action.tier;
    tiers_.at(action.tier)->act(std::move(action));
}

// What is under way is forgotten before the tier hears of it: whatever it says of that is late.
void FleetStore::withdraw(authority::TierWithdraw&& action) {
    if (serving_ == action.tier) {
        serving_.reset();
        doubt_all(action.reason);
    }
    tiers_.at(action.tier)->act(std::move(action));
}

// The end of its connection ends the serving of a tier until the next TierServe. It has failed what
// was under way; what it forgot is failed here.
void FleetStore::note_lost(const authority::TierFailed& failed) {
    // Before anything else is known, this is why nothing is granted.
    if (!is_told_) sink_.deliver(core::StoreClosed{.reason = failed.reason});
    if (failed.is_connected || serving_ != failed.tier) return;
    serving_.reset();
    doubt_all(failed.reason);
}

void FleetStore::fail_doubtful() {
    if (doubtful_.empty()) return;
    std::vector<std::uint64_t> ids = std::exchange(doubtful_, {});
    std::sort(ids.begin(), ids.end());  // as they were submitted
    for (const std::uint64_t id : ids) {
        sink_.deliver(core::StoreFailed{core::OperationId{id}, core::Failure::in_doubt, doubt_});
    }
}

void FleetStore::serve_locally() {
    local_->open();
    is_local_ = true;
    remind_at_ = {};
    remind_of_local();
}

void FleetStore::to_node(core::Event&& event) {
    // What was sent to the former store has failed before the next one opens.
    if (std::holds_alternative<core::StoreOpened>(event)) fail_doubtful();
    is_told_ = true;
    if (const auto* closed = std::get_if<core::StoreClosed>(&event)) {
        closed_reason_ = closed->reason;
    } else if (const auto* opened = std::get_if<core::StoreOpened>(&event); opened && is_local_) {
        local_opening_ = *opened;
    } else if (const auto* permit = std::get_if<core::PermitChanged>(&event)) {
        limits_ = permit->limits;
    }
    sink_.deliver(std::move(event));
}

void FleetStore::note_change(const authority::Changed& change) {
    const bool is_open = change.state == authority::RecordState::open;
    std::string text = "epoch " + std::to_string(change.epoch) +
                       (is_open ? ": locks are kept in tier " : " settles for tier ") + change.tier;
    if (!change.reason.empty()) text += ": " + change.reason;
    const bool moves = is_open && !last_tier_.empty() && last_tier_ != change.tier;
    const bool is_first = last_tier_.empty();
    telemetry::log(is_first || (is_open && !moves) ? Level::notice : Level::warning,
                   is_open ? "failover.opened" : "failover.settling",
                   text);
    if (moves) {
        ++counts_.failovers;
        counts_.last_failover_unix = surroundings_.wall_ms() / 1000;
        counts_.last_failover_from = last_tier_;
    }
    if (is_open) last_tier_ = change.tier;
    if (surroundings_.changed) surroundings_.changed(change);
}

// Locks of one host alone must not be overlooked.
void FleetStore::remind_of_local() {
    const Time now = surroundings_.boot_now();
    if (now < remind_at_) return;
    remind_at_ = now + options_.local_reminder;
    const std::optional<std::size_t> size = local_->size();
    telemetry::log(Level::error,
                   "store.local",
                   "local mode: neither a shared store nor the arbiter is reached; locks of "
                   "resources with DEGRADE local are kept on this host alone" +
                       (size ? ", " + std::to_string(*size) + " now" : std::string()));
}

Health FleetStore::health() const {
    if (is_local_) return stores().back();
    if (serving_) {
        Health health = tiers_[*serving_]->health();
        health.in_flight = under_way_.size();
        return health;
    }
    Health none;
    none.name = "";
    none.type = "";
    none.state = "down";
    none.last_error = closed_reason_;
    return none;
}

std::vector<Health> FleetStore::stores() const {
    std::vector<Health> all;
    for (std::size_t i = 0; i < tiers_.size(); ++i) {
        all.push_back(tiers_[i]->health());
        if (serving_ == i) all.back().state = "serving";
    }
    if (!options_.local_name.empty()) {
        Health local;
        local.name = options_.local_name;
        local.type = "local";
        local.address = "embedded";
        local.state = is_local_ ? "serving" : "standby";
        all.push_back(std::move(local));
    }
    return all;
}

}  // namespace latchd::store::fleet
