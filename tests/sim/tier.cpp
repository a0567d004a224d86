// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "tier.hpp"

#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Duration operation_timeout = seconds(1);
constexpr Duration probe_every = seconds(1);
constexpr Duration probe_again = milliseconds(250);
constexpr std::uint32_t rise = 5;  // probes, after a failure
constexpr Duration probe_timeout = milliseconds(500);
constexpr Duration backoff_max = milliseconds(500);
constexpr Duration clock_margin = milliseconds(50);
constexpr Duration window_strict = milliseconds(200);
constexpr Duration window_available = seconds(1);

}  // namespace

bool may_grant(const core::Operation& operation) noexcept {
    if (const auto* release = std::get_if<core::Release>(&operation)) {
        return release->then.has_value();
    }
    return std::holds_alternative<core::Acquire>(operation) ||
           std::holds_alternative<core::Renew>(operation) ||
           std::holds_alternative<core::Restore>(operation);
}

Tier::Tier(World& world, Member& member, authority::TierIndex index, Site site)
    : world_(world), member_(member), index_(index), site_(site) {}

Tier::~Tier() {
    if (connection_) Server::abandon(connection_);
}

Time Tier::now() const { return member_.now(); }
void Tier::start() { connect(); }
void Tier::tell(authority::FleetEvent&& event) { member_.tell(std::move(event)); }

// ---- the connection --------------------------------------------------------------------------

void Tier::connect() {
    connect_at_.reset();
    is_identified_ = false;
    connection_ = world_.connect_to(site_, member_.index(), *this);
    send(Kind::hello, Hello{});
}

Tier::Pending& Tier::send(Kind kind, Call call) {
    Pending& pending = pending_.emplace_back();
    pending.kind = kind;
    pending.sent = now();
    Server::send(connection_, std::move(call));
    return pending;
}

void Tier::reset(const ConnectionPtr& connection) {
    if (connection != connection_) return;
    // Whether somebody listened there at all.
    const bool was_refused = !is_identified_ && !connection->server->is_up();
    lost(was_refused ? "connection refused" : "reset by peer",
         was_refused ? authority::TierFailed::Evidence::refused
                     : authority::TierFailed::Evidence::failed);
}

void Tier::lost(const std::string& reason, authority::TierFailed::Evidence evidence) {
    std::deque<Pending> unanswered = std::move(pending_);
    pending_.clear();
    std::deque<Request> unsent = std::move(outbox_);
    outbox_.clear();
    former_.emplace_back(connection_->run, connection_->id);
    Server::abandon(connection_);
    connection_.reset();
    is_identified_ = false;
    probe_at_.reset();
    good_run_ = 0;
    serving_.reset();
    for (const Pending& pending : unanswered) {
        if (pending.request && !pending.is_withdrawn) {
            fail(*pending.request, core::Failure::in_doubt, reason);
        } else if (pending.kind == Kind::act) {
            tell(authority::TierDone{index_, pending.call, false, reason});
        } else if (pending.kind == Kind::read) {
            tell(authority::TierRead{index_, pending.call, false, {}});
        }
    }
    for (const Request& request : unsent) fail(request, core::Failure::unsent, reason);
    tell(authority::TierFailed{index_, evidence, false, reason});
    connect_at_ = now() + world_.random.between(backoff_ / 2, backoff_);
    backoff_ = std::min(backoff_ * 2, backoff_max);
}

void Tier::fail(const Request& request, core::Failure failure, const std::string& text) {
    member_.feed(core::StoreFailed{request.id, failure, text});
}

void Tier::said(const ConnectionPtr& connection, Said&& said) {
    if (connection != connection_) return;
    Pending pending = std::move(pending_.front());
    pending_.pop_front();
    answered(pending, std::move(said));
}

void Tier::answered(Pending& pending, Said&& said) {
    switch (pending.kind) {
        case Kind::hello: {
            auto& known = std::get<Known>(said);
            tell(authority::TierIdentified{
                index_, std::move(known.identity), known.marker, false, known.marker_used});
            if (!std::exchange(is_identified_, true)) send_probe();
            return;
        }
        case Kind::kill:
            former_.clear();
            return ready();
        case Kind::probe:
            if (pending.is_failed_probe) return;
            return probed(said, pending.sent);
        case Kind::act: {
            const auto& finished = std::get<Finished>(said);
            return tell(authority::TierDone{index_, pending.call, finished.done, finished.text});
        }
        case Kind::read: {
            auto& read = std::get<ReadBack>(said);
            return tell(
                authority::TierRead{index_, pending.call, read.done, std::move(read.claims)});
        }
        case Kind::note: {
            auto& notes = std::get<Notes>(said);
            return tell(authority::TierNoted{index_, pending.sent, std::move(notes.fresh)});
        }
        case Kind::operation:
            if (pending.is_withdrawn && world_.mutant != Mutant::late_replies) return;
            return answered(std::move(*pending.request), std::move(said), pending.sent);
    }
}

