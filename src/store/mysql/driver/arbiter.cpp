// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "arbiter.hpp"

#include "../dialect/arbiter.hpp"
#include "migration.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <variant>

// What says that the arbiter is gone: nobody listens, a connection that can't be had or breaks, no
// answer in time, and a server that may not write. Not: row locks, deadlocks, too many connections,
// or this node's own lack of permission.
namespace latchd::store::mysql {

using core::authority::ArbiterAnswered;
using core::authority::ArbiterFailed;
using core::authority::Role;
using telemetry::Level;

namespace {

// A row lock that is waited for in vain says so after a second.
constexpr Duration lock_slack = std::chrono::milliseconds(500);
constexpr std::uint32_t deadlocks_max = 3;
constexpr std::uint64_t packet_slack = 1024;

bool is_evidence(const Error& error) {
    return error.kind == ErrorClass::unsent || error.kind == ErrorClass::unknown ||
           error.kind == ErrorClass::read_only;
}

}  // namespace

std::unique_ptr<Arbiter> make_arbiter(boost::asio::io_context& context,
                                      Options options,
                                      FleetSink& sink,
                                      std::function<Time()> boot_now) {
    return std::make_unique<MysqlArbiter>(context, std::move(options), sink, std::move(boot_now));
}

MysqlArbiter::MysqlArbiter(boost::asio::io_context& context,
                           Options options,
                           FleetSink& sink,
                           std::function<Time()> boot_now)
    : context_(context),
      options_(std::move(options)),
      sink_(sink),
      boot_now_(std::move(boot_now)),
      timer_(context, [this] { on_time(); }),
      backoff_(options_.backoff_min) {}

MysqlArbiter::~MysqlArbiter() { stop(); }

void MysqlArbiter::start() {
    is_running_ = true;
    connect();
}

void MysqlArbiter::stop() {
    is_running_ = false;
    is_ready_ = false;
    timer_.stop();
    connection_.reset();
    calls_.clear();
}

Health MysqlArbiter::health() const {
    const ConnectOptions& server = options_.server;
    Health health;
    health.name = server.name;
    health.type = "mysql";
    health.address = server.path.empty() ? server.host + ":" + std::to_string(server.port)
                                         : "unix:" + server.path;
    health.state = is_ready_ ? "up" : last_error_ == "-" ? "starting" : "down";
    health.last_error = last_error_;
    health.checks_ok = answered_;
    health.checks_failed = failed_;
    health.last_check_usec = static_cast<std::uint64_t>(last_round_trip_.count());
    health.in_flight = calls_.size();
    health.connections = is_ready_ ? 1 : 0;
    return health;
}

void MysqlArbiter::act(core::authority::ArbiterDo&& action) {
    if (!is_running_) return;
    const Duration limit = options_.server.operation_timeout + lock_slack;
    calls_.push_back({std::move(action), now() + limit, {}, 0});
    send_next();
    arm();
}

// ---- the connection --------------------------------------------------------------------------

void MysqlArbiter::connect() {
    connect_at_.reset();
    connection_ = std::make_unique<Connection>(
        context_,
        options_.server,
        Connection::User{.opened = [this](const Session& session) { opened(session); },
                         .closed = [this](const Error& error) { closed(error); }});
    connection_->open();
}

void MysqlArbiter::opened(const Session& session) {
    session_ = session;
    if (session_.identity.role != Role::master) {
        return drop({0, "", "the server is read-only", ErrorClass::read_only, false});
    }
    connection_->query("SHOW GLOBAL STATUS LIKE 'Uptime';SELECT UNIX_TIMESTAMP()",
                       [this](Answer&& answer) { looked(answer); });
}

// Ids start low again after a restart, which is no change of identity: when the process started
// tells them apart, to the second that both numbers are rounded to.
void MysqlArbiter::looked(const Answer& answer) {
    if (answer.error) {
        if (!answer.error->ends_connection()) drop(*answer.error);
        return;  // else closed() follows
    }
    started_s_ =
        answer.sets.at(1).number(0, 0).value_or(0) - answer.sets.at(0).number(0, 1).value_or(0);
    const std::optional<Former> former = std::exchange(former_, std::nullopt);
    if (former && former->run_id == session_.identity.run_id &&
        std::abs(former->started_s - started_s_) <= 1) {
        connection_->query("KILL CONNECTION " + std::to_string(former->connection_id),
                           [](Answer&&) {});
    }
    migrate(*connection_, [this](std::optional<Error> error) { migrated(std::move(error)); });
}

void MysqlArbiter::migrated(std::optional<Error> error) {
    if (error) {
        if (!error->ends_connection()) drop(*error);
        return;  // else closed() follows
    }
    connection_->query(arbiter_begin_statement(options_.cluster), [this](Answer&& answer) {
        if (answer.is_good()) return ready();
        if (!answer.error->ends_connection()) drop(*answer.error);
    });
}

void MysqlArbiter::ready() {
    is_ready_ = true;
    backoff_ = options_.backoff_min;
    if (last_error_ != "-") {
        telemetry::log(
            Level::info, "arbiter.connected", options_.server.name + ": connected again");
    }
    last_error_ = "-";
    send_next();
    arm();
}

void MysqlArbiter::drop(const Error& error) {
    if (connection_) connection_->close();
    closed(error);
}

// The call that was under way is in doubt (answered() left it to this); one that waited for a
// connection can't have this one.
void MysqlArbiter::closed(const Error& error) {
    const std::string reason = describe(error);
    const bool was_ready = std::exchange(is_ready_, false);
    if (is_sent_) {
        former_ = Former{session_.identity.run_id, session_.connection_id, started_s_};
    }
    if (was_ready || reason != last_error_) {
        telemetry::log(Level::warning,
                       "arbiter.connection_lost",
                       options_.server.name + ": " + reason + "; connecting again");
    }
    last_error_ = reason;
    const auto half = static_cast<std::uint64_t>(backoff_.count()) / 2;
    connect_at_ =
        now() + Duration(static_cast<Duration::rep>(half + random_.draw_number() % (half + 1)));
    backoff_ = std::min(backoff_ * 2, options_.backoff_max);
    arm();
    const bool was_sent = std::exchange(is_sent_, false);
    // Those that come meanwhile wait for the next connection.
    std::size_t failing = was_ready ? (was_sent ? 1 : 0) : calls_.size();
    for (; failing > 0 && !calls_.empty(); --failing) fail_front(is_evidence(error), reason);
}

// ---- calls -----------------------------------------------------------------------------------

void MysqlArbiter::send_next() {
    if (!is_ready_ || is_sent_ || calls_.empty()) return;
    send();
}

void MysqlArbiter::send() {
    Call& call = calls_.front();
    const std::string& process = call.wanted.process;
    if (!process.empty() && process != session_.identity.run_id) {
        return fail_front(false, "another process is the arbiter by now");
    }
    std::string text = arbiter_statements(options_.cluster, call.wanted.call);
    if (session_.packet_max != 0 && text.size() + packet_slack > session_.packet_max) {
        return fail_front(false,
                          "a call of " + std::to_string(text.size()) +
                              " bytes is over the server's max_allowed_packet");
    }
    is_sent_ = true;
    call.sent = now();
    connection_->query(
        std::move(text),
        [this](Answer&& answer) { answered(std::move(answer)); },
        std::max(call.due - call.sent, Duration(std::chrono::milliseconds(1))));
}

void MysqlArbiter::answered(Answer&& answer) {
    if (answer.error) return refused(*answer.error);
    Call& call = calls_.front();
    auto read = read_arbiter(call.wanted.call, answer.sets);
    is_sent_ = false;
    if (const auto* damage = std::get_if<std::string>(&read)) return fail_front(false, *damage);
    auto& view = std::get<ArbiterView>(read);
    if (view.is_read_only) {
        is_sent_ = true;  // fails with the connection
        return drop({0, "", "the server is read-only", ErrorClass::read_only, false});
    }
    ArbiterAnswered event;
    event.id = call.wanted.id;
    event.sent = call.sent;
    event.received = now();
    event.reply = std::move(view.reply);
    event.reply.view.arbiter = session_.identity;
    ++answered_;
    last_round_trip_ = event.received - event.sent;
    finish(std::move(event));
}

void MysqlArbiter::refused(const Error& error) {
    if (error.ends_connection()) return;  // closed() follows
    Call& call = calls_.front();
    is_sent_ = false;
    if (error.kind == ErrorClass::deadlock && ++call.deadlocks <= deadlocks_max &&
        now() < call.due) {
        return send();
    }
    fail_front(false, describe(error));
}

void MysqlArbiter::fail_front(bool is_down, const std::string& text) {
    ++failed_;
    last_error_ = text;
    finish(ArbiterFailed{calls_.front().wanted.id, is_down, text});
}

void MysqlArbiter::finish(core::authority::FleetEvent&& event) {
    calls_.pop_front();
    send_next();
    sink_.happened(std::move(event));
}

// ---- time ------------------------------------------------------------------------------------

// A call under way has its limit in the connection.
void MysqlArbiter::on_time() {
    if (!is_running_) return;
    const Time at = now();
    if (connect_at_ && at >= *connect_at_) connect();
    while (!is_sent_ && !calls_.empty() && at >= calls_.front().due) {
        fail_front(true, last_error_ == "-" ? "no connection in time" : last_error_);
    }
    arm();
}

void MysqlArbiter::arm() {
    if (!is_running_) return;
    std::optional<Time> due = connect_at_;
    if (!calls_.empty() && !is_sent_ && (!due || calls_.front().due < *due)) {
        due = calls_.front().due;
    }
    if (due) timer_.arm(now(), due);
}

}  // namespace latchd::store::mysql
