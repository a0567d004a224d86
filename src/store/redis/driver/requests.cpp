// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "access.hpp"
#include "driver.hpp"

#include <latchd/resp/command_writer.hpp>
#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>
#include <variant>

// Operations. Two refusals never reach the node because they say nothing about locks and nothing
// was executed: NOSCRIPT (the script cache was flushed: identity, then load, then again) and CLOCK
// (once: again with a fresh reading). While scripts are being loaded everything is held back, and
// what was refused comes first: replies come in order, so by the time the identity is confirmed
// all that was sent before is answered, and the order of submission stays.
namespace latchd::store::redis {

namespace {

// Of what a stepped clock may cost, strict resources get the smaller share (design section 5,
// rule 9).
constexpr Duration strict_window = std::chrono::milliseconds(200);
constexpr std::uint8_t reloads_max = 3;  // for one operation: somebody flushes all the time
// WAIT holds up what comes behind it on the connection: far below what makes that late.
constexpr int waits_per_timeout = 5;
// Far more does not make one cheaper, and holds up others at Redis.
constexpr std::size_t many_max = 64;
constexpr Duration denied_for = std::chrono::minutes(1);

bool is_write(const core::Operation& operation) {
    return !std::holds_alternative<core::Inspect>(operation) &&
           !std::holds_alternative<core::List>(operation);
}

struct IsStrict {
    bool operator()(const core::Acquire& acquire) const { return acquire.strict; }
    bool operator()(const core::Renew& renew) const { return renew.strict; }
    bool operator()(const core::Restore& restore) const { return restore.strict; }
    bool operator()(const core::Release& release) const {
        return release.then && release.then->strict;
    }
    template <class Operation>
    bool operator()(const Operation&) const {
        return false;
    }
};

}  // namespace

void Driver::submit(core::OperationId id, core::Operation&& operation) {
    if (!is_running_) return;
    auto request = std::make_unique<Request>();
    request->id = id;
    request->operation = std::move(operation);
    request->submitted = now();
    ++in_flight_;
    if (!is_open_ || !link_) return fail(*request, core::Failure::unsent, last_error_);
    if (in_flight_ > options_.in_flight_max) {
        return fail(
            *request,
            core::Failure::refused,
            "more than " + std::to_string(options_.in_flight_max) + " operations are in flight");
    }
    if (reloading_) {
        held_.push_back(std::move(request));
        return arm();
    }
    const bool was_idle = pending_.empty();
    send(std::move(request));
    if (was_idle && !pending_.empty()) arm();
}

Guard Driver::guard(bool is_strict) {
    Guard guard;
    guard.counter_seen = counter_seen_;
    if (const auto expected = clock_.expected(now())) {
        guard.expected_ms = static_cast<std::int64_t>(*expected);
    }
    guard.window =
        is_strict ? std::min(strict_window, options_.clock_window) : options_.clock_window;
    return guard;
}

void Driver::send(std::unique_ptr<Request> request) {
    if (is_write(request->operation)) replicas_.written(now());
    if (!request->goes_alone && fits_many(request->operation)) {
        gathered_.push_back(std::move(request));
        if (gathered_.size() == many_max) append_gathered();
        return link_->flush_soon();
    }
    Kind kind = Kind::operation;
    if (const auto* list = std::get_if<core::List>(&request->operation)) {
        kind = Kind::scan;
        append_scan(out(), keys_, *list);
    } else {
        const bool is_strict = std::visit(IsStrict{}, request->operation);
        append_operation(out(), target(is_strict), request->operation);
    }
    expect(kind).request = std::move(request);
}

void Driver::append_gathered() {
    if (gathered_.empty()) return;
    const bool was_idle = pending_.empty();
    auto requests = std::move(gathered_);
    gathered_.clear();
    std::vector<const core::Operation*> operations;
    bool is_strict = false;
    for (const auto& request : requests) {
        operations.push_back(&request->operation);
        is_strict |= std::visit(IsStrict{}, request->operation);
    }
    if (requests.size() == 1) {
        append_operation(link_->out(), target(is_strict), *operations.front());
        expect(Kind::operation).request = std::move(requests.front());
    } else {
        append_many(link_->out(), target(is_strict), operations);
        leaving_ += requests.size() - 1;
        expect(Kind::many).many = std::move(requests);
    }
    if (was_idle) arm();
}

void Driver::link_flushing() {
    append_gathered();
    if (replicas_.begin()) {
        const Duration limit = options_.operation_timeout / waits_per_timeout;
        resp::append_command(
            link_->out(),
            {"WAIT", std::to_string(replicas_.wanted()), std::to_string(to_ms(limit))});
        expect(Kind::wait);
    }
    batches_.add(std::exchange(leaving_, 0));
}

void Driver::waited(const Pending& pending, const resp::Value& value) {
    const bool is_known = value.is(resp::Value::Type::integer);
    const bool were_missing = replicas_.are_missing();
    if (is_known && value.integer >= replicas_.wanted()) {
        hand_out(replicas_.confirmed(pending.end));
        if (were_missing) {
            telemetry::log(telemetry::Level::info,
                           "store.replicas_confirm",
                           options_.name + ": replicas confirm writes again");
        }
    } else {
        const std::string refusal =
            is_known ? std::string() : with_missing_rule(value.string, user());
        hand_out(replicas_.missed(now(), refusal));
        if (!were_missing) {
            telemetry::log(telemetry::Level::warning,
                           "store.replicas_missing",
                           options_.name + ": " +
                               (is_known ? std::to_string(value.integer) + " replicas of " +
                                               std::to_string(replicas_.wanted()) +
                                               " confirm writes; locks are granted all the same"
                                         : refusal));
        }
    }
    if (link_ && replicas_.is_due()) link_->flush_soon();
}

void Driver::answered(Pending&& pending, const resp::Value& value) {
    Request& request = *pending.request;
    const auto* list = std::get_if<core::List>(&request.operation);
    Answer answer = list ? read_list(keys_, request.redis_keys, list->pattern, value)
                         : read_operation(request.operation, value);
    if (auto* refusal = std::get_if<Refusal>(&answer)) {
        return refused(std::move(pending), std::move(*refusal));
    }
    auto& good = std::get<Answered>(answer);
    if (list) good.reply.cursor = request.cursor;
    deliver(pending, std::move(good));
}

// Of many that are refused together each goes again by itself: what one may not do, or when its
// clock is wrong, says nothing of the others.
void Driver::many_answered(Pending&& pending, const resp::Value& value) {
    std::vector<const core::Operation*> operations;
    for (const auto& request : pending.many) operations.push_back(&request->operation);
    auto read = read_many(operations, value);
    const auto* const refusal = std::get_if<Refusal>(&read);
    const bool is_current = is_serving_ && pending.load >= epoch_serial_;
    const bool go_alone =
        refusal != nullptr && refusal->failure != core::Failure::in_doubt && is_current;
    const std::uint32_t withdrawals = withdrawals_;
    // Whoever is told may submit more, or end the connection: these are his already.
    for (std::size_t i = 0; i < pending.many.size() && withdrawals == withdrawals_; ++i) {
        Pending one;
        one.load = pending.load;
        one.end = pending.end;
        one.sent = pending.sent;
        one.request = std::move(pending.many[i]);
        if (go_alone) {
            send_alone(std::move(one.request));
        } else if (refusal != nullptr) {
            fail(*one.request, refusal->failure, refusal->text);
        } else {
            auto& answer = std::get<std::vector<Answer>>(read)[i];
            if (auto* const each = std::get_if<Refusal>(&answer)) {
                refused(std::move(one), std::move(*each));
            } else {
                deliver(one, std::move(std::get<Answered>(answer)));
            }
        }
    }
}

void Driver::send_alone(std::unique_ptr<Request> request) {
    request->goes_alone = true;
    if (!is_open_ || !link_) return fail(*request, core::Failure::unsent, last_error_);
    if (reloading_) return hold_before_new(std::move(request));
    send(std::move(request));
}

void Driver::scanned(Pending&& pending, const resp::Value& value) {
    auto page = read_scan(value);
    if (auto* refusal = std::get_if<Refusal>(&page)) {
        return refused(std::move(pending), std::move(*refusal));
    }
    auto& found = std::get<ScanPage>(page);
    auto& request = pending.request;
    request->cursor = found.cursor;
    request->redis_keys = std::move(found.redis_keys);
    if (request->redis_keys.empty()) {
        Answered none;
        none.reply.reply.status = core::Status::listed;
        none.reply.cursor = request->cursor;
        pending.request = std::move(request);
        return deliver(pending, std::move(none));
    }
    if (!is_open_) return fail(*request, core::Failure::unsent, last_error_);
    append_list(out(), target(), request->redis_keys);
    expect(Kind::list).request = std::move(request);
}

void Driver::deliver(const Pending& pending, Answered&& answer) {
    const Request& request = *pending.request;
    const std::uint32_t shown = counter_shown(answer.reply, scripts_.epoch());
    counter_seen_ = std::max(counter_seen_, shown);
    if (is_write(request.operation)) {
        if (replicas_.holds_back()) {
            return replicas_.keep({pending.end, request.id, std::move(answer.reply)});
        }
        if (replicas_.are_missing()) replicas_.passed_unconfirmed();
    }
    hand_out(request.id, std::move(answer.reply));
}

void Driver::hand_out(core::OperationId id, core::OperationReply&& reply) {
    --in_flight_;
    sink_.deliver(core::StoreReplied{id, std::move(reply)});
}

// Whoever is told may submit more, or end the connection: these are his already.
void Driver::hand_out(std::vector<Replicas::Kept>&& kept) {
    for (Replicas::Kept& each : kept) hand_out(each.id, std::move(each.reply));
}

void Driver::fail(const Request& request, core::Failure failure, const std::string& text) {
    --in_flight_;
    sink_.deliver(core::StoreFailed{request.id, failure, text});
}

void Driver::refused(Pending&& pending, Refusal&& refusal) {
    Request& request = *pending.request;
    const bool is_current = is_serving_ && pending.load >= epoch_serial_;
    switch (refusal.cause) {
        case Cause::marker:
            fail(request, core::Failure::stale, refusal.text);
            if (is_current) authority_.doubted(Doubt::stale);
            return;
        case Cause::script_missing:
            if (is_current && is_open_ && request.reloads < reloads_max) {
                return hold(std::move(pending));
            }
            return fail(request, core::Failure::stale, refusal.text);
        case Cause::clock:
            if (is_current && is_open_ && !request.clock_refused) {
                request.clock_refused = true;
                clock_refused_.push_back(std::move(pending.request));
                if (probe_awaited_ == 0) send_probe();
                return;
            }
            return fail(request, core::Failure::clock, refusal.text);
        case Cause::role:
        case Cause::loading:
            fail(request, refusal.failure, refusal.text);
            return drop(refusal.text);
        case Cause::access:
            note_denied(with_missing_rule(refusal.text, user()));
            [[fallthrough]];
        case Cause::unwell:
        case Cause::foreign:
        case Cause::other:
            // No change of process; whether the store is well is the probes' business.
            return fail(request, refusal.failure, with_missing_rule(refusal.text, user()));
    }
}

// A user may have the keys of some resources and not of others, so that health checks can't tell:
// who is refused says it, and what was refused in the last minute is a warning.
void Driver::note_denied(const std::string& reason) {
    const Time at = now();
    if (reason != denied_ || at >= denied_until_) {
        telemetry::log(
            telemetry::Level::error, "store.no_permission", options_.name + ": " + reason);
    }
    denied_ = reason;
    denied_until_ = at + denied_for;
}

void Driver::hold(Pending&& pending) {
    ++pending.request->reloads;
    const bool is_first = !reloading_ && pending.load == load_serial_;
    if (!reloading_ && !is_first) return send(std::move(pending.request));  // loaded meanwhile
    hold_before_new(std::move(pending.request));
    reloading_ = true;
    if (is_first) authority_.doubted(Doubt::unknown_script);
}

// Refused ones come in their order, before anything that was submitted since.
void Driver::hold_before_new(std::unique_ptr<Request> request) {
    const auto at = std::find_if(held_.begin(), held_.end(), [](const auto& each) {
        return each->reloads == 0 && !each->goes_alone;
    });
    held_.insert(at, std::move(request));
}

void Driver::resend_held() {
    reloading_ = false;
    auto held = std::move(held_);
    held_.clear();
    for (auto& request : held) send(std::move(request));
}

void Driver::resend_clock_refused() {
    auto again = std::move(clock_refused_);
    clock_refused_.clear();
    for (auto& request : again) {
        if (is_open_ && !reloading_) {
            send(std::move(request));
        } else {
            fail(*request, core::Failure::clock, "the server's clock is not where it should be");
        }
    }
}

void Driver::fail_held(const std::string& text) {
    reloading_ = false;
    auto gathered = std::move(gathered_);
    auto held = std::move(held_);
    auto again = std::move(clock_refused_);
    gathered_.clear();
    held_.clear();
    clock_refused_.clear();
    for (const auto& request : gathered) fail(*request, core::Failure::unsent, text);
    for (const auto& request : held) fail(*request, core::Failure::unsent, text);
    for (const auto& request : again) fail(*request, core::Failure::unsent, text);
}

}  // namespace latchd::store::redis
