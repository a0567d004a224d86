// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "fleet_store.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace latchd::store::fleet {
namespace {

namespace authority = core::authority;

constexpr std::uint64_t own_calls = std::uint64_t{1} << 63;

telemetry::Level level_of(core::Notice::Level level) noexcept {
    switch (level) {
        case core::Notice::Level::debug:
            return telemetry::Level::debug;
        case core::Notice::Level::info:
            return telemetry::Level::info;
        case core::Notice::Level::warning:
            return telemetry::Level::warning;
        case core::Notice::Level::error:
            break;
    }
    return telemetry::Level::error;
}

// The action says which tier it is for.
template <class T>
constexpr bool is_for_tier =
    std::is_same_v<T, authority::TierLook> || std::is_same_v<T, authority::TierInitialise> ||
    std::is_same_v<T, authority::TierLoad> || std::is_same_v<T, authority::TierCloseAndRead> ||
    std::is_same_v<T, authority::TierNote>;

}  // namespace

FleetStore::FleetStore(boost::asio::io_context& context,
                       Options options,
                       Surroundings surroundings,
                       Makers makers,
                       Sink& sink)
    : options_(std::move(options)),
      surroundings_(std::move(surroundings)),
      sink_(sink),
      decider_(std::move(makers.decider)),
      deadline_(context, [this] { on_due(); }),
      local_(makers.window ? make_table_of_other(makers.window(table_sink_))
                           : make_own_table(options_, surroundings_, table_sink_)),
      last_call_(own_calls) {
    for (std::size_t i = 0; i < makers.tiers.size(); ++i) {
        tier_sinks_.emplace_back(*this, i);
        tiers_.push_back(makers.tiers[i](*this, tier_sinks_.back()));
    }
    arbiter_ = makers.arbiter(*this);
}

void FleetStore::start() {
    is_started_ = true;
    local_->start();
    arbiter_->start();
    for (const auto& tier : tiers_) tier->start();
    is_running_ = true;
    decider_->start(moment(), actions_);
    run();
}

void FleetStore::stop() {
    is_started_ = false;
    deadline_.stop();
    for (const auto& tier : tiers_) tier->stop();
    arbiter_->stop();
    local_->stop();
}

authority::Moment FleetStore::moment() const {
    return {surroundings_.boot_now(), static_cast<authority::WallMs>(surroundings_.wall_ms())};
}

void FleetStore::happened(authority::FleetEvent&& event) {
    if (!is_started_ || is_own_answer(event)) return;
    if (const auto* failed = std::get_if<authority::TierFailed>(&event)) note_lost(*failed);
    queue_.push_back(std::move(event));
    if (std::exchange(is_running_, true)) return;
    run();
}

// Carries out what is in actions_, then steps through the queue, which grows meanwhile.
void FleetStore::run() {
    while (is_started_) {
        for (std::size_t i = 0; i < actions_.size() && is_started_; ++i) carry_out(actions_[i]);
        actions_.clear();
        // A node that sends again what failed must not find the store that it just lost.
        fail_doubtful();
        if (queue_.empty()) break;
        authority::FleetEvent event = std::move(queue_.front());
        queue_.pop_front();
        decider_->step(moment(), std::move(event), actions_);
    }
    is_running_ = false;
    tell_differing();
    rearm();
}

