// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// LOCK and the queue of a lock.
//
// First come, first served within a node: one FIFO per lock, and only its head asks the store. A
// LOCK without WAIT has no place in the queue: it gets nil at once where others wait, and asks
// the store itself where nobody does. Two kinds of LOCK may not stand behind waiters, since those
// wait for them: a re-entrance and a re-sent LOCK. Where this node can't tell (the holder came
// through another node) they ask ahead of the queue, but only to join (rule T5).
//
// What this node knows of a lock (the record of a grant that it keeps) answers without a round
// trip. It counts only as long as messages of other nodes' releases have arrived without a gap.
#include "node_impl.hpp"

#include <algorithm>
#include <utility>

namespace latchd::core {
namespace {

// A client is told whole milliseconds: of a lease with none left it would read that it is over.
constexpr Duration told_min = std::chrono::milliseconds(1);

// Of what is_away() may speak of, too. In its DELAY nobody joins.
bool joins(const Lock& lock, const LockCommand& command, Time now) {
    const auto& record = lock.record ? lock.record : lock.aside().delayed;
    if (!record || !record->is_leased(now)) return false;
    if (!command.owner.empty() && command.owner == record->owner) return true;
    return command.request && std::ranges::any_of(record->holds, [&](const KeptHold& hold) {
               return hold.request == *command.request;
           });
}

}  // namespace

Request* Node::Impl::head(const Lock& lock) const noexcept {
    for (Request* const request : lock.requests) {
        if (request->queued && !request->ghost) return request;
    }
    return nullptr;
}

// The client's library sent its LOCK again: it takes over the place, and what is under way, of
// the one that it has given up.
void Node::Impl::take_over(Request& request, LockCommand&& command) {
    if (!request.given_up && !request.ghost) {
        fail(request.command.ticket,
             ErrorWord::err,
             "superseded: the same REQ came again on another connection");
        if (request.queued) --counts_.waiting;
        forget_waiting(request);
    }
    request.ghost = false;
    request.given_up = false;
    enter(request, std::move(command));
    if (!request.queued && request.stage == Request::Stage::idle && open_) ask(request, false);
    settle(*request.lock);
}

// Sets what a request waits for, from the command that it stands for now.
void Node::Impl::enter(Request& request, LockCommand&& command) {
    request.command = std::move(command);
    request.queued = request.command.wait > Duration::zero();
    if (request.queued) ++counts_.waiting;
    request.wait_until = now_ + request.command.wait;
    request.answer_by = request.wait_until + options_.answer_max;
    waiting_clients_[request.command.ticket.client].push_back(&request);
    waits_.arm(request, request.queued ? request.wait_until : request.answer_by);
}

void Node::Impl::on(LockCommand&& command) {
    const Ticket ticket = command.ticket;
    if (draining_) return fail(ticket, ErrorWord::nostore, "draining; ask another node");
    if (!complete(command)) return;
    Lock& lock = locks_.of(command.key);
    if (command.request) {
        const auto same = std::ranges::find_if(
            lock.requests, [&](const Request* r) { return r->named && r->id == *command.request; });
        if (same != lock.requests.end()) return take_over(**same, std::move(command));
    }

    const bool waits = command.wait > Duration::zero();
    const bool crowded = head(lock) != nullptr;
    const bool known = knows_held(lock);
    const bool may_join = command.request || !command.owner.empty();
    const bool joins_here = may_join && known && joins(lock, command, now_);
    if (joins_here && is_away(lock)) {
        return fail(ticket, ErrorWord::nostore, away_text(lock));
    }
    const bool busy = now_ < lock.aside().busy_until;
    if (!joins_here && !waits && (known || ((crowded || busy) && !may_join))) {
        ++counts_.contended;
        answer(ticket, Refused{});
        return erase_if_idle(lock);
    }
    if (auto error = joins_here ? std::nullopt : overload(lock, command)) {
        fail(ticket, error->word, std::move(error->text));
        return erase_if_idle(lock);
    }

    requests_.emplace_back();
    Request& request = requests_.back();
    request.self = std::prev(requests_.end());
    request.lock = &lock;
    request.named = command.request.has_value();
    request.id = request.named ? *command.request : RequestId(names_.draw());
    request.token = Token(names_.draw());
    lock.requests.add(request);
    enter(request, std::move(command));

    if (open_) {
        if (joins_here) {
            ask(request, crowded);
        } else if (crowded || known) {
            // An owner or a request id that this node does not know may be the holder's, who
            // came through another node.
            if (!known && may_join) ask(request, true);
        } else if (!waits) {
            ask(request, false);
        } else if (may_join && allowed(request) == Allowed::joining) {
            ask(request, true);
        }
    }
    settle(lock);
}

void Node::Impl::make_acquire(Request& request, bool join_only, Acquire& wish) {
    request.joins_only = join_only;
    request.is_local = fleet_local_;
    request.tier = told_tier();
    if (request.attempt.number == 0) request.attempt = {options_.incarnation, ++attempts_};
    const LockCommand& command = request.command;
    const ResourceSettings* const settings = registry_.find(command.key.resource.view());
    wish.key = command.key;
    wish.request = request.id;
    wish.attempt = request.attempt;
    wish.token = request.token;
    wish.owner = command.owner;
    wish.node = options_.name;
    wish.client = command.client;
    wish.strict = settings != nullptr && settings->safety == Safety::strict;
    const Duration ttl_min = wish.strict ? strict_ttl_min : Duration::zero();
    wish.ttl = std::min(*command.ttl, std::max(limits_.ttl_max, ttl_min));
    wish.hold_max = command.hold_max;
    wish.renew_max = settings != nullptr ? settings->renew_max.value_or(0) : 0;
    wish.delay = std::min(command.delay.value_or(Duration::zero()), limits_.delay_max);
    wish.retry_window = options_.retry_window;
    wish.keep = command.keep;
    wish.join_only = join_only;
    wish.waits = !join_only && request.queued && now_ < request.wait_until;
    if (wish.waits) request.lock->in_queue = true;
    const Lock& lock = *request.lock;
    wish.looks = lock.asked_at != Time{} && lock.aside().fence_seen != 0 && now_ < lock.free_at;
    request.is_handed = false;
    request.stage = Request::Stage::asked;
    request.sent = now_;
}

// What its attempt may have got, or may get yet, is undone; the next one is another attempt. Under
// another token: until it is undone the first may be in another store than the second, and a RENEW
// of one would be a RENEW of both.
void Node::Impl::begin_again(Request& request) {
    undo(request);
    request.attempt = {};
    request.token = Token(names_.draw());
}

// Sends its Acquire, as far as it is allowed now; else it waits for resume().
void Node::Impl::ask(Request& request, bool join_only) {
    const Allowed most = allowed(request);
    const bool may_join = request.named || !request.command.owner.empty() ||
                          request.stage == Request::Stage::doubtful;
    if (most == Allowed::nothing || (most == Allowed::joining && !may_join)) return;
    join_only = join_only || most == Allowed::joining;
    Submit& sent = add<Submit>(take_off({nullptr, &request, now_}), std::in_place_type<Acquire>);
    make_acquire(request, join_only, std::get<Acquire>(sent.operation));
    if (!join_only) request.lock->asked_at = now_;
}

// A lock's next move: its head asks, if it may; its deadline is set; or it is forgotten.
void Node::Impl::settle(Lock& lock) {
    // What a renewal that is under way brings is newer than the message.
    if (is_elsewhere(lock) && !is_kept(lock) && !lock.renewing) {
        keep_as_moved(lock);
    }
    Request* const first = head(lock);
    if (first != nullptr && first->stage == Request::Stage::idle && may_ask(lock, *first)) {
        ask(*first, false);
    }
    if (first == nullptr && lock.in_queue) step_out(lock);
    rearm(lock);
    lock.forget_aside(now_);
    erase_if_idle(lock);
}

bool Node::Impl::may_ask(Lock& lock, const Request& first) {
    if (!open_ || knows_held(lock) || now_ < lock.check_at) return false;
    if (allowed(first) != Allowed::granting) return false;
    if (lock.asked_at == Time{} || take_check()) return true;
    lock.check_at = checks_window_ + std::chrono::seconds(1);
    return false;
}

// A bounded number of second looks per second and node, the longest due first.
bool Node::Impl::take_check() {
    if (now_ - checks_window_ >= std::chrono::seconds(1)) {
        checks_window_ = now_;
        checks_ = 0;
    }
    if (checks_ >= options_.checks_per_second) return false;
    ++checks_;
    return true;
}

void Node::Impl::granted(Request& request, Reply& reply, Time sent) {
    Lock& lock = *request.lock;
    GrantRecord& record = *reply.record;
    const Time end = told_end(*lock.key, sent, record.left);
    const char* const too_little = worth_too_little(request.command.require, request.tier);
    if (request.given_up || end - now_ < told_min || too_little != nullptr) {
        const bool late = !request.given_up && too_little == nullptr;
        if (too_little != nullptr && !request.given_up) {
            fail(request.command.ticket,
                 ErrorWord::degraded,
                 "the tier is " + request.tier + ", not " + too_little);
            request.given_up = true;
        }
        if (!late) {
            undo(request);
            return drop(request);
        }
        // Its own lease was over before it could be told. Another attempt, if there is time.
        begin_again(request);
        request.stage = Request::Stage::idle;
        if (request.queued) return settle(lock);
        fail(request.command.ticket,
             ErrorWord::nostore,
             "the store is slower than the lease of " +
                 std::to_string(to_ms(*request.command.ttl)) + " ms; nothing is held");
        request.given_up = true;
        return drop(request);
    }
    // Not by the request id: it may have gone over to a newer hold (T4).
    const auto hold = std::ranges::find_if(record.holds, [&](const Hold& h) {
        return std::ranges::find(h.attempts, request.attempt) != h.attempts.end();
    });
    const Token token = hold->token;
    const auto holds = static_cast<std::uint32_t>(record.holds.size());
    const Fence fence = record.fence;
    if (lock.record && lock.record->fence != fence) {
        drop_record(lock);  // the former grant ended without a word to this node
    }
    keep_record(lock, std::move(record), sent);
    if (reply.status == Status::granted) {
        lock.in_queue = false;  // T12
        lock.is_offered = false;
        lock.turn = request.is_handed ? lock.turn + 1 : 1;
    }
    Holder holder{token,
                  request.command.ticket.client,
                  Holder::never,
                  request.command.keep,
                  request.command.release_on_close};
    if (request.command.expect) holder.expect_until = now_ + 3 * *request.command.expect;
    set_holder(lock, std::move(holder));
    if (reply.status == Status::adopted) {
        ++counts_.adopted;
    } else {
        ++counts_.acquired;
    }
    if (wants_debug()) {
        std::string text =
            grant_name(*lock.key, fence) + " granted to client " + request.command.client.str();
        if (!request.command.owner.empty()) {
            text += " owner " + printable(request.command.owner.view());
        }
        if (!request.command.trace.empty()) text += " trace " + printable(request.command.trace);
        notice(Notice::Level::debug, "lock.granted", std::move(text));
    }
    answer(request.command.ticket,
           Granted{token, fence, lock.record->lease_end - now_, holds, request.tier});
    request.given_up = true;
    drop(request);
}

void Node::Impl::refused(Request& request, const Reply& reply) {
    Lock& lock = *request.lock;
    request.stage = Request::Stage::idle;
    if (request.given_up) return drop(request);
    const Ticket ticket = request.command.ticket;
    switch (reply.status) {
        case Status::held:
            break;
        case Status::cancelled:
            fail(ticket, ErrorWord::err, "cancelled: this REQ was cancelled");
            request.given_up = true;
            return drop(request);
        case Status::holds_full:
            fail(ticket, ErrorWord::limit, holds_full_text());
            request.given_up = true;
            return drop(request);
        default:
            fail(ticket,
                 ErrorWord::err,
                 "the store's key of this lock is in use by something else: latchd did not write "
                 "its value");
            request.given_up = true;
            return drop(request);
    }
    if (request.joins_only) {
        const Allowed most = allowed(request);
        if (auto text = most == Allowed::joining ? refusal(request.command) : std::nullopt) {
            fail(ticket, ErrorWord::degraded, std::move(*text));
            request.given_up = true;
            return drop(request);
        }
        // There is nothing to join, and it may not be granted yet: it goes on waiting.
        if (most != Allowed::granting && reply.fence_seen == 0) return settle(lock);
        // By now it may: it is free, and nobody is before it.
        const Request* const first = head(lock);
        if (reply.fence_seen == 0 && open_ && (first == nullptr || first == &request)) {
            return ask(request, false);
        }
    }
    ++counts_.contended;
    if (!request.joins_only) remember_busy(lock, reply);
    if (!request.queued || now_ >= request.wait_until) {
        if (request.queued) ++counts_.wait_timeouts;
        answer(ticket, Refused{});
        request.given_up = true;
        return drop(request);
    }
    if (head(lock) == &request) look_later(lock, reply);
    settle(lock);
}

void Node::Impl::ask_failed(Request& request, Failure failure, const std::string& text) {
    Lock& lock = *request.lock;
    if (failure == Failure::in_doubt) {
        request.stage = Request::Stage::doubtful;
        if (!request.given_up) return settle(lock);
        undo(request);
    }
    if (request.given_up) return drop(request);
    request.stage = Request::Stage::idle;
    const bool is_full = failure == Failure::full;
    const bool says_no = failure == Failure::refused || failure == Failure::clock || is_full;
    if (says_no && !is_full) store_refusal_ = text;
    if (says_no && !request.queued) {
        fail(request.command.ticket,
             is_full ? ErrorWord::limit : ErrorWord::nostore,
             is_full ? journal_text : text);
        request.given_up = true;
        return drop(request);
    }
    if (open_) {
        lock.check_at = now_ + options_.wake_check / 10;
        if (!request.queued) {
            waits_.arm(request, std::min(request.answer_by, lock.check_at));
        }
    }
    settle(lock);
}

void Node::Impl::time_out(Request& request) {
    Lock& lock = *request.lock;
    if (request.ghost) return drop(request);
    const Ticket ticket = request.command.ticket;
    if (now_ < request.answer_by) {
        if (!request.queued) {  // a second try of a LOCK without WAIT
            waits_.arm(request, request.answer_by);
            if (open_ && request.stage == Request::Stage::idle) ask(request, false);
            return;
        }
        const bool is_head = head(lock) == &request;
        const bool serves = open_ && allowed(request) == Allowed::granting;
        const bool has_news =
            knows_held(lock) || (serves && (!is_head || lock.aside().fence_seen != 0));
        const bool asks = serves && is_head && !knows_held(lock) &&
                          request.stage == Request::Stage::idle && lock.asked_at < now_ &&
                          take_check();
        if (asks) {
            // What was seen last may be as old as the pause between two looks.
            ask(request, false);
        } else if (request.stage == Request::Stage::idle && has_news) {
            ++counts_.wait_timeouts;
            answer(ticket, Refused{});
            request.given_up = true;
            return drop(request);
        }
        // An answer of the store is under way, or the store is away: a little longer.
        waits_.arm(request, request.answer_by);
        return;
    }
    const bool was_sent = request.stage != Request::Stage::idle;
    if (was_sent) {
        const Duration most = *request.command.ttl + request.command.delay.value_or(Duration{});
        fail(ticket,
             ErrorWord::uncertain,
             "max_ms=" + std::to_string(to_ms(most)) + " req=" + printable(request.id.view()));
    } else if (open_ && !has_room()) {
        fail(ticket, ErrorWord::limit, journal_text);
    } else {
        fail(ticket,
             ErrorWord::nostore,
             is_away(lock) ? away_text(lock) : nostore_text(allowed(request) != Allowed::granting));
    }
    request.given_up = true;
    if (request.stage == Request::Stage::doubtful) undo(request);
    if (request.stage != Request::Stage::asked) return drop(request);
    // Stays until its answer comes, to be undone then.
    if (request.queued) --counts_.waiting;
    request.queued = false;
    forget_waiting(request);
    settle(lock);
}

// Takes this request's attempt out of the store, whatever became of it there.
void Node::Impl::undo(Request& request) {
    if (request.attempt.number == 0) return;
    if (request.is_local && !fleet_local_) return;  // the host's table is out of reach, and of use
    ++counts_.undone;
    Undo wish{*request.lock->key, request.id, request.attempt, options_.name, std::nullopt};
    Task& task = add_task(Task::Kind::undo, std::move(wish), request.lock, std::nullopt);
    task.doubtful = request.stage == Request::Stage::doubtful;
    task.try_until = now_ + limits_.ttl_longest + options_.answer_max;
    task.shared_only = fleet_local_ && !request.is_local;
    start(task);
}

// Ends a request that has been answered or whose client is gone.
void Node::Impl::drop(Request& request) {
    Lock& lock = *request.lock;
    if (request.queued && !request.ghost) --counts_.waiting;
    forget_waiting(request);
    waits_.disarm(request);
    lock.requests.remove(request);
    requests_.erase(request.self);
    settle(lock);
}

// The end of its connection is not told to it any more.
void Node::Impl::forget_waiting(const Request& request) {
    const auto client = waiting_clients_.find(request.command.ticket.client);
    if (client == waiting_clients_.end()) return;
    client->second.erase_if([&](const Request* each) { return each == &request; });
    if (client->second.empty()) waiting_clients_.erase(client);
}

void Node::Impl::client_left(Request& request) {
    Lock& lock = *request.lock;
    if (request.stage != Request::Stage::idle) {
        if (request.queued) --counts_.waiting;
        request.queued = false;
        request.given_up = true;
        waits_.disarm(request);
        if (request.stage == Request::Stage::doubtful) {
            undo(request);
            return drop(request);
        }
        return settle(lock);
    }
    if (!request.named || !request.queued) {
        request.given_up = true;
        return drop(request);
    }
    // Its place stays for a while: the client's library may come back with the same REQ.
    --counts_.waiting;
    request.ghost = true;
    waits_.arm(request, now_ + options_.place_kept);
    settle(lock);
}

}  // namespace latchd::core
