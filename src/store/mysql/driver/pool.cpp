// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "pool.hpp"

#include "loop.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace latchd::store::mysql {
namespace {

// innodb_lock_wait_timeout: a row that is waited for in vain is no dead server.
constexpr Duration lock_wait = std::chrono::seconds(1);

bool is_look(const core::Operation& operation) noexcept {
    const auto* const acquire = std::get_if<core::Acquire>(&operation);
    return acquire != nullptr && acquire->looks;
}

}  // namespace

Pool::Pool(boost::asio::io_context& context,
           const Options& options,
           std::function<Time()> boot_now,
           Sink& sink,
           User& user)
    : context_(context),
      options_(options),
      boot_now_(std::move(boot_now)),
      sink_(sink),
      user_(user),
      stamps_(names_.draw_number()),
      workers_(std::max<std::size_t>(options.connections, 2) - 1) {}

Pool::~Pool() {
    *alive_ = false;
    for (Worker& worker : workers_) {
        if (worker.connection) worker.connection->close();
    }
}

Duration Pool::limit() const { return options_.server.operation_timeout + lock_wait; }

// What could not be sent was not for want of a row: whoever asked hears in time that nothing was
// done.
Duration Pool::unsent_limit() const {
    return is_held_ || connections() == 0 ? options_.server.operation_timeout : limit();
}

std::string Pool::warning() const {
    if (!is_open_ || refusal_.empty()) return {};
    return std::to_string(connections()) + " of " + std::to_string(workers_.size()) +
           " connections for operations are there: " + refusal_;
}

std::size_t Pool::connections() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(workers_, &Worker::is_open));
}

// ---- connections -----------------------------------------------------------------------------

void Pool::open(std::string run_id, bool is_held) {
    run_id_ = std::move(run_id);
    is_open_ = true;
    is_held_ = is_held;
    was_opened_ = false;
    for (std::size_t i = 0; i < workers_.size(); ++i) connect(i);
}

void Pool::connect(std::size_t index) {
    Worker& worker = workers_[index];
    worker.connect_at.reset();
    worker.connection = std::make_shared<Connection>(
        context_,
        options_.server,
        Connection::User{
            .opened = [this, index](const Session& session) { opened(index, session); },
            .closed = [this, index](const Error& error) { closed(index, error); }});
    worker.connection->open();
}

void Pool::opened(std::size_t index, const Session& session) {
    Worker& worker = workers_[index];
    if (session.identity.run_id != run_id_ ||
        session.identity.role != core::authority::Role::master) {
        worker.connection->close();
        worker.connection.reset();
        last_error_ = "another server answers: " + session.identity.run_id;
        worker.connect_at = boot_now_() + options_.backoff_max;
        user_.pool_waits();
        return user_.pool_doubted();
    }
    worker.is_open = true;
    worker.opened_at = boot_now_();
    if (connections() == workers_.size()) refusal_.clear();
    if (!std::exchange(was_opened_, true)) user_.pool_opened();
    schedule();
}

// Its queries were answered before: a batch that was under way has failed.
void Pool::closed(std::size_t index, const Error& error) {
    Worker& worker = workers_[index];
    const auto keep = std::exchange(worker.connection, nullptr);
    worker.is_open = false;
    worker.connect_at = boot_now_() + options_.backoff_max;
    user_.pool_waits();
    last_error_ = describe(error);
    const bool is_refused =
        error.kind == ErrorClass::full || error.kind == ErrorClass::configuration;
    if (is_refused && std::exchange(refusal_, last_error_).empty()) {
        telemetry::log(telemetry::Level::warning,
                       "store.connections",
                       options_.server.name + ": " + warning());
    }
    // Closed by the server it says nothing that the probes don't say; silence does.
    if (error.code == 0 && error.kind == ErrorClass::unknown) user_.pool_timed_out(last_error_);
}

void Pool::leave(Worker& worker) {
    if (!worker.connection || !worker.is_open) return;
    is_held_ = true;
    user_.pool_left({worker.connection->session().connection_id, run_id_, worker.opened_at, false});
}

void Pool::release() {
    is_held_ = false;
    schedule();
}

void Pool::close(const std::string& reason, bool is_silent) {
    is_open_ = false;
    refusal_.clear();
    std::vector<core::OperationId> doubtful;
    for (Worker& worker : workers_) {
        if (worker.batch || worker.list) leave(worker);
        if (worker.batch) doubtful.insert(doubtful.end(), worker.ids.begin(), worker.ids.end());
        if (worker.list) doubtful.push_back(worker.list->id);
        if (worker.connection) worker.connection->close();
        worker = Worker{};
    }
    std::vector<core::OperationId> unsent;
    for (const auto& [key, lane] : lanes_) {
        for (const Pending& pending : lane.waiting) unsent.push_back(pending.id);
    }
    for (const Pending& pending : lists_) unsent.push_back(pending.id);
    lanes_.clear();
    ready_.clear();
    lists_.clear();
    chores_.clear();
    oldest_.reset();
    in_flight_ = 0;
    if (is_silent) return;
    std::ranges::sort(unsent);
    for (const core::OperationId id : doubtful) {
        sink_.deliver(core::StoreFailed{id, core::Failure::in_doubt, reason});
    }
    for (const core::OperationId id : unsent) {
        sink_.deliver(core::StoreFailed{id, core::Failure::unsent, reason});
    }
}