// ---- what the authority asks for -------------------------------------------------------------

void Tier::act(authority::TierLook&&) {
    if (connection_) send(Kind::hello, Hello{});
}

void Tier::act(authority::TierInitialise&& action) {
    if (!connection_) {
        return tell(authority::TierDone{index_, action.id, false, "no connection"});
    }
    const authority::CallId id = action.id;
    send(Kind::act, std::move(action)).call = id;
}

void Tier::act(authority::TierLoad&& action) {
    if (!connection_) {
        return tell(authority::TierDone{index_, action.id, false, "no connection"});
    }
    const authority::CallId id = action.id;
    send(Kind::act, std::move(action)).call = id;
}

void Tier::act(authority::TierCloseAndRead&& action) {
    if (!connection_) return tell(authority::TierRead{index_, action.id, false, {}});
    const authority::CallId id = action.id;
    send_probe();
    send(Kind::read, std::move(action)).call = id;
}

void Tier::act(authority::TierNote&& action) {
    if (connection_ && site_ == Site::redis) send(Kind::note, std::move(action));
}

void Tier::act(authority::TierServe&& action) {
    if (!connection_) return;  // its end was told, or is about to be
    serving_ = Serving{action.epoch, action.nonce, action.counter, action.clock, false};
    checks_clock_ = action.clock.has_value() && world_.plan.checks_clock;
    if (action.clock) clock_.seed(now(), *action.clock);
    KillFormer kill;
    for (const auto& [run, id] : former_) {
        if (run == connection_->run) kill.connections.push_back(id);
    }
    send(Kind::kill, std::move(kill));
}

void Tier::ready() {
    if (!serving_ || serving_->is_ready) return;
    serving_->is_ready = true;
    backoff_ = milliseconds(50);
    const Duration margin = world_.mutant == Mutant::no_margin ? Duration(1) : clock_margin;
    tell(authority::TierReady{index_, margin, world_.plan.kill_works});
}

// What is under way is failed by now: nothing of its answers is delivered.
void Tier::act(authority::TierWithdraw&& action) {
    serving_.reset();
    const bool is_late = world_.mutant == Mutant::late_replies;
    for (Pending& pending : pending_) {
        if (!pending.request || pending.is_withdrawn) continue;
        pending.is_withdrawn = true;
        if (!is_late) fail(*pending.request, core::Failure::in_doubt, action.reason);
    }
    std::deque<Request> unsent = std::move(outbox_);
    outbox_.clear();
    for (const Request& request : unsent) fail(request, core::Failure::unsent, action.reason);
}

// ---- operations and probes -------------------------------------------------------------------

Guard Tier::guard(const core::Operation* operation) const {
    Guard guard{serving_->epoch, serving_->nonce, serving_->counter_seen, std::nullopt, {}};
    if (operation == nullptr || !checks_clock_) return guard;
    guard.expected = clock_.expected(now());
    if (world_.mutant == Mutant::clock_not_slewed) {
        guard.expected =
            authority::StoreMs{to_ms(now().time_since_epoch() + *serving_->first_clock)};
    }
    const LockKey* const key = key_of(*operation);
    const bool is_strict = key != nullptr && key->resource == ResourceName("s");
    guard.window = is_strict ? window_strict : window_available;
    return guard;
}

void Tier::submit(core::OperationId id, core::Operation&& operation) {
    Request request{id, std::move(operation), now(), false};
    if (!serving_ || !serving_->is_ready || !connection_) {
        return fail(request, core::Failure::unsent, "no connection");
    }
    if (world_.mutant == Mutant::undo_forgotten &&
        std::holds_alternative<core::Undo>(request.operation)) {
        return member_.feed(core::StoreReplied{id, {}});
    }
    if (world_.mutant == Mutant::answer_lost && world_.random.chance(2)) return;
    if (world_.mutant == Mutant::step_out_forgotten &&
        std::holds_alternative<core::StepOut>(request.operation)) {
        return member_.feed(core::StoreReplied{id, {}});
    }
    auto* const release = std::get_if<core::Release>(&request.operation);
    if (world_.mutant == Mutant::never_yields && release != nullptr) release->yields = false;
    outbox_.push_back(std::move(request));
    member_.flush_later();
}

void Tier::flush() {
    std::deque<Request> out = std::move(outbox_);
    outbox_.clear();
    for (Request& request : out) send(std::move(request));
}

void Tier::send(Request&& request) {
    if (!connection_ || !serving_) return fail(request, core::Failure::unsent, "no connection");
    Call call = Guarded{guard(&request.operation), request.operation};
    send(Kind::operation, std::move(call)).request = std::move(request);
}

