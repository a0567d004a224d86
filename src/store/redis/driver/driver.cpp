// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "driver.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>

// Connections and time. When a connection ends, each operation on it is answered at once: it was
// sent whole and is in doubt, or it can't be executed (a script call that is cut off never runs)
// and is unsent. What is in doubt may still wait in the server's socket: the connection is kept in
// former_ until a later one has killed it there.
namespace latchd::store::redis {

using telemetry::Level;

Driver::Driver(boost::asio::io_context& context,
               Options options,
               std::function<Time()> boot_now,
               Sink& sink,
               Authority& authority)
    : context_(context),
      options_(std::move(options)),
      boot_now_(std::move(boot_now)),
      sink_(sink),
      authority_(authority),
      keys_(options_.cluster),
      timer_(context, [this] { on_time(); }),
      subscriber_(context, options_, boot_now_, keys_, sink),
      backoff_(options_.backoff_min, options_.backoff_max),
      replicas_(options_.wait_replicas) {}

Driver::~Driver() { stop(); }

void Driver::start() {
    is_running_ = true;
    connect();
}

void Driver::stop() {
    is_running_ = false;
    is_open_ = false;
    subscriber_.stop();
    timer_.stop();
    if (link_) link_->close();
    link_.reset();
    pending_.clear();
    ++withdrawals_;
    gathered_.clear();
    held_.clear();
    clock_refused_.clear();
    replicas_.withdraw();
    in_flight_ = 0;
}

std::string Driver::address() const {
    if (!options_.path.empty()) return "unix:" + options_.path;
    const bool is_v6 = options_.host.find(':') != std::string::npos;
    return (is_v6 ? "[" + options_.host + "]" : options_.host) + ":" +
           std::to_string(options_.port);
}

Health Driver::health() const {
    Health health;
    health.name = options_.name;
    health.type = "redis";
    health.address = address();
    health.last_error = last_error_;
    health.checks_ok = checks_ok_;
    health.checks_failed = checks_failed_;
    health.last_check_usec = static_cast<std::uint64_t>(last_round_trip_.count());
    health.in_flight = in_flight_;
    health.connections = (is_connected_ ? 1u : 0u) + (subscriber_.is_listening() ? 1u : 0u);
    health.batches = batches_;
    health.warning = warning();
    return health;
}

// ---- connections -----------------------------------------------------------------------------

void Driver::connect() {
    connect_at_.reset();
    ++connects_;
    leaving_ = 0;
    link_ = std::make_shared<Link>(context_, options_, static_cast<Link::User&>(*this));
    link_->open();
    arm();
}

void Driver::link_opened() {
    is_connected_ = true;
    greet();
    arm();
}

void Driver::link_replied(resp::Value&& value) {
    if (pending_.empty()) return drop("a reply that nobody asked for: " + value.string);
    Pending pending = std::move(pending_.front());
    pending_.pop_front();
    dispatch(std::move(pending), std::move(value));
}

void Driver::link_idle() { arm(); }

void Driver::link_closed(const std::string& reason, bool refused) {
    lost(reason, refused ? Evidence::refused : Evidence::failed);
}

void Driver::drop(const std::string& reason, Evidence evidence) {
    if (!link_) return;
    link_->close();
    lost(reason, evidence);
}

void Driver::lost(const std::string& reason, Evidence evidence) {
    const std::uint64_t sent = link_->sent();
    std::deque<Pending> unanswered = std::move(pending_);
    const bool is_doubtful =
        std::any_of(unanswered.begin(), unanswered.end(), [&](const Pending& pending) {
            const bool may_write = pending.request || !pending.many.empty() ||
                                   pending.kind == Kind::authority ||
                                   pending.kind == Kind::withdrawn;
            return may_write && pending.end <= sent;
        });
    if (is_doubtful && client_id_ != 0) {
        former_.push_back({server_.identity.run_id, client_id_});
    }
    // A server that stays away, or turns the node away, in the same way is one line.
    const bool is_news = is_open_ || is_probed_ || reason != last_error_;
    forget_link();
    last_error_ = reason;
    if (is_news) {
        telemetry::log(Level::warning,
                       "store.connection_lost",
                       options_.name + " (" + address() + "): " + reason + "; connecting again");
    }
    authority_.connection_lost(reason, evidence);
    hand_out(replicas_.ended());
    fail_unanswered(std::move(unanswered), sent);
    fail_held(reason);
    if (!is_running_) return;
    connect_at_ = now() + backoff_.next(random_.draw_number());
    arm();
}

void Driver::went_well() {
    backoff_.reset();
    last_error_ = "-";
}

void Driver::forget_link() {
    link_.reset();
    pending_.clear();
    is_connected_ = false;
    is_identified_ = false;
    identity_text_.clear();
    client_id_ = 0;
    former_.insert(former_.end(), killing_.begin(), killing_.end());
    killing_.clear();
    authority_loaded_ = false;
    loads_awaited_ = 0;
    is_serving_ = false;
    probe_at_.reset();
    probe_awaited_ = 0;
    late_probes_ = 0;
    sweep_awaited_ = false;
    is_probed_ = false;
}

void Driver::fail_unanswered(std::deque<Pending>&& pending, std::uint64_t sent) {
    for (Pending& each : pending) {
        const bool is_whole = each.end <= sent;
        const core::Failure failure = is_whole ? core::Failure::in_doubt : core::Failure::unsent;
        if (each.request) fail(*each.request, failure, last_error_);
        for (const auto& request : each.many) fail(*request, failure, last_error_);
    }
}

Pending& Driver::expect(Kind kind) {
    Pending& pending = pending_.emplace_back();
    pending.kind = kind;
    pending.load = load_serial_;
    pending.end = link_->appended();
    pending.sent = now();
    ++leaving_;
    link_->flush_soon();
    return pending;
}

void Driver::dispatch(Pending&& pending, resp::Value&& value) {
    switch (pending.kind) {
        case Kind::greeting:
            return greeted(value);
        case Kind::wish:
            return wish_answered(value);
        case Kind::withdrawn:
            return;
        case Kind::client_id:
            client_id_ = value.integer;  // 0 if it was refused
            if (value.is(resp::Value::Type::error)) {
                kill_refused(with_missing_rule(value.string, user()));
            }
            return;
        case Kind::identity:
            return identity_part(pending, value);
        case Kind::kill:
            return killed(value);
        case Kind::load_authority:
        case Kind::load_locks:
            return script_loaded(pending.kind, value);
        case Kind::authority:
            return authority_.answered(value);
        case Kind::probe_write:
            write_refused_.reset();
            if (value.is(resp::Value::Type::error)) write_refused_ = read_error(value.string);
            return;
        case Kind::probe:
            return probe_answered(pending, value);
        case Kind::eviction:
            return eviction_shown(value);
        case Kind::message:
            return message_sent(value);
        case Kind::operation:
        case Kind::list:
            return answered(std::move(pending), value);
        case Kind::many:
            return many_answered(std::move(pending), value);
        case Kind::wait:
            return waited(pending, value);
        case Kind::scan:
            return scanned(std::move(pending), value);
        case Kind::sweep_scan:
            return sweep_scanned(value);
        case Kind::sweep:
            return swept(value);
    }
}

// ---- time ------------------------------------------------------------------------------------

// When the oldest command was sent whose reply can be too late. Probes are told apart because a
// server that is slow for one is not gone; they are few, so this looks at one or two entries.
std::optional<Time> Driver::oldest_sent() const {
    for (const Pending& pending : pending_) {
        if (!pending.is_patient) return pending.sent;
    }
    return std::nullopt;
}

bool Driver::is_late(Time now) const {
    const std::optional<Time> oldest = oldest_sent();
    return oldest && now - *oldest >= options_.operation_timeout;
}

void Driver::on_time() {
    if (!is_running_) return;
    const Time at = now();
    if (connect_at_ && at >= *connect_at_) connect();
    if (link_ && is_connected_ && is_late(at)) {
        drop("no reply within " + std::to_string(to_ms(options_.operation_timeout)) + " ms");
    }
    while (!held_.empty() && at - held_.front()->submitted >= options_.operation_timeout) {
        const auto request = std::move(held_.front());
        held_.pop_front();
        fail(*request, core::Failure::unsent, "scripts are being loaded");
    }
    if (probe_awaited_ != 0 && at - probe_sent_ >= options_.check.timeout) probe_timed_out();
    if (probe_at_ && at >= *probe_at_) send_probe();
    if (is_sweeping_ && !sweep_awaited_ && at >= sweep_at_) sweep_on();
    arm();
}

void Driver::arm() {
    if (!is_running_) return;
    std::optional<Time> due;
    const auto consider = [&due](std::optional<Time> when) {
        if (when && (!due || *when < *due)) due = when;
    };
    consider(connect_at_);
    if (const auto oldest = oldest_sent()) consider(*oldest + options_.operation_timeout);
    if (!held_.empty()) consider(held_.front()->submitted + options_.operation_timeout);
    if (probe_awaited_ != 0) consider(probe_sent_ + options_.check.timeout);
    consider(probe_at_);
    if (is_sweeping_ && !sweep_awaited_ && is_open_) consider(sweep_at_);
    if (due) timer_.arm(now(), due);
}

}  // namespace latchd::store::redis