// ---- operations ------------------------------------------------------------------------------

void Pool::submit(core::OperationId id, core::Operation&& operation) {
    ++in_flight_;
    if (!is_open_) return fail(id, core::Failure::unsent, last_error_);
    if (in_flight_ > options_.in_flight_max) {
        return fail(
            id,
            core::Failure::refused,
            "more than " + std::to_string(options_.in_flight_max) + " operations are in flight");
    }
    const Time now = boot_now_();
    if (!oldest_) oldest_ = now;
    if (std::holds_alternative<core::List>(operation)) {
        lists_.push_back({id, std::move(operation), now});
    } else {
        const LockKey key = key_of(operation);
        Lane& lane = lanes_[key];
        if (!lane.is_busy && lane.waiting.empty()) ready_.push_back(key);
        lane.waiting.push_back({id, std::move(operation), now});
    }
    schedule();
}

void Pool::schedule() {
    if (std::exchange(is_scheduled_, true)) return;
    at_end_of_turn(context_, [this, alive = alive_] {
        if (!*alive) return;
        is_scheduled_ = false;
        pump();
    });
}

void Pool::pump() {
    if (!is_open_ || is_held_) return;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (!workers_[i].is_idle()) continue;
        if (!lists_.empty()) {
            send_list(i);
        } else if (!ready_.empty()) {
            take_batch(i);
        } else if (!chores_.empty()) {
            send_chore(i);
        }
    }
    if (ready_.empty() && lists_.empty()) oldest_.reset();
}

// The heads of the node that look again travel by themselves: most locks are held yet, and one
// statement that reads is all that it takes, without a lock on any row. What has become free is
// taken by what it looked like then, as the strategy `optimistic` does it.
void Pool::take_batch(std::size_t index) {
    Worker& worker = workers_[index];
    std::vector<core::Operation> operations;
    std::deque<LockKey> others;
    std::optional<bool> looks;
    worker.ids.clear();
    worker.keys.clear();
    while (!ready_.empty() &&
           operations.size() < (looks.value_or(false) ? options_.looks_max : options_.batch_max)) {
        LockKey key = std::move(ready_.front());
        ready_.pop_front();
        const auto it = lanes_.find(key);
        if (it == lanes_.end() || it->second.waiting.empty()) continue;
        Lane& lane = it->second;
        const bool is_one = is_look(lane.waiting.front().operation);
        if (is_one != looks.value_or(is_one)) {
            others.push_back(std::move(key));
            continue;
        }
        looks = is_one;
        operations.push_back(std::move(lane.waiting.front().operation));
        worker.ids.push_back(lane.waiting.front().id);
        worker.keys.push_back(key);
        lane.waiting.pop_front();
        lane.is_busy = true;
    }
    ready_.insert(ready_.begin(),
                  std::make_move_iterator(others.begin()),
                  std::make_move_iterator(others.end()));
    if (operations.empty()) return;
    batches_.add(operations.size());
    worker.batch =
        std::make_unique<Batch>(looks.value_or(false) ? Strategy::optimistic : options_.strategy,
                                std::move(operations),
                                stamps_);
    send(index);
}

void Pool::send(std::size_t index) {
    Worker& worker = workers_[index];
    worker.resume_at.reset();
    worker.connection->query(
        worker.batch->text(user_.guard()),
        [this, index](Answer&& answer) { answered(index, std::move(answer)); },
        limit());
}

void Pool::answered(std::size_t index, Answer&& answer) {
    Worker& worker = workers_[index];
    const bool is_over = answer.error && answer.error->ends_connection();
    if (answer.error && !answer.error->is_definite()) leave(worker);
    if (is_over) worker.is_open = false;  // closed() follows
    Batch& batch = *worker.batch;
    batch.answered(std::move(answer));
    auto letters = batch.take_letters();
    if (!letters.empty()) user_.pool_letters(std::move(letters));
    if (batch.is_done() || is_over) return finish(index);
    if (!batch.should_pause()) return send(index);
    worker.resume_at =
        boot_now_() + Duration(static_cast<Duration::rep>(1'000 + names_.draw_number() % 10'000));
    user_.pool_waits();
}

