// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "tier.hpp"

#include "access.hpp"

#include <latchd/telemetry/log.hpp>

#include <utility>

// Who is there, how well it is, and serving. A connection's first probe follows its identity in
// the same write, behind the end of former connections: so the marker that it shows is one that no
// former connection of this node will change any more.
namespace latchd::store::redis {

namespace authority = core::authority;
using telemetry::Level;

std::unique_ptr<Tier> make_tier(boost::asio::io_context& context,
                                Options options,
                                std::function<Time()> boot_now,
                                authority::TierIndex index,
                                Sink& sink,
                                FleetSink& fleet) {
    return std::make_unique<RedisTier>(
        context, std::move(options), std::move(boot_now), index, sink, fleet);
}

RedisTier::RedisTier(boost::asio::io_context& context,
                     Options options,
                     std::function<Time()> boot_now,
                     authority::TierIndex index,
                     Sink& sink,
                     FleetSink& fleet)
    : index_(index),
      fleet_(fleet),
      driver_(context, std::move(options), std::move(boot_now), sink, *this) {}

void RedisTier::stop() {
    driver_.stop();
    steps_.clear();
    noting_.reset();
    call_ = std::monostate{};
}

Health RedisTier::health() const {
    Health health = driver_.health();
    health.state = was_well_ ? "up" : health.last_error == "-" ? "starting" : "down";
    health.epoch = driver_.is_serving() ? driver_.scripts().epoch() : 0;
    return health;
}

// ---- who is there ----------------------------------------------------------------------------

void RedisTier::identified(bool is_first) {
    const authority::Identity& identity = driver_.server().identity;
    if (identity.role == authority::Role::replica) {
        is_identity_told_ = true;
        tell(authority::TierIdentified{index_, identity, std::nullopt});
        return driver_.drop("the server is a replica");
    }
    if (!is_first) return;  // the marker follows
    driver_.kill_former();
    driver_.load_authority();
    driver_.send_probe();
}

void RedisTier::probing() { ask_marker(true, false); }

void RedisTier::ask_marker(bool is_patient, bool is_own_look) {
    append_marker_read(driver_.out(), driver_.keys());
    driver_.expect_authority(is_patient);
    steps_.push_back({is_own_look ? Step::Kind::own_look : Step::Kind::marker, 0});
}

void RedisTier::act(authority::TierLook&&) {
    // Without a connection the next one's identity is the answer.
    if (!driver_.is_identified()) return;
    driver_.ask_identity(false);
    ask_marker(false, false);
    driver_.arm();
}

void RedisTier::answered(const resp::Value& value) {
    const Step step = steps_.front();
    steps_.pop_front();
    switch (step.kind) {
        case Step::Kind::marker:
            return marker_shown(false, value);
        case Step::Kind::own_look:
            return marker_shown(true, value);
        case Step::Kind::note_left:
            return note_left(value);
        case Step::Kind::note_shown:
            return note_shown(value);
        case Step::Kind::scan:
            if (step.call == call_number_) scanned(value);
            return;
        case Step::Kind::call:
            if (step.call == call_number_) call_answered(value);
            return;
    }
}

void RedisTier::marker_shown(bool is_own_look, const resp::Value& value) {
    auto answer = read_marker(value);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
        return driver_.drop(with_missing_rule(refusal->text, driver_.user()),
                            evidence_of(refusal->cause));
    }
    auto& view = std::get<MarkerView>(answer);
    if (view.is_damaged && !is_damage_told_) {
        telemetry::log(Level::error,
                       "store.marker_damaged",
                       driver_.options().name + ": the key " + driver_.keys().marker() +
                           " can't be understood; delete it if nothing else wrote it");
    }
    is_damage_told_ = view.is_damaged;
    if (is_own_look && is_reload_wanted_) reload_scripts(view.marker);
    is_identity_told_ = true;
    const std::string& policy = driver_.server().maxmemory_policy;
    tell(authority::TierIdentified{index_,
                                   driver_.server().identity,
                                   std::move(view.marker),
                                   !policy.empty() && policy != "noeviction",
                                   view.used});
}

// ---- health ----------------------------------------------------------------------------------

// The Fleet counts: it waits for `rise` good probes after a failure.
Duration RedisTier::probe_interval() const noexcept {
    const CheckOptions& check = driver_.options().check;
    return good_run_ && *good_run_ < check.rise ? check.fastinter : check.inter;
}

