// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "arbiter.hpp"

#include "../dialect/arbiter.hpp"
#include "access.hpp"

#include <latchd/resp/command_writer.hpp>
#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>
#include <variant>

// What says that the arbiter is gone: a refused or broken connection, no answer in time, a process
// that is loading, and a replica where a master should be. Not: a server that refuses to write, or
// this node's own lack of permission.
namespace latchd::store::redis {

using core::authority::ArbiterAnswered;
using core::authority::ArbiterFailed;
using core::authority::Role;
using telemetry::Level;

std::unique_ptr<Arbiter> make_arbiter(boost::asio::io_context& context,
                                      Options options,
                                      FleetSink& sink,
                                      std::function<Time()> boot_now) {
    return std::make_unique<RedisArbiter>(context, std::move(options), sink, std::move(boot_now));
}

RedisArbiter::RedisArbiter(boost::asio::io_context& context,
                           Options options,
                           FleetSink& sink,
                           std::function<Time()> boot_now)
    : context_(context),
      options_(std::move(options)),
      sink_(sink),
      boot_now_(std::move(boot_now)),
      keys_(options_.cluster),
      timer_(context, [this] { on_time(); }),
      backoff_(options_.backoff_min, options_.backoff_max) {}

RedisArbiter::~RedisArbiter() { stop(); }

void RedisArbiter::start() {
    is_running_ = true;
    connect();
}

void RedisArbiter::stop() {
    is_running_ = false;
    is_ready_ = false;
    timer_.stop();
    if (link_) link_->close();
    link_.reset();
    calls_.clear();
}

Health RedisArbiter::health() const {
    Health health;
    health.name = options_.name;
    health.type = "redis";
    health.address = options_.path.empty() ? options_.host + ":" + std::to_string(options_.port)
                                           : "unix:" + options_.path;
    health.state = is_ready_ ? "up" : last_error_ == "-" ? "starting" : "down";
    health.last_error = last_error_;
    health.checks_ok = answered_;
    health.checks_failed = failed_;
    health.last_check_usec = static_cast<std::uint64_t>(last_round_trip_.count());
    health.in_flight = calls_.size();
    health.connections = is_ready_ ? 1 : 0;
    return health;
}

void RedisArbiter::act(core::authority::ArbiterDo&& action) {
    if (!is_running_) return;
    calls_.push_back({std::move(action), now() + options_.operation_timeout, {}});
    send_next();
    arm();
}

// ---- the connection --------------------------------------------------------------------------

void RedisArbiter::connect() {
    connect_at_.reset();
    link_ = std::make_shared<Link>(context_, options_, static_cast<Link::User&>(*this));
    link_->open();
    arm();
}

void RedisArbiter::expect(Kind kind) {
    expected_.push_back(kind);
    link_->flush_soon();
}

void RedisArbiter::link_opened() {
    greeted_at_ = now();
    std::string& out = link_->out();
    for (std::size_t left = link_->append_login(); left > 0; --left) expect(Kind::greeting);
    resp::append_command(out, {"CLIENT", "SETNAME", "latchd:arbiter"});
    expect(Kind::wish);
    resp::append_command(out, {"CLIENT", "ID"});
    expect(Kind::client_id);
    ask_identity();
    arm();
}

void RedisArbiter::ask_identity() {
    const std::size_t parts = append_identity(link_->out());
    for (std::size_t i = 1; i < parts; ++i) expect(Kind::identity);
    expect(Kind::identity_end);
}

void RedisArbiter::link_replied(resp::Value&& value) {
    if (expected_.empty()) return drop("a reply that nobody asked for: " + value.string);
    const Kind kind = expected_.front();
    expected_.pop_front();
    const bool is_error = value.is(resp::Value::Type::error);
    switch (kind) {
        case Kind::wish:
            return;
        case Kind::greeting:
            if (is_error) drop(with_missing_rule(value.string, user()));
            return;
        case Kind::client_id:
            client_id_ = value.integer;  // 0 if it was refused
            return;
        case Kind::identity:
        case Kind::identity_end:
            if (is_error) return drop(with_missing_rule(value.string, user()));
            identity_text_ += value.string + "\r\n";
            if (kind == Kind::identity_end) identified();
            return;
        case Kind::call:
            return answered(value);
    }
}

void RedisArbiter::identified() {
    std::optional<ServerInfo> server = read_identity(std::exchange(identity_text_, {}));
    if (!server) return drop("INFO shows no run id, role or replication id");
    if (!server->mode.empty() && server->mode != "standalone") {
        return drop("the server runs in mode " + server->mode +
                    ", the arbiter has to be standalone");
    }
    if (server->identity.role != Role::master) return drop("the server is a replica");
    server_ = std::move(*server);
    if (is_ready_) return;
    kill_former();
    is_ready_ = true;
    backoff_.reset();
    if (last_error_ != "-") {
        telemetry::log(Level::info, "arbiter.connected", options_.name + ": connected again");
    }
    last_error_ = "-";
    send_next();
}

// Redis executes a connection's commands in order: what follows a CLIENT KILL comes after the last
// command of the connection that it ended. Ids start low again after a restart, so only those of
// this very process are killed.
void RedisArbiter::kill_former() {
    for (const Former& former : std::exchange(former_, {})) {
        if (former.run_id != server_.identity.run_id) continue;
        const std::string id = std::to_string(former.client_id);
        resp::append_command(link_->out(), {"CLIENT", "KILL", "ID", id, "USER", user()});
        expect(Kind::wish);
    }
}

void RedisArbiter::link_closed(const std::string& reason, bool) { lost(reason); }

void RedisArbiter::drop(const std::string& reason) {
    if (!link_) return;
    link_->close();
    lost(reason);
}

// The call that was under way is in doubt; one that waited for a connection can't have this one.
void RedisArbiter::lost(const std::string& reason) {
    const bool was_ready = std::exchange(is_ready_, false);
    if (is_sent_ && client_id_ != 0) former_.push_back({server_.identity.run_id, client_id_});
    if (was_ready || reason != last_error_) {
        telemetry::log(Level::warning,
                       "arbiter.connection_lost",
                       options_.name + ": " + reason + "; connecting again");
    }
    last_error_ = reason;
    link_.reset();
    expected_.clear();
    identity_text_.clear();
    client_id_ = 0;
    connect_at_ = now() + backoff_.next(random_.draw_number());
    arm();
    const bool was_sent = std::exchange(is_sent_, false);
    // Those that come meanwhile wait for the next connection.
    std::size_t failing = was_ready ? (was_sent ? 1 : 0) : calls_.size();
    for (; failing > 0 && !calls_.empty(); --failing) fail_front(true, reason);
}

// ---- calls -----------------------------------------------------------------------------------

void RedisArbiter::send_next() {
    if (!is_ready_ || is_sent_ || calls_.empty()) return;
    send(calls_.front(), false);
}

void RedisArbiter::send(Call& call, bool whole_text) {
    const std::string& process = call.wanted.process;
    if (!process.empty() && process != server_.identity.run_id) {
        is_sent_ = false;
        return fail_front(false, "another process is the arbiter by now");
    }
    is_sent_ = true;
    is_whole_ = whole_text;
    call.sent = now();
    ask_identity();
    append_arbiter_call(
        link_->out(), keys_, whole_text ? Sending::text : Sending::digest, call.wanted.call);
    expect(Kind::call);
}

void RedisArbiter::answered(const resp::Value& value) {
    Call& call = calls_.front();
    auto answer = read_arbiter_reply(call.wanted.call, value);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) return refused(*refusal);
    ArbiterAnswered event;
    event.id = call.wanted.id;
    event.sent = call.sent;
    event.received = now();
    event.reply = std::move(std::get<core::authority::ArbiterReply>(answer));
    event.reply.view.arbiter = server_.identity;
    ++answered_;
    last_round_trip_ = event.received - event.sent;
    is_sent_ = false;
    finish(std::move(event));
}