void Pool::finish(std::size_t index) {
    Worker& worker = workers_[index];
    const auto batch = std::move(worker.batch);
    const auto ids = std::move(worker.ids);
    for (const LockKey& key : worker.keys) {
        const auto it = lanes_.find(key);
        if (it == lanes_.end()) continue;
        it->second.is_busy = false;
        if (it->second.waiting.empty()) {
            lanes_.erase(it);
        } else {
            ready_.push_back(key);
        }
    }
    worker.keys.clear();
    // Whoever hears of it may close this pool.
    const auto alive = alive_;
    const bool is_doubtful = batch->is_doubtful();
    for (std::size_t i = 0; i < ids.size() && *alive; ++i) {
        const Batch::Result& result = batch->results()[i];
        if (result.reply) {
            --in_flight_;
            sink_.deliver(core::StoreReplied{ids[i], *result.reply});
        } else {
            fail(ids[i], result.failure, result.text);
        }
    }
    if (!*alive || !is_open_) return;
    schedule();
    if (is_doubtful) user_.pool_doubted();
}

void Pool::send_list(std::size_t index) {
    Worker& worker = workers_[index];
    worker.list = std::move(lists_.front());
    lists_.pop_front();
    const Guard guard = user_.guard();
    worker.connection->query(
        guard_statement(guard, GuardLock::none) + ';' +
            list_statement(guard, std::get<core::List>(worker.list->operation)),
        [this, index](Answer&& answer) { listed(index, std::move(answer)); },
        limit());
}

void Pool::listed(std::size_t index, Answer&& answer) {
    Worker& worker = workers_[index];
    const Pending pending = *std::exchange(worker.list, std::nullopt);
    schedule();
    if (answer.error) {
        if (answer.error->ends_connection()) worker.is_open = false;
        return fail(pending.id, core::Failure::refused, describe(*answer.error));
    }
    const GuardSeen seen = read_guard(answer.sets.at(0));
    if (!seen.is_placed) {
        fail(pending.id, core::Failure::stale, "the locks of this epoch are elsewhere");
        return user_.pool_doubted();
    }
    const auto& list = std::get<core::List>(pending.operation);
    core::OperationReply reply;
    reply.reply.status = core::Status::listed;
    reply.rows = read_list(answer.sets.at(1), list, user_.guard().since, seen.now, reply.cursor);
    --in_flight_;
    sink_.deliver(core::StoreReplied{pending.id, std::move(reply)});
}

void Pool::chore(std::string text, Connection::Done done) {
    if (!is_open_) return;
    chores_.emplace_back(std::move(text), std::move(done));
    schedule();
}

void Pool::send_chore(std::size_t index) {
    auto [text, done] = std::move(chores_.front());
    chores_.pop_front();
    workers_[index].has_chore = true;
    workers_[index].connection->query(
        std::move(text),
        [this, index, done = std::move(done)](Answer&& answer) {
            workers_[index].has_chore = false;
            schedule();
            done(std::move(answer));
        },
        limit());
}

void Pool::fail(core::OperationId id, core::Failure failure, const std::string& text) {
    --in_flight_;
    sink_.deliver(core::StoreFailed{id, failure, text});
}

// ---- time ------------------------------------------------------------------------------------

std::optional<Time> Pool::next_deadline() const {
    std::optional<Time> due;
    const auto consider = [&due](const std::optional<Time>& when) {
        if (when && (!due || *when < *due)) due = when;
    };
    for (const Worker& worker : workers_) {
        consider(worker.connect_at);
        consider(worker.resume_at);
    }
    if (oldest_) consider(*oldest_ + unsent_limit());
    return due;
}

void Pool::on_time() {
    if (!is_open_) return;
    const Time now = boot_now_();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (workers_[i].connect_at && now >= *workers_[i].connect_at) connect(i);
        if (workers_[i].resume_at && now >= *workers_[i].resume_at) {
            if (workers_[i].is_open && workers_[i].batch) send(i);
        }
    }
    if (oldest_ && now - *oldest_ >= unsent_limit()) fail_late(now);
}

// What was not sent in time, because no connection was free or to be had.
void Pool::fail_late(Time now) {
    std::vector<core::OperationId> late;
    std::optional<Time> oldest;
    const Duration limit = unsent_limit();
    const auto look = [&](std::deque<Pending>& waiting) {
        while (!waiting.empty() && now - waiting.front().submitted >= limit) {
            late.push_back(waiting.front().id);
            waiting.pop_front();
        }
        if (!waiting.empty()) {
            oldest = std::min(oldest.value_or(Time::max()), waiting.front().submitted);
        }
    };
    for (auto& [key, lane] : lanes_) look(lane.waiting);
    look(lists_);
    std::erase_if(lanes_, [](const auto& entry) {
        return !entry.second.is_busy && entry.second.waiting.empty();
    });
    oldest_ = oldest;
    std::ranges::sort(late);
    // Turned away it is no use to try again: whoever asks is told so.
    const bool is_refused = connections() == 0 && !refusal_.empty();
    const std::string text = is_refused ? refusal_ : last_error_;
    for (const core::OperationId id : late) {
        fail(id, is_refused ? core::Failure::refused : core::Failure::unsent, text);
    }
}

}  // namespace latchd::store::mysql
