// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "link.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Duration operation_timeout = seconds(1);
constexpr Duration probe_every = seconds(1);
constexpr Duration backoff_max = milliseconds(500);
constexpr Duration clock_margin = milliseconds(50);
constexpr std::int64_t wall_start = 1'767'225'600'000;  // 2026-01-01

}  // namespace

Link::Link(World& world, Member& member, authority::Known known, core::NameSource& names)
    : world_(world), member_(member), machine_({}, std::move(known), names) {}

Time Link::now() const { return member_.now(); }

void Link::start() { connect(); }

void Link::connect() {
    connect_at_.reset();
    was_looked_ = false;
    connection_ = world_.redis.connect(member_.index());
    send(Kind::identity, Hello{});
}

void Link::send(Kind kind, Call call, bool is_patient) {
    Pending& pending = pending_.emplace_back();
    pending.kind = kind;
    pending.is_patient = is_patient;
    pending.sent = now();
    world_.redis.send(connection_, std::move(call));
}

void Link::send(Request&& request) {
    send(Kind::operation, Guarded{guard(), request.operation});
    pending_.back().request = std::move(request);
}

Guard Link::guard() const {
    Guard guard{epoch_, nonce_, counter_seen_, std::nullopt};
    if (world_.plan.checks_clock) guard.expected = clock_.expected(now());
    return guard;
}

void Link::submit(core::OperationId id, core::Operation&& operation) {
    Request request{id, std::move(operation), false};
    if (!is_open_ || connection_ == nullptr) {
        return fail(request, core::Failure::unsent, "no connection");
    }
    if (world_.mutant == Mutant::answer_lost && world_.random.chance(2)) return;
    if (world_.mutant == Mutant::undo_forgotten &&
        std::holds_alternative<core::Undo>(request.operation)) {
        return member_.feed(core::StoreReplied{id, {}});
    }
    send(std::move(request));
}

void Link::reset(const ConnectionPtr& connection) {
    if (connection == connection_) lost("reset by peer");
}

void Link::lost(const std::string& reason) {
    std::deque<Pending> unanswered = std::move(pending_);
    pending_.clear();
    std::deque<Request> again = std::move(clock_refused_);
    clock_refused_.clear();
    former_.emplace_back(connection_->run, connection_->id);
    world_.redis.abandon(connection_);
    connection_.reset();
    heard_at_.reset();
    is_serving_ = false;
    probe_at_.reset();
    is_probing_ = false;
    tell(authority::ConnectionLost{reason});
    for (const Pending& pending : unanswered) {
        if (pending.request) fail(*pending.request, core::Failure::in_doubt, reason);
    }
    for (const Request& request : again) fail(request, core::Failure::unsent, reason);
    connect_at_ = now() + world_.random.between(backoff_ / 2, backoff_);
    backoff_ = std::min(backoff_ * 2, backoff_max);
}

void Link::fail(const Request& request, core::Failure failure, const std::string& text) {
    member_.feed(core::StoreFailed{request.id, failure, text});
}

void Link::said(const ConnectionPtr& connection, Said&& said) {
    if (connection != connection_) return;
    Pending pending = std::move(pending_.front());
    pending_.pop_front();
    heard_at_ = now();
    switch (pending.kind) {
        case Kind::identity:
            return tell(authority::Identified{std::get<authority::Identity>(std::move(said))});
        case Kind::kill:
            return former_.clear();
        case Kind::authority:
            return tell(authority::Seen{std::get<authority::Sight>(std::move(said))});
        case Kind::probe:
            return probed(said, pending.sent);
        case Kind::operation:
            return answered(std::move(*pending.request), std::move(said), pending.sent);
    }
}

// ---- the authority ---------------------------------------------------------------------------

void Link::tell(authority::AuthorityEvent&& event) {
    events_.push_back(std::move(event));
    if (is_telling_) return;
    is_telling_ = true;
    while (!events_.empty()) {
        authority::AuthorityEvent next = std::move(events_.front());
        events_.pop_front();
        authority::AuthorityActions actions;
        const authority::WallMs wall{wall_start + to_ms(world_.now().time_since_epoch())};
        machine_.step({now(), wall}, std::move(next), actions);
        for (auto& action : actions) std::visit([this](auto& a) { act(a); }, action);
    }
    is_telling_ = false;
}

void Link::act(authority::LookUp& action) {
    if (connection_ == nullptr) return;
    if (action.with_identity) send(Kind::identity, Hello{});
    if (!std::exchange(was_looked_, true)) {
        KillFormer kill;
        for (const auto& [run, id] : former_) {
            if (run == connection_->run) kill.connections.push_back(id);
        }
        send(Kind::kill, std::move(kill));
    }
    send(Kind::authority, action);
}

void Link::act(authority::Settle& action) {
    if (connection_ != nullptr) send(Kind::authority, std::move(action));
}

void Link::act(authority::Open& action) {
    if (connection_ != nullptr) send(Kind::authority, std::move(action));
}

void Link::act(authority::Serve& action) {
    if (connection_ == nullptr) return;
    is_serving_ = true;
    counter_seen_ = action.same_epoch ? std::max(counter_seen_, action.counter) : action.counter;
    if (!action.same_epoch) clock_.rebase();
    epoch_ = action.record.epoch;
    nonce_ = action.record.nonce;
    if (!is_open_) send_probe();
}