void RedisTier::probed(const ProbeSeen& seen) {
    if (good_run_) ++*good_run_;
    was_well_ = true;
    failed_at_.reset();
    driver_.went_well();
    tell(authority::TierProbed{index_, seen.sent, seen.received, seen.shown});
    if (seen.counter) tell(authority::TierCounter{index_, *seen.counter});
}

void RedisTier::probe_failed(const std::string& reason, Evidence evidence) {
    tell_failed(reason, evidence, true);
}

void RedisTier::connection_lost(const std::string& reason, Evidence evidence) {
    const bool was_serving = driver_.is_open() || is_ready_owed_;
    if (std::holds_alternative<Loading>(call_))
        doubtful_load_ = std::get<Loading>(call_).wish.nonce;
    steps_.clear();
    noting_.reset();
    is_ready_owed_ = false;
    is_reload_wanted_ = false;
    if (was_serving) {
        telemetry::log(Level::warning, "store.closed", driver_.options().name + ": " + reason);
    }
    driver_.close();
    driver_.stop_listening();
    // Attempts to connect come more often than probes; they count as often as probes would. The end
    // of a connection that was shown is always told.
    const Time now = driver_.now();
    const bool is_due = std::exchange(is_identity_told_, false) || evidence == Evidence::refused ||
                        !failed_at_ || now - *failed_at_ >= driver_.options().check.fastinter;
    if (is_due) tell_failed(reason, evidence, false);
    end_call(false, reason);
}

void RedisTier::tell_failed(const std::string& reason, Evidence evidence, bool is_connected) {
    was_well_ = false;
    good_run_ = 0;
    failed_at_ = driver_.now();
    tell(authority::TierFailed{index_, evidence, is_connected, reason});
}

// ---- serving ---------------------------------------------------------------------------------

void RedisTier::act(authority::TierServe&& action) {
    if (!driver_.is_identified()) return;  // TierFailed was told, TierIdentified will be
    const bool is_same = served_.epoch == action.epoch && served_.nonce == action.nonce;
    if (!is_same && driver_.is_serving()) driver_.withdraw();
    served_.epoch = action.epoch;
    served_.nonce = action.nonce;
    server_served_ = driver_.server().identity;
    is_ready_owed_ = true;
    is_reload_wanted_ = false;
    driver_.load_authority();
    driver_.serve({.epoch = action.epoch,
                   .nonce = action.nonce.str(),
                   .counter = action.counter,
                   .same_epoch = is_same,
                   .is_fresh = !driver_.is_open(),
                   .sweeps = action.sweeps,
                   .clock = action.clock});
    driver_.listen();
    driver_.arm();
    if (driver_.is_open()) tell_ready();
}

void RedisTier::act(authority::TierWithdraw&& action) {
    if (driver_.is_serving()) {
        telemetry::log(
            Level::info, "store.withdrawn", driver_.options().name + ": " + action.reason);
    }
    is_ready_owed_ = false;
    is_reload_wanted_ = false;
    driver_.withdraw();
    driver_.stop_listening();
}

void RedisTier::opened() { tell_ready(); }

void RedisTier::tell_ready() {
    if (!is_ready_owed_) return;
    is_ready_owed_ = false;
    tell(authority::TierReady{index_, driver_.options().clock_margin, driver_.kill_works()});
}

void RedisTier::doubted(Doubt doubt) {
    if (doubt == Doubt::unknown_script) {
        is_reload_wanted_ = true;
        look();
    }
    tell(authority::TierDoubted{index_});
}

// The identity comes first: NOSCRIPT is what another process answers, too.
void RedisTier::look() {
    driver_.ask_identity(false);
    driver_.forget_authority_scripts();
    driver_.load_authority();
    ask_marker(false, true);
    driver_.arm();
}

// Only the script cache was lost. Of anything else the Fleet decides.
void RedisTier::reload_scripts(const std::optional<authority::Marker>& marker) {
    is_reload_wanted_ = false;
    const authority::Identity& identity = driver_.server().identity;
    const bool is_same_server =
        identity.run_id == server_served_.run_id && identity.replid2 == server_served_.replid2;
    const bool is_same = is_same_server && marker && marker->epoch == served_.epoch &&
                         marker->nonce == served_.nonce &&
                         marker->counter >= driver_.counter_seen();
    if (!is_same || !driver_.is_serving()) return;
    driver_.serve({.epoch = served_.epoch,
                   .nonce = served_.nonce.str(),
                   .counter = marker->counter,
                   .same_epoch = true,
                   .is_fresh = false,
                   .sweeps = false,
                   .clock = std::nullopt});
}

}  // namespace latchd::store::redis