void FleetStore::carry_out(authority::FleetAction& action) {
    std::visit(
        [this](auto& act) {
            using T = std::decay_t<decltype(act)>;
            if constexpr (std::is_same_v<T, authority::ArbiterDo>) {
                arbiter_->act(std::move(act));
            } else if constexpr (is_for_tier<T>) {
                tiers_.at(act.tier)->act(std::move(act));
            } else if constexpr (std::is_same_v<T, authority::TierServe>) {
                serve(std::move(act));
            } else if constexpr (std::is_same_v<T, authority::TierWithdraw>) {
                withdraw(std::move(act));
            } else if constexpr (std::is_same_v<T, authority::LocalServe>) {
                serve_locally();
            } else if constexpr (std::is_same_v<T, authority::LocalWithdraw>) {
                end_local("the host's own table is not used any more");
            } else if constexpr (std::is_same_v<T, authority::ToNode>) {
                to_node(std::move(act.event));
            } else if constexpr (std::is_same_v<T, authority::CollectClaims>) {
                sink_.deliver(core::ClaimsWanted{act.epoch});
            } else if constexpr (std::is_same_v<T, authority::CollectUses>) {
                sink_.deliver(core::UsesWanted{});
            } else if constexpr (std::is_same_v<T, authority::KeepRecord>) {
                if (surroundings_.keep_record) surroundings_.keep_record(act.record);
            } else if constexpr (std::is_same_v<T, authority::KeepOffsets>) {
                if (act.arbiter && surroundings_.keep_offset) {
                    surroundings_.keep_offset(*act.arbiter);
                }
            } else if constexpr (std::is_same_v<T, authority::RegistryRead>) {
                registry_read(act);
            } else if constexpr (std::is_same_v<T, authority::Commanded>) {
                const auto it = commands_.find(act.id);
                if (it == commands_.end()) return;
                const Answered answered = std::move(it->second);
                commands_.erase(it);
                answered(act.done, act.text);
            } else if constexpr (std::is_same_v<T, authority::Gone>) {
                if (const Answered left = std::exchange(left_, nullptr)) left(act.done, "");
            } else if constexpr (std::is_same_v<T, authority::Changed>) {
                note_change(act);
            } else if constexpr (std::is_same_v<T, authority::SaveKnown>) {
                if (surroundings_.save) surroundings_.save(act.known);
            } else {
                static_assert(std::is_same_v<T, core::Notice>);
                telemetry::log(level_of(act.level), act.event, act.text);
            }
        },
        action);
}

void FleetStore::rearm() {
    if (!is_started_) return;
    std::optional<Time> next = decider_->next_deadline();
    if (is_local_) next = next ? std::min(*next, remind_at_) : remind_at_;
    if (differs_at_) next = next ? std::min(*next, *differs_at_) : differs_at_;
    deadline_.arm(surroundings_.boot_now(), next);
}

// The timer may go off early; the decider knows.
void FleetStore::on_due() {
    if (is_local_) remind_of_local();
    happened(authority::TimeCame{});
}

void FleetStore::claims_given(core::ClaimsGiven&& given) {
    // Epoch 0 is nobody's: these were asked for at the end.
    if (given.epoch == 0 && std::exchange(leave_awaits_claims_, false)) {
        return happened(authority::LeaveWanted{std::move(given.claims)});
    }
    happened(authority::ClaimsCollected{given.epoch, std::move(given.claims)});
}

void FleetStore::grant_ended(core::GrantEnded&& ended) { happened(std::move(ended)); }

void FleetStore::uses_given(core::UsesGiven&& given) {
    happened(authority::UsesCollected{std::move(given.used)});
}

void FleetStore::asserted(core::Asserted what) { happened(what); }

void FleetStore::strict_asked(core::StrictAsked&& asked) {
    happened(authority::StrictWanted{std::move(asked.resource), asked.ttl_high});
}

authority::FleetStatus FleetStore::status() const {
    return decider_->status(surroundings_.boot_now());
}

void FleetStore::move(std::string store, bool back, std::string reason, Answered answered) {
    const std::uint64_t id = ++last_command_;
    commands_.emplace(id, std::move(answered));
    happened(authority::Command{id, std::move(store), back, std::move(reason)});
}

void FleetStore::change(authority::BasisWanted wish, Answered answered) {
    wish.id = ++last_command_;
    commands_.emplace(wish.id, std::move(answered));
    happened(std::move(wish));
}

void FleetStore::leave(Answered answered) {
    if (!is_started_ || left_) return answered(false, "");
    left_ = std::move(answered);
    leave_awaits_claims_ = true;
    sink_.deliver(core::ClaimsWanted{0});
}

std::unique_ptr<Store> make_store(boost::asio::io_context& context,
                                  Options options,
                                  Surroundings surroundings,
                                  Makers makers,
                                  Sink& sink) {
    return std::make_unique<FleetStore>(
        context, std::move(options), std::move(surroundings), std::move(makers), sink);
}

}  // namespace latchd::store::fleet