void RedisArbiter::refused(const Refusal& refusal) {
    if (refusal.cause == Cause::script_missing && !is_whole_) return send(calls_.front(), true);
    const std::string text = with_missing_rule(refusal.text, user());
    if (refusal.cause == Cause::role) return drop(text);
    is_sent_ = false;
    fail_front(refusal.cause == Cause::loading, text);
}

void RedisArbiter::fail_front(bool is_down, const std::string& text) {
    ++failed_;
    last_error_ = text;
    finish(ArbiterFailed{calls_.front().wanted.id, is_down, text});
}

void RedisArbiter::finish(core::authority::FleetEvent&& event) {
    calls_.pop_front();
    send_next();
    sink_.happened(std::move(event));
}

// ---- time ------------------------------------------------------------------------------------

void RedisArbiter::on_time() {
    if (!is_running_) return;
    const Time at = now();
    if (connect_at_ && at >= *connect_at_) connect();
    const bool is_greeting = link_ && !is_ready_ && !expected_.empty();
    const bool is_late = is_sent_ ? at >= calls_.front().due
                                  : is_greeting && at - greeted_at_ >= options_.operation_timeout;
    if (is_late) {
        drop("no reply within " + std::to_string(to_ms(options_.operation_timeout)) + " ms");
    }
    while (!is_sent_ && !calls_.empty() && at >= calls_.front().due) {
        fail_front(true, last_error_ == "-" ? "no connection in time" : last_error_);
    }
    arm();
}

void RedisArbiter::arm() {
    if (!is_running_) return;
    std::optional<Time> due = connect_at_;
    const auto consider = [&due](Time when) {
        if (!due || when < *due) due = when;
    };
    if (!calls_.empty()) consider(calls_.front().due);
    if (link_ && !is_ready_ && !expected_.empty()) {
        consider(greeted_at_ + options_.operation_timeout);
    }
    if (due) timer_.arm(now(), due);
}

}  // namespace latchd::store::redis
