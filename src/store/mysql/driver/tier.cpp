// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "tier.hpp"

#include "migration.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>

// Who is there, how well it is, and serving.
namespace latchd::store::mysql {

namespace authority = core::authority;
using telemetry::Level;

namespace {

// Of what a stepped clock may cost, strict resources get the smaller share (design section 5,
// rule 9): 260 ms go off every lease of theirs that is told.
constexpr Duration strict_window = std::chrono::milliseconds(200);
constexpr Duration former_look = std::chrono::milliseconds(20);
constexpr Duration former_max = std::chrono::seconds(5);  // for a killed connection to go
// Both times are whole seconds of the server.
constexpr Duration uptime_slack = std::chrono::seconds(2);

std::string server_of(const Rows& rows) {
    return std::string(rows.text(0, 2)) + ":" + std::string(rows.text(0, 3)) + ":" +
           std::string(rows.text(0, 4));
}

}  // namespace

std::unique_ptr<Tier> make_tier(boost::asio::io_context& context,
                                Options options,
                                std::function<Time()> boot_now,
                                authority::TierIndex index,
                                Sink& sink,
                                FleetSink& fleet) {
    return std::make_unique<MysqlTier>(
        context, std::move(options), std::move(boot_now), index, sink, fleet);
}

MysqlTier::MysqlTier(boost::asio::io_context& context,
                     Options options,
                     std::function<Time()> boot_now,
                     authority::TierIndex index,
                     Sink& sink,
                     FleetSink& fleet)
    : context_(context),
      options_(std::move(options)),
      boot_now_(std::move(boot_now)),
      index_(index),
      sink_(sink),
      fleet_(fleet),
      timer_(context, [this] { on_time(); }),
      stamps_(names_.draw_number()),
      pool_(context, options_, boot_now_, sink, *this),
      backoff_(options_.backoff_min) {}

MysqlTier::~MysqlTier() { stop(); }

void MysqlTier::start() {
    is_running_ = true;
    connect();
}

void MysqlTier::stop() {
    if (!is_running_) return;
    is_running_ = false;
    served_.reset();
    pool_.close("stopped", true);
    timer_.stop();
    if (connection_) connection_->close();
    connection_.reset();
}

std::string MysqlTier::address() const {
    const ConnectOptions& server = options_.server;
    return server.path.empty() ? server.host + ":" + std::to_string(server.port)
                               : "unix:" + server.path;
}

Health MysqlTier::health() const {
    Health health;
    health.name = options_.server.name;
    health.type = "mysql";
    health.address = address();
    health.state = was_well_ ? "up" : last_error_ == "-" ? "starting" : "down";
    health.last_error = last_error_;
    health.checks_ok = checks_ok_;
    health.checks_failed = checks_failed_;
    health.last_check_usec = static_cast<std::uint64_t>(round_trip_.count());
    health.in_flight = pool_.in_flight();
    health.connections = pool_.connections() + (is_identified_ ? 1 : 0);
    health.epoch = served_ ? served_->epoch : 0;
    health.batches = pool_.batches();
    if (is_identified_ && !session_.is_durable) {
        health.warning = "innodb_flush_log_at_trx_commit is not 1: a crash may lose grants";
    }
    if (const std::string more = pool_.warning(); !more.empty()) {
        health.warning += (health.warning.empty() ? "" : "; ") + more;
    }
    return health;
}

// ---- the connection --------------------------------------------------------------------------

void MysqlTier::connect() {
    connect_at_.reset();
    ++generation_;
    connection_ = std::make_shared<Connection>(
        context_,
        options_.server,
        Connection::User{.opened = [this](const Session& session) { opened(session); },
                         .closed = [this](const Error& error) { closed(error); }});
    connection_->open();
}

void MysqlTier::opened(const Session& session) {
    session_ = session;
    server_seen_.clear();
    if (session.identity.role != authority::Role::master) {
        identify(session);
        return drop({0, "", "the server is read-only", ErrorClass::read_only, false});
    }
    if (is_migrated_) return ready();
    migrate(*connection_, [this, generation = generation_](std::optional<Error> error) {
        if (generation != generation_ || !connection_) return;
        if (error && error->ends_connection()) return;  // closed() follows
        if (error) {
            error->text = "the schema can't be brought up to date: " + error->text;
            return drop(*error);
        }
        is_migrated_ = true;
        ready();
    });
}

void MysqlTier::ready() {
    is_identified_ = true;
    backoff_ = options_.backoff_min;
    if (!session_.is_durable) {
        telemetry::log(Level::warning,
                       "store.not_durable",
                       options_.server.name +
                           ": innodb_flush_log_at_trx_commit is not 1; a crash may lose grants");
    }
    identify(session_);
    if (!is_identified_) return;
    kill_former();
    send_probe();
    arm();
}

void MysqlTier::identify(const Session& session) {
    tell(authority::TierIdentified{index_, session.identity, std::nullopt});
}

void MysqlTier::drop(const Error& error) {
    if (!connection_) return;
    connection_->close();
    closed(error);
}

void MysqlTier::closed(const Error& error) {
    const auto keep = std::exchange(connection_, nullptr);
    ++generation_;
    const std::string reason = describe(error);
    const bool was_identified = std::exchange(is_identified_, false);
    const bool is_news = was_identified || reason != last_error_;
    is_killing_ = false;
    is_polling_ = is_sweeping_ = false;
    former_look_at_.reset();
    probe_at_.reset();
    late_at_.reset();
    last_error_ = reason;
    ++checks_failed_;
    if (is_news && is_running_) {
        telemetry::log(
            Level::warning,
            "store.connection_lost",
            options_.server.name + " (" + address() + "): " + reason + "; connecting again");
    }
    end_serving(reason, false);
    connect_at_ = now() + backoff_ / 2 +
                  Duration(static_cast<Duration::rep>(
                      names_.draw_number() % static_cast<std::uint64_t>(backoff_.count() / 2 + 1)));
    backoff_ = std::min(backoff_ * 2, options_.backoff_max);
    // Too many connections, or no permission, says nothing about the server.
    const bool is_own = error.kind == ErrorClass::configuration || error.kind == ErrorClass::full;
    // Attempts to connect come more often than probes; they count as often as probes would.
    const bool is_due = was_identified || error.is_refusal || !failed_at_ ||
                        now() - *failed_at_ >= options_.check.fastinter;
    if (is_due) {
        tell_failed(error.is_refusal ? Evidence::refused
                    : is_own         ? Evidence::access
                                     : Evidence::failed,
                    false,
                    reason);
    }
    end_call(reason);
    arm();
}

void MysqlTier::tell_failed(Evidence evidence, bool is_connected, const std::string& reason) {
    was_well_ = false;
    failed_at_ = now();
    if (is_running_) tell(authority::TierFailed{index_, evidence, is_connected, reason});
}

// Asks the session's settings, and with them the identity, once more.
void MysqlTier::look(std::function<void(const Session*)> then) {
    connection_->query(session_statements(),
                       [this, generation = generation_, then = std::move(then)](Answer&& answer) {
                           if (generation != generation_ || !connection_ || answer.error) {
                               return then(nullptr);
                           }
                           auto read = read_session(answer.sets);
                           const auto* session = std::get_if<Session>(&read);
                           if (session != nullptr) session_ = *session;
                           then(session);
                       });
}

void MysqlTier::act(authority::TierLook&&) {
    // Without a connection the next one's identity is the answer.
    if (!is_identified_) return;
    look([this](const Session* session) {
        if (session == nullptr) return;
        const bool is_master = session->identity.role == authority::Role::master;
        identify(*session);
        if (!is_master) {
            drop({0, "", "the server is read-only", ErrorClass::read_only, false});
        }
    });
}

// ---- health ----------------------------------------------------------------------------------

void MysqlTier::send_probe() {
    probe_at_.reset();
    if (!is_identified_) return;
    const Time sent = now();
    late_at_ = sent + options_.check.timeout;
    const auto number = ++probe_number_;
    // Late ones are counted here; the connection ends with the last that is put up with.
    connection_->query(
        probe_statements(options_.cluster, options_.node),
        [this, number, sent, generation = generation_](Answer&& answer) {
            if (generation == generation_) probe_answered(std::move(answer), number, sent);
        },
        options_.check.timeout * options_.check.fall);
}

void MysqlTier::probe_answered(Answer&& answer, std::uint64_t number, Time sent) {
    if (number != probe_number_) return;
    late_at_.reset();
    if (answer.error && answer.error->ends_connection()) return;  // closed() follows
    probe_at_ = now() + (answer.error ? options_.check.fastinter : options_.check.inter);
    if (answer.error) {
        const ErrorClass kind = answer.error->kind;
        last_error_ = describe(*answer.error);
        // A busy row is never evidence.
        if (kind == ErrorClass::busy || kind == ErrorClass::deadlock) return arm();
        ++checks_failed_;
        tell_failed(kind == ErrorClass::configuration ? Evidence::access : Evidence::failed,
                    true,
                    last_error_);
        return arm();
    }
    const Rows& rows = answer.sets.at(1);
    const std::string server = server_of(rows);
    if (server_seen_.empty()) server_seen_ = server;
    if (rows.text(0, 1) != "0" || server != server_seen_) {
        return drop({0,
                     "",
                     server == server_seen_ ? "the server is read-only"
                                            : "another server answers: " + server,
                     ErrorClass::read_only,
                     false});
    }
    if (!was_well_) {
        telemetry::log(Level::info,
                       "store.well",
                       options_.server.name + " (" + address() + "): " + session_.version);
    }
    ++checks_ok_;
    was_well_ = true;
    last_error_ = "-";
    shown_us_ = rows.number(0, 0).value_or(0);
    shown_at_ = now();
    round_trip_ = shown_at_ - sent;
    const authority::StoreMs shown{shown_us_ / 1000};
    (void)clock_.add(sent, shown_at_, shown);  // of a jump the Fleet decides, by TierProbed
    tell(authority::TierProbed{index_, sent, shown_at_, shown});
    arm();
}

void MysqlTier::probe_is_late() {
    late_at_ = now() + options_.check.timeout;
    // Behind a page of a thousand rows it may be late.
    if (!std::holds_alternative<std::monostate>(call_)) return;
    ++checks_failed_;
    last_error_ =
        "no answer to a probe within " + std::to_string(to_ms(options_.check.timeout)) + " ms";
    tell_failed(Evidence::failed, true, last_error_);
}

// ---- serving ---------------------------------------------------------------------------------

Guard MysqlTier::guard() {
    Guard guard;
    guard.cluster = options_.cluster;
    guard.window = options_.clock_window;
    guard.strict_window = std::min(strict_window, options_.clock_window);
    if (!served_) return guard;
    guard.since = served_->epoch;
    guard.nonce = served_->nonce;
    if (const auto expected = clock_.expected(now())) {
        guard.expected_us = static_cast<std::int64_t>(*expected) * 1000;
    }
    return guard;
}

void MysqlTier::act(authority::TierServe&& action) {
    if (!is_identified_) return;  // TierFailed was told, TierIdentified will be
    if (served_ && served_->epoch == action.epoch && served_->nonce == action.nonce &&
        is_pool_open_) {
        is_ready_owed_ = true;
        return tell_ready();
    }
    if (served_) end_serving("another epoch", true);
    served_ = Served{action.epoch, action.nonce};
    if (action.clock) {
        clock_.seed(now(), *action.clock);
    } else {
        clock_.rebase();
    }
    is_ready_owed_ = true;
    is_pool_open_ = false;
    pool_.open(session_.identity.run_id, !former_.empty());
    begin_letters();
    next_sweep();
    kill_former();
    arm();
}

void MysqlTier::act(authority::TierWithdraw&& action) {
    if (served_) {
        telemetry::log(Level::info, "store.withdrawn", options_.server.name + ": " + action.reason);
    }
    end_serving(action.reason, true);
}

void MysqlTier::end_serving(const std::string& reason, bool is_silent) {
    if (!served_) return;
    served_.reset();
    is_ready_owed_ = false;
    is_pool_open_ = false;
    poll_at_.reset();
    sweep_at_.reset();
    pool_.close(reason, is_silent);
}

void MysqlTier::submit(core::OperationId id, core::Operation&& operation) {
    if (!is_running_) return;
    asked_at_ = now();
    pool_.submit(id, std::move(operation));
    arm();
}

void MysqlTier::pool_opened() {
    is_pool_open_ = true;
    tell_ready();
}

void MysqlTier::tell_ready() {
    if (!is_ready_owed_ || !is_pool_open_ || !former_.empty()) return;
    is_ready_owed_ = false;
    tell(authority::TierReady{index_, options_.clock_margin, true});
}

void MysqlTier::pool_doubted() {
    act(authority::TierLook{index_});
    tell(authority::TierDoubted{index_});
}

void MysqlTier::pool_timed_out(const std::string& reason) {
    tell_failed(Evidence::failed, is_identified_, reason);
    arm();
}

// ---- kill, then look -------------------------------------------------------------------------

void MysqlTier::pool_left(Former&& former) {
    former_.push_back(std::move(former));
    if (is_identified_) kill_former();
    arm();
}

// Connection ids start low again after a restart, which is no change of identity: whether the
// server has been up for as long as the connection tells.
void MysqlTier::kill_former() {
    std::erase_if(former_, [this](const Former& former) {
        return former.run_id != session_.identity.run_id;
    });
    if (former_.empty()) {
        pool_.release();
        return tell_ready();
    }
    if (std::exchange(is_killing_, true)) return;
    kill_by_ = now() + former_max;
    connection_->query("SHOW GLOBAL STATUS LIKE 'Uptime'",
                       [this, generation = generation_](Answer&& answer) {
                           if (generation == generation_) uptime_shown(answer);
                       });
}

void MysqlTier::uptime_shown(const Answer& answer) {
    if (answer.error) return;  // closed() follows, or former_look_at_ comes too late: kill_by_
    const std::chrono::seconds up(answer.sets.at(0).number(0, 1).value_or(0));
    const Time at = now();
    std::erase_if(former_, [&](const Former& former) {
        return at - former.opened_at > Duration(up) + uptime_slack;
    });
    look_for_former();
}

void MysqlTier::look_for_former() {
    former_look_at_.reset();
    std::vector<std::uint64_t> ids;
    for (Former& former : former_) {
        ids.push_back(former.connection_id);
        // "Unknown thread id" is as good as a success: the look decides.
        if (std::exchange(former.is_killed, true)) continue;
        connection_->query(kill_statement(former.connection_id), [](Answer&&) {});
    }
    connection_->query(alive_statement(ids),
                       [this, ids, generation = generation_](Answer&& answer) {
                           if (generation != generation_ || answer.error) return;
                           const Rows& alive = answer.sets.at(0);
                           std::erase_if(former_, [&](const Former& former) {
                               if (std::ranges::find(ids, former.connection_id) == ids.end())
                                   return false;
                               for (std::size_t i = 0; i < alive.size(); ++i) {
                                   if (alive.number<std::uint64_t>(i, 0) == former.connection_id)
                                       return false;
                               }
                               return true;
                           });
                           if (former_.empty()) {
                               is_killing_ = false;
                               kill_by_.reset();
                               pool_.release();
                               tell_ready();
                           } else {
                               former_look_at_ = now() + former_look;
                           }
                           arm();
                       });
}

// ---- time ------------------------------------------------------------------------------------

void MysqlTier::arm() {
    if (!is_running_) return;
    std::optional<Time> due = pool_.next_deadline();
    for (const auto& when : {connect_at_,
                             probe_at_,
                             late_at_,
                             former_look_at_,
                             poll_at_,
                             is_identified_ && is_killing_ ? kill_by_ : std::nullopt,
                             is_sweeping_ ? std::nullopt : sweep_at_}) {
        if (when && (!due || *when < *due)) due = when;
    }
    timer_.arm(now(), due);
}

void MysqlTier::on_time() {
    if (!is_running_) return;
    const Time at = now();
    if (connect_at_ && at >= *connect_at_) connect();
    if (late_at_ && at >= *late_at_) probe_is_late();
    if (probe_at_ && at >= *probe_at_) send_probe();
    if (former_look_at_ && at >= *former_look_at_) look_for_former();
    if (is_identified_ && is_killing_ && kill_by_ && at >= *kill_by_) {
        is_killing_ = false;
        drop({0, "", "former connections can't be ended", ErrorClass::unknown, false});
    }
    if (poll_at_ && at >= *poll_at_) poll_letters();
    if (sweep_at_ && !is_sweeping_ && at >= *sweep_at_) begin_sweep();
    pool_.on_time();
    arm();
}

}  // namespace latchd::store::mysql
