// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// What a node does with its store: sending, doubts, opening and closing, and the end.
//
// An operation whose answer is lost is in doubt, and only that: it is sent again as soon as the
// store can be reached (every operation is idempotent by attempt, token or request id), unless
// its client was answered and nothing needs it any more. A store that says no was not in doubt.
#include "node_impl.hpp"

#include <algorithm>
#include <utility>

namespace latchd::core {

// `held_back`: the store is there, and this node may not do that now.
std::string Node::Impl::nostore_text(bool held_back) const {
    const std::string retry = " retry_ms=" + std::to_string(to_ms(options_.wake_check));
    if (settling_) return "settling" + retry + ' ' + closed_reason_;
    if (!open_) return closed_reason_;
    if (!held_back) return store_refusal_.empty() ? "the store does not answer" : store_refusal_;
    if (permit_.reason.empty() && now_ >= permit_.available_until) {
        return "this node has not heard of the fleet's arbiter for too long (did it or its host "
               "stand still?) and asks it now" +
               retry;
    }
    return (permit_.reason.empty() ? "not allowed to grant now" : permit_.reason) + retry;
}

// While the host's own table serves, about what only the fleet's store knows.
std::string Node::Impl::away_text(const Lock& lock) const {
    const std::string retry = " retry_ms=" + std::to_string(to_ms(options_.wake_check));
    return std::string(lock.record || lock.aside().delayed ? "this grant is in" : "it may be in") +
           " the fleet's store, which is out of reach" + retry;
}

Task& Node::Impl::add_task(Task::Kind kind,
                           Operation&& operation,
                           Lock* lock,
                           std::optional<Ticket> ticket) {
    Task& task = tasks_.emplace_back(kind, std::move(operation));
    task.self = std::prev(tasks_.end());
    task.ticket = ticket;
    task.lock = lock;
    if (lock != nullptr) {
        ++lock->busy;
        task.shared_only = is_away(*lock);
    }
    task.answer_by = now_ + options_.answer_max;
    return task;
}

// Sends a task's operation, or leaves it parked until the store opens, or until it is allowed.
void Node::Impl::start(Task& task, Request* then) {
    if (auto* const restore = std::get_if<Restore>(&task.operation)) {
        // As it is now: it may have waited.
        const Lock& lock = *task.lock;
        if (!lock.record || lock.record->fence != restore->record.fence) return finish(task);
        GrantRecord& record = restore->record;
        record = to_be_kept(*lock.key, *lock.record);
    }
    if (auto* const renew = std::get_if<Renew>(&task.operation)) cut(*renew, *task.lock);
    if (!open_ || !may_start(task)) {
        if (task.ticket && tasks_.size() > tasks_max) {
            fail(*task.ticket,
                 ErrorWord::limit,
                 std::to_string(tasks_max) + " commands wait for the store already");
            task.ticket.reset();
        }
    } else {
        task.under_way = true;
        Submit& sent = add<Submit>(take_off({&task, then, now_}), task.operation);
        if (auto* const release = std::get_if<Release>(&task.operation)) {
            release->then.reset();  // sent again, it only releases
        } else if (auto* const undo = std::get_if<Undo>(&sent.operation)) {
            if (task.doubtful && !kill_works_) {
                undo->tombstone = limits_.ttl_longest + options_.answer_max;
            }
        }
    }
    waits_.arm(task, task.ticket ? task.answer_by : std::max(task.try_until, now_));
}

void Node::Impl::finish(Task& task) {
    Lock* const lock = task.lock;
    waits_.disarm(task);
    if (task.keeper) {
        const auto [first, last] = taking_over_.equal_range(*task.keeper);
        taking_over_.erase(
            std::find_if(first, last, [&](const auto& entry) { return entry.second == &task; }));
    }
    if (lock != nullptr && lock->aside().restore == &task) lock->set_aside().restore = nullptr;
    tasks_.erase(task.self);
    if (lock == nullptr) return;
    --lock->busy;
    settle(*lock);
}

// Whether it is carried out behind its client's back. Then the answer is never NOSTORE.
bool Node::Impl::goes_on(const Task& task) const noexcept {
    const bool is_wanted = task.kind == Task::Kind::unlock || task.kind == Task::Kind::cancel;
    return is_wanted && now_ < task.try_until;
}

// For how long the lock may be held at most, whatever became of the task.
std::string Node::Impl::max_ms(const Task& task) const {
    const Lock& lock = *task.lock;
    const Duration left = lock.record ? lock.record->lease_end - now_ : limits_.ttl_longest;
    return "max_ms=" + std::to_string(std::max<std::int64_t>(to_ms(left), 0));
}

void Node::Impl::time_out(Task& task) {
    if (task.ticket) {
        const Ticket ticket = *task.ticket;
        task.ticket.reset();
        const bool is_read = task.kind == Task::Kind::info || task.kind == Task::Kind::list ||
                             task.kind == Task::Kind::fence;
        if (goes_on(task)) {
            fail(
                ticket, ErrorWord::uncertain, max_ms(task) + " carried out once the store answers");
        } else if (!is_read && (task.under_way || task.doubtful)) {
            fail(ticket, ErrorWord::uncertain, max_ms(task) + " the store has not answered");
        } else {
            const bool is_away_task = task.shared_only && fleet_local_;
            fail(ticket,
                 ErrorWord::nostore,
                 is_away_task ? away_text(*task.lock)
                              : nostore_text(!task.under_way && !may_start(task)));
        }
    }
    if (now_ < task.try_until) {
        waits_.arm(task, task.try_until);
        return;
    }
    if (task.kind == Task::Kind::keep && !task.under_way) task.lock->renewing = false;
    if (!task.under_way) finish(task);
}

void Node::Impl::task_failed(Task& task, Failure failure, const std::string& text) {
    task.under_way = false;
    if (failure == Failure::in_doubt) {
        task.doubtful = true;
        if (task.kind == Task::Kind::restore) task.lock->restore_doubtful = true;
    }
    const bool says_no = failure == Failure::refused || failure == Failure::clock;
    if (says_no && task.ticket) {
        if (goes_on(task)) {
            fail(*task.ticket, ErrorWord::uncertain, max_ms(task) + " tried again: " + text);
        } else {
            fail(*task.ticket, ErrorWord::nostore, text);
        }
        task.ticket.reset();
    }
    if (task.kind == Task::Kind::keep) {
        // The lease has time left: the watchdog tries again with a task of its own.
        task.lock->renewing = false;
        return finish(task);
    }
    if (!task.ticket && now_ >= task.try_until) {
        if (task.kind == Task::Kind::unlock) task.lock->releasing = false;
        return finish(task);
    }
    // Parked until the store opens; where it is open and said no, tried again in a while.
    const Time until = task.ticket ? task.answer_by : task.try_until;
    waits_.arm(task, open_ ? std::min(until, now_ + options_.wake_check) : until);
}

void Node::Impl::on(StoreReplied&& event) {
    const auto it = flights_.find(static_cast<std::uint64_t>(event.id));
    if (it == flights_.end()) return;
    const Flight flight = it->second;
    flights_.erase(it);
    store_refusal_.clear();
    if (Task* const task = flight.task; task != nullptr) {
        task->under_way = false;
        Reply& reply = event.reply.reply;
        switch (task->kind) {
            case Task::Kind::unlock:
                unlocked(*task, reply, flight.sent);
                break;
            case Task::Kind::renew:
                if (task->after_look && looked(*task, reply)) return;
                renewed(*task, reply, flight.sent);
                break;
            case Task::Kind::keep:
                kept(*task, reply, flight.sent);
                break;
            case Task::Kind::undo:
                undone(*task, reply, flight.sent);
                break;
            case Task::Kind::step_out:
                break;
            case Task::Kind::cancel:
                cancelled(*task, reply, flight.sent);
                break;
            case Task::Kind::force:
                forced(*task, reply);
                break;
            case Task::Kind::restore:
                restored(*task, reply, flight.sent);
                break;
            case Task::Kind::info:
            case Task::Kind::fence:
            case Task::Kind::list:
                viewed(*task, event.reply);
                break;
        }
        if (flight.request == nullptr) return finish(*task);
    }
    Reply& reply = flight.task != nullptr ? *event.reply.then : event.reply.reply;
    Request& request = *flight.request;
    request.stage = Request::Stage::idle;
    const bool is_grant = reply.status == Status::granted || reply.status == Status::adopted ||
                          reply.status == Status::reentered;
    Task* const task = flight.task;
    if (is_grant) {
        granted(request, reply, flight.sent);
    } else {
        refused(request, reply);
    }
    if (task != nullptr) finish(*task);
}

void Node::Impl::on(StoreFailed&& event) {
    const auto it = flights_.find(static_cast<std::uint64_t>(event.id));
    if (it == flights_.end()) return;
    const Flight flight = it->second;
    flights_.erase(it);
    failed(flight, event.failure, event.text);
}

void Node::Impl::failed(const Flight& flight, Failure failure, const std::string& text) {
    if (flight.request != nullptr) ask_failed(*flight.request, failure, text);
    if (flight.task != nullptr) task_failed(*flight.task, failure, text);
}

void Node::Impl::on(MessagesResumed&&) {
    hears_ = true;
    messages_since_ = now_;
    std::vector<Lock*> locks;
    for (auto& [key, lock] : locks_.unpacked()) {
        if (Aside* const aside = lock.any_aside()) aside->busy_until = {};
        if (!lock.record && lock.requests.empty()) continue;
        lock.check_at = now_;  // for who comes to wait later, too
        if (!lock.requests.empty()) locks.push_back(&lock);
    }
    locks_.check_packed_at(now_);
    for (Lock* const lock : locks) settle(*lock);
}

void Node::Impl::on(DrainStarted&&) {
    if (draining_ && !drained_) return;
    drained_ = false;
    drain_by_ = now_ + options_.answer_max;
    deadlines_.arm(drain_timer_, drain_by_);
    if (std::exchange(draining_, true)) return;
    std::vector<Request*> waiting;
    for (Request& request : requests_) waiting.push_back(&request);
    for (Request* const request : waiting) {
        const bool was_sent = request->stage != Request::Stage::idle;
        if (!request->given_up && !request->ghost) {
            if (was_sent && !request->queued) continue;  // its answer is about to come
            fail(request->command.ticket, ErrorWord::nostore, "draining; ask another node");
        }
        if (request->stage == Request::Stage::asked) {
            if (request->queued && !request->ghost) --counts_.waiting;
            request->queued = false;
            request->given_up = true;
            waits_.disarm(*request);
            continue;
        }
        request->given_up = true;
        if (request->stage == Request::Stage::doubtful) undo(*request);
        drop(*request);
    }
    std::vector<Lock*> kept_locks;
    for (auto& [key, lock] : locks_.unpacked()) {  // none of which is packed
        if (lock.record && is_kept(lock) && !lock.releasing) kept_locks.push_back(&lock);
    }
    // ONCLOSE RELEASE waits for the end of the connection: until then its client relies on it.
    for (Lock* const lock : kept_locks) {
        if (!lock->renewing) renew_kept(*lock);
    }
}

void Node::Impl::check_drained() {
    if (!draining_ || drained_) return;
    if (now_ < drain_by_ && !(flights_.empty() && tasks_.empty() && requests_.empty())) return;
    drained_ = true;
    deadlines_.disarm(drain_timer_);
    out_->push_back(Drained{});
}

// The earliest that is due.
Timer* Node::Impl::pop_timer() noexcept {
    const auto of_waits = waits_.earliest();
    const auto of_locks = deadlines_.earliest();
    const bool is_wait = of_waits && (!of_locks || *of_waits <= *of_locks);
    return (is_wait ? waits_ : deadlines_).pop(now_);
}

void Node::Impl::pop_timers() {
    while (Timer* const timer = pop_timer()) {
        switch (timer->kind) {
            case timer_of_request:
                time_out(*static_cast<Request*>(timer));
                break;
            case timer_of_lock:
            case timer_of_packed:
                on_timer(locks_.at(*timer));
                break;
            case timer_of_drain:
                break;  // check_drained() looks at the clock
            default: {
                Task& task = *static_cast<Task*>(timer);
                const Time until = task.ticket ? task.answer_by : task.try_until;
                if (open_ && !task.under_way && now_ < until) {
                    start(task);
                } else {
                    time_out(task);
                }
            }
        }
    }
}

}  // namespace latchd::core