void Tier::answered(Request&& request, Said&& said, Time sent) {
    if (std::holds_alternative<Stale>(said)) {
        fail(request, core::Failure::stale, "stale");
        return tell(authority::TierDoubted{index_});
    }
    if (std::holds_alternative<ClockOff>(said)) {
        ++world_.clock_refusals;
        if (serving_ && !request.clock_refused) {
            request.clock_refused = true;
            return send(std::move(request));
        }
        return fail(request, core::Failure::clock, "the store's clock is off");
    }
    auto& reply = std::get<core::OperationReply>(said);
    for (const core::Reply* part : {&reply.reply, reply.then ? &*reply.then : nullptr}) {
        if (part == nullptr || !part->record || !serving_) continue;
        if (epoch_of(part->record->fence) != serving_->epoch) continue;
        serving_->counter_seen = std::max(serving_->counter_seen, counter_of(part->record->fence));
    }
    if (world_.mutant == Mutant::lease_from_reply && reply.reply.record) {
        reply.reply.record->left += now() - sent;
    }
    if (world_.mutant == Mutant::clock_read_twice && reply.reply.record) {
        reply.reply.record->left += sent - request.submitted;
    }
    const bool was_busy = reply.reply.status == core::Status::held;
    member_.feed(core::StoreReplied{request.id, std::move(reply)});
    if (world_.mutant == Mutant::busy_is_failure && was_busy) {
        tell(authority::TierFailed{index_, authority::TierFailed::Evidence::failed, true, "busy"});
    }
}

void Tier::send_probe() {
    probe_at_.reset();
    if (!connection_) return;
    Probe probe;
    if (serving_ && serving_->is_ready) probe.guard = guard(nullptr);
    send(Kind::hello, Hello{});
    send(Kind::probe, std::move(probe));
}

void Tier::probed(const Said& said, Time sent) {
    if (good_run_) ++*good_run_;
    probe_at_ = now() + (good_run_ && *good_run_ < rise ? probe_again : probe_every);
    if (std::holds_alternative<Stale>(said)) {
        if (serving_) tell(authority::TierDoubted{index_});
        return;
    }
    const auto* good = std::get_if<Probed>(&said);
    if (good == nullptr) return;
    tell(authority::TierProbed{index_, sent, now(), good->shown});
    if (!serving_ || !serving_->is_ready) return;
    const auto verdict = clock_.add(sent, now(), good->shown);
    if (world_.mutant == Mutant::offset_rebased &&
        verdict != authority::ClockOffset::Verdict::steady) {
        clock_.rebase();
        (void)clock_.add(sent, now(), good->shown);
    }
    serving_->counter_seen = std::max(serving_->counter_seen, good->counter);
    tell(authority::TierCounter{index_, good->counter});
}

// ---- time ------------------------------------------------------------------------------------

void Tier::on_time() {
    const Time at = now();
    if (connect_at_ && at >= *connect_at_) connect();
    for (Pending& pending : pending_) {
        const Duration waited = at - pending.sent;
        const bool is_probe = pending.kind == Kind::probe;
        if (waited >= (is_probe ? 3 * operation_timeout / 2 : operation_timeout)) {
            lost("no reply in time", authority::TierFailed::Evidence::failed);
            break;
        }
        if (is_probe && !pending.is_failed_probe && waited >= probe_timeout) {
            pending.is_failed_probe = true;
            good_run_ = 0;
            probe_at_ = at + probe_again;
            tell(authority::TierFailed{
                index_, authority::TierFailed::Evidence::failed, true, "a probe timed out"});
        }
    }
    if (probe_at_ && at >= *probe_at_) send_probe();
}

std::optional<Time> Tier::next_deadline() const {
    std::optional<Time> due;
    const auto by = [&due](std::optional<Time> at) {
        if (at && (!due || *at < *due)) due = at;
    };
    by(connect_at_);
    by(probe_at_);
    for (const Pending& pending : pending_) {
        const bool is_probe = pending.kind == Kind::probe;
        by(pending.sent + (is_probe ? 3 * operation_timeout / 2 : operation_timeout));
        if (is_probe && !pending.is_failed_probe) by(pending.sent + probe_timeout);
    }
    return due;
}

bool Tier::has(Phase phase) const noexcept {
    return std::ranges::any_of(pending_, [phase](const Pending& pending) {
        if (!pending.request) return false;
        const core::Operation& operation = pending.request->operation;
        switch (phase) {
            case Phase::lock_in_flight:
                return std::holds_alternative<core::Acquire>(operation);
            case Phase::renew_in_flight:
                return std::holds_alternative<core::Renew>(operation);
            case Phase::unlock_in_flight:
                return std::holds_alternative<core::Release>(operation);
            case Phase::handover_in_flight: {
                const auto* const release = std::get_if<core::Release>(&operation);
                return release != nullptr && release->then.has_value();
            }
            case Phase::idle:
                return true;  // it is not
            case Phase::held:
            case Phase::waiting:
            case Phase::settling:
            case Phase::initialised:
                return false;
        }
        return false;
    });
}

}  // namespace latchd::sim