void Link::act(authority::StopServing& action) {
    is_serving_ = false;
    close(action.reason, action.settling);
    std::deque<Request> again = std::move(clock_refused_);
    clock_refused_.clear();
    for (const Request& request : again) fail(request, core::Failure::unsent, action.reason);
}

void Link::act(authority::DropConnection& action) {
    if (connection_ != nullptr) lost(action.reason);
}

void Link::act(authority::SaveKnown& action) { member_.save(action.known); }

void Link::act(core::Notice& action) {
    world_.note(nullptr, 7, [&] { return member_.label() + " authority: " + action.text; });
}

void Link::close(const std::string& reason, bool settling) {
    is_open_ = false;
    member_.feed(core::StoreClosed{reason, settling});
}

// ---- operations and probes -------------------------------------------------------------------

void Link::answered(Request&& request, Said&& said, Time sent) {
    if (std::holds_alternative<Stale>(said)) {
        fail(request, core::Failure::stale, "stale");
        return tell(authority::Doubted{authority::Doubted::Kind::stale});
    }
    if (std::holds_alternative<ClockOff>(said)) {
        if (is_open_ && !request.clock_refused) {
            request.clock_refused = true;
            clock_refused_.push_back(std::move(request));
            if (!is_probing_) send_probe();
            return;
        }
        return fail(request, core::Failure::clock, "the store's clock is off");
    }
    auto& reply = std::get<core::OperationReply>(said);
    for (const core::Reply* part : {&reply.reply, reply.then ? &*reply.then : nullptr}) {
        if (part == nullptr || !part->record || epoch_of(part->record->fence) != epoch_) continue;
        counter_seen_ = std::max(counter_seen_, counter_of(part->record->fence));
    }
    if (world_.mutant == Mutant::lease_from_reply && reply.reply.record) {
        reply.reply.record->left += now() - sent;
    }
    member_.feed(core::StoreReplied{request.id, std::move(reply)});
}

void Link::send_probe() {
    probe_at_.reset();
    if (connection_ == nullptr || !is_serving_) return;
    is_probing_ = true;
    send(Kind::identity, Hello{}, true);
    send(Kind::probe, Probe{guard()}, true);
}

void Link::probed(const Said& said, Time sent) {
    is_probing_ = false;
    if (!is_serving_) return;
    if (std::holds_alternative<Stale>(said)) {
        return tell(authority::Doubted{authority::Doubted::Kind::stale});
    }
    probe_at_ = now() + probe_every;
    const auto* good = std::get_if<Probed>(&said);
    if (good == nullptr) return;  // the clock: once more in a second
    counter_seen_ = std::max(counter_seen_, good->counter);
    if (clock_.add(sent, now(), good->shown) == authority::ClockOffset::Verdict::jumped) {
        tell(authority::ClockJumped{"off"});
    }
    resend_clock_refused();
    if (!is_open_ && is_serving_) {
        is_open_ = true;
        backoff_ = milliseconds(50);
        const bool kills = world_.plan.kill_works;
        member_.feed(core::StoreOpened{"redis", epoch_, true, clock_margin, kills});
    }
    tell(authority::CounterSeen{good->counter});
}

void Link::resend_clock_refused() {
    std::deque<Request> again = std::move(clock_refused_);
    clock_refused_.clear();
    for (Request& request : again) {
        if (is_open_) {
            send(std::move(request));
        } else {
            fail(request, core::Failure::clock, "the store's clock is off");
        }
    }
}

// ---- time ------------------------------------------------------------------------------------

// A late probe is three times as patient as an operation: it ends the connection only when the
// store is silent for about as long as three failed probes take.
void Link::on_time() {
    const Time at = now();
    if (connect_at_ && at >= *connect_at_) connect();
    for (const Pending& pending : pending_) {
        const Duration limit = pending.is_patient ? 3 * operation_timeout / 2 : operation_timeout;
        if (at - pending.sent < limit) continue;
        lost("no reply in time");
        break;
    }
    if (probe_at_ && at >= *probe_at_) send_probe();
    if (const auto due = machine_.next_deadline(); due && at >= *due) tell(authority::TimeCame{});
}

std::optional<Time> Link::next_deadline() const {
    std::optional<Time> due;
    const auto by = [&due](std::optional<Time> at) {
        if (at && (!due || *at < *due)) due = at;
    };
    by(connect_at_);
    for (const Pending& pending : pending_) {
        by(pending.sent + (pending.is_patient ? 3 * operation_timeout / 2 : operation_timeout));
    }
    by(probe_at_);
    by(machine_.next_deadline());
    return due;
}

bool Link::has(Phase phase) const noexcept {
    return std::ranges::any_of(pending_, [phase](const Pending& pending) {
        if (!pending.request) return false;
        const core::Operation& operation = pending.request->operation;
        const auto* release = std::get_if<core::Release>(&operation);
        switch (phase) {
            case Phase::lock_in_flight:
                return std::holds_alternative<core::Acquire>(operation);
            case Phase::renew_in_flight:
                return std::holds_alternative<core::Renew>(operation);
            case Phase::unlock_in_flight:
                return release != nullptr;
            case Phase::handover_in_flight:
                return release != nullptr && release->then.has_value();
            case Phase::held:
            case Phase::waiting:
                return false;
        }
        return false;
    });
}

}  // namespace latchd::sim
