// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "access.hpp"
#include "driver.hpp"

#include <latchd/resp/command_writer.hpp>
#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <variant>

// Health by write probes, the store's clock, and the sweep. A probe asks the identity first, then
// writes through the same checks as a LOCK. A late probe is a failed one, but only `fall` of them
// in a row end the connection: a slow server is not a dead one.
namespace latchd::store::redis {

using telemetry::Level;

namespace {

constexpr Duration sweep_pause = std::chrono::milliseconds(10);
constexpr Duration sweep_retry = std::chrono::seconds(1);
constexpr std::uint32_t sweep_batch = 500;
constexpr Duration message_pause = std::chrono::minutes(1);

std::optional<std::uint64_t> info_number(std::string_view info, std::string_view field) {
    const auto at = info.find(field);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view digits = info.substr(at + field.size());
    std::uint64_t number = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (result.ec != std::errc()) return std::nullopt;
    return number;
}

}  // namespace

void Driver::send_probe() {
    probe_at_.reset();
    if (!is_identified()) return;
    ask_identity(true);
    authority_.probing();
    std::string& out = this->out();
    if (policy_warned_) {
        resp::append_command(out, {"INFO", "stats"});
        expect(Kind::eviction).is_patient = true;
    }
    // Scripts pass over a PUBLISH that is forbidden, so that it costs no lock: here it is noticed.
    if (!messages_unsent_.empty() || now() >= try_message_at_) {
        try_message_at_ = now() + message_pause;
        resp::append_command(out, {"PUBLISH", keys_.node_channel(NodeName()), ""});
        expect(Kind::message).is_patient = true;
    }
    if (is_serving_) {
        append_probe(out, target());
    } else {
        append_plain_write(out, keys_);
        expect(Kind::probe_write).is_patient = true;
        append_plain_time(out);
    }
    Pending& pending = expect(Kind::probe);
    pending.is_patient = true;
    pending.is_guarded = is_serving_;
    pending.number = ++probe_number_;
    probe_awaited_ = probe_number_;
    probe_sent_ = pending.sent;
}

void Driver::probe_answered(const Pending& pending, const resp::Value& value) {
    const bool is_awaited = pending.number == probe_awaited_;
    if (is_awaited) {
        probe_awaited_ = 0;
        probe_at_ = now() + authority_.probe_interval();
    }
    late_probes_ = 0;
    const bool is_of_epoch = is_serving_ && pending.load >= epoch_serial_;
    if (pending.is_guarded && !is_of_epoch) return;
    auto answer = pending.is_guarded ? read_probe(value) : read_plain_time(value);
    if (!pending.is_guarded && write_refused_) answer = *std::exchange(write_refused_, {});
    if (auto* refusal = std::get_if<Refusal>(&answer)) {
        return probe_refused(pending, *refusal, is_awaited);
    }
    const auto& probed = std::get<Probed>(answer);
    measure(pending, probed.server_ms);
    ProbeSeen seen{pending.sent, now(), core::authority::StoreMs{probed.server_ms}, std::nullopt};
    if (pending.is_guarded) {
        counter_seen_ = std::max(counter_seen_, probed.counter);
        seen.counter = probed.counter;
        resend_clock_refused();
    }
    if (is_awaited && (is_serving_ || !pending.is_guarded)) {
        ++checks_ok_;
        is_probed_ = true;
        if (pending.is_guarded) try_open();
    }
    authority_.probed(seen);
    if (is_awaited && probe_at_) probe_at_ = now() + authority_.probe_interval();
}

void Driver::probe_refused(const Pending& pending, const Refusal& refusal, bool is_awaited) {
    switch (refusal.cause) {
        case Cause::marker:
            return authority_.doubted(Doubt::stale);
        case Cause::script_missing:
            if (pending.load != load_serial_) return;  // loaded meanwhile
            return authority_.doubted(Doubt::unknown_script);
        case Cause::role:
        case Cause::loading:
            return drop(refusal.text);
        default:
            if (!is_awaited) return;
            const std::string reason = with_missing_rule(refusal.text, user());
            if (refusal.cause == Cause::access && std::exchange(denial_told_, reason) != reason) {
                telemetry::log(Level::error, "store.no_permission", options_.name + ": " + reason);
            }
            probe_failed(reason, evidence_of(refusal.cause), false);
    }
}

void Driver::measure(const Pending& pending, std::int64_t server_ms) {
    using Verdict = core::authority::ClockOffset::Verdict;
    const Time received = now();
    last_round_trip_ = received - pending.sent;
    const auto verdict = clock_.add(pending.sent, received, core::authority::StoreMs{server_ms});
    if (verdict != Verdict::steady) {
        const std::string off = std::to_string(to_ms(clock_.last_deviation()));
        telemetry::log(Level::warning,
                       "store.clock",
                       options_.name + ": the server's clock is off by " + off + " ms");
    }
    if (clock_.is_too_far() && !far_warned_) {
        telemetry::log(Level::warning,
                       "store.far",
                       options_.name +
                           ": every round trip takes more than 100 ms; the server's "
                           "clock goes unchecked");
    }
    far_warned_ = clock_.is_too_far();
}

void Driver::probe_timed_out() {
    probe_awaited_ = 0;
    ++late_probes_;
    probe_failed(
        "no answer to a probe within " + std::to_string(to_ms(options_.check.timeout)) + " ms",
        Evidence::failed,
        true);
}

void Driver::probe_failed(const std::string& reason, Evidence evidence, bool is_late) {
    last_error_ = reason;
    ++checks_failed_;
    probe_at_ = now() + authority_.probe_interval();
    if (is_late && late_probes_ >= options_.check.fall) return drop(reason, evidence);
    authority_.probe_failed(reason, evidence);
}

std::string Driver::warning() const {
    std::string text;
    if (policy_warned_) {
        text = "maxmemory-policy " + server_.maxmemory_policy + " may drop locks";
        if (evicted_ != 0) text += ", " + std::to_string(evicted_) + " keys evicted";
    }
    const auto add = [&text](const std::string& more) {
        text += (text.empty() ? "" : "; ") + more;
    };
    if (const std::string more = subscriber_.warning(); !more.empty()) add(more);
    if (const std::string more = unsent_warning(); !more.empty()) add(more);
    if (const std::string more = kill_warning(); !more.empty()) add(more);
    if (now() < denied_until_) add("operations are refused: " + denied_);
    if (far_warned_) add("round trips over 100 ms, the clock goes unchecked");
    if (const std::string& why = replicas_.refusal(); !why.empty()) {
        add("until latchd connects anew no write waits for replicas: " + why);
    } else if (replicas_.unconfirmed() != 0) {
        add(std::to_string(replicas_.unconfirmed()) + " writes without the word of " +
            std::to_string(replicas_.wanted()) +
            (replicas_.are_missing() ? " replicas, which are missing" : " replicas"));
    }
    return text;
}

void Driver::message_sent(const resp::Value& value) {
    if (!value.is(resp::Value::Type::error)) return messages_unsent_.clear();
    const bool is_refused =
        value.string.starts_with("NOPERM") || value.string.starts_with("ERR unknown command");
    if (!is_refused) return;  // of the moment, and probes say so
    const std::string reason = with_missing_rule(value.string, user());
    if (std::exchange(messages_unsent_, reason) == reason) return;
    telemetry::log(
        Level::warning, "store.messages_unsent", options_.name + ": " + unsent_warning());
}

std::string Driver::unsent_warning() const {
    if (messages_unsent_.empty()) return {};
    return "no messages reach other nodes, whose waiters look every now and then instead: " +
           messages_unsent_;
}

void Driver::eviction_shown(const resp::Value& value) {
    const auto shown = info_number(value.string, "evicted_keys:");
    if (!shown) return;
    if (evicted_shown_ && *shown > *evicted_shown_) {
        const std::uint64_t more = *shown - *evicted_shown_;
        evicted_ += more;
        telemetry::log(Level::warning,
                       "store.evicted",
                       options_.name + ": the server evicted " + std::to_string(more) +
                           " keys; locks may be among them");
    }
    evicted_shown_ = shown;
}

// ---- sweep -----------------------------------------------------------------------------------

// In the background, by the node that opened the epoch. Void values are harmless and end by their
// ttl; this only gives the memory back earlier.
void Driver::sweep_on() {
    if (!is_open_ || !link_ || reloading_) return;
    core::List page;
    page.count = sweep_batch;
    page.cursor = sweep_cursor_;
    append_scan(out(), keys_, page);
    expect(Kind::sweep_scan).is_patient = true;
    sweep_awaited_ = true;
}

void Driver::sweep_scanned(const resp::Value& value) {
    auto page = read_scan(value);
    if (const auto* refusal = std::get_if<Refusal>(&page)) return sweep_paused(*refusal);
    const auto& found = std::get<ScanPage>(page);
    sweep_cursor_ = found.cursor;
    if (!is_open_) {
        sweep_awaited_ = false;
        return;
    }
    append_sweep(out(), target(), found.redis_keys);
    expect(Kind::sweep).is_patient = true;
}

void Driver::swept(const resp::Value& value) {
    auto answer = read_sweep(value);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) return sweep_paused(*refusal);
    sweep_awaited_ = false;
    sweep_at_ = now() + sweep_pause;
    sweep_count_ += std::get<std::uint64_t>(answer);
    if (sweep_cursor_ != 0) return;
    is_sweeping_ = false;
    telemetry::log(Level::info,
                   "store.swept",
                   options_.name + ": " + std::to_string(sweep_count_) +
                       " void locks of former epochs are gone");
}

void Driver::sweep_paused(const Refusal& refusal) {
    telemetry::log(Level::debug, "store.sweep_paused", options_.name + ": " + refusal.text);
    sweep_awaited_ = false;
    sweep_at_ = now() + sweep_retry;
}

}  // namespace latchd::store::redis
