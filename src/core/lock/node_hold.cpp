// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// UNLOCK, RENEW, CANCEL, FORCEUNLOCK, and what other nodes say of locks that this node knows.
//
// A release is carried out until the store has answered it, also behind a client that was
// answered UNCERTAIN or NOSTORE: the lock is free as soon as the store can be reached, and at the
// latest with its lease.
#include "node_impl.hpp"

#include <algorithm>
#include <utility>

namespace latchd::core {

void Node::Impl::on(UnlockCommand&& command) {
    Lock* const known = locks_.find(command.key);
    const bool had_token =
        known != nullptr && known->record && known->record->find(command.token) != nullptr;
    if (const auto value = remembered(command.key, command.token);
        value && *value != lost_maxhold && (*value > 0 || !had_token)) {
        return answer(command.ticket, Number{*value});
    }
    Lock& lock = known != nullptr ? *known : locks_.of(command.key);
    const bool had_delayed =
        lock.aside().delayed && lock.aside().delayed->find(command.token) != nullptr;
    if (!lock.record && !had_delayed && is_away(lock)) {
        fail(command.ticket, ErrorWord::nostore, away_text(lock));
        return erase_if_idle(lock);
    }
    // Nobody else can be granted before the store that has the grant is there (again): this is
    // decided here, and carried out then.
    const bool is_decided = (had_token && (settling_ || is_away(lock) || awaits_restore(lock))) ||
                            (had_delayed && is_away(lock));
    Release wish{command.key, command.token, options_.name, std::nullopt};
    Request* then = nullptr;
    if (had_token && !is_decided) {
        if (lock.record->holds.size() == 1) {
            lock.releasing = true;
            // The next in line gets the lock by the same script that releases it.
            then = head(lock);
            const bool may_get = then != nullptr && then->stage == Request::Stage::idle && open_ &&
                                 allowed(*then) == Allowed::granting;
            if (!may_get) then = nullptr;
        }
        for (Holder& holder : lock.holders) {
            if (holder.token != command.token) continue;
            if (Pace* const pace = holder.keep ? pace_of(lock) : nullptr) {
                pace->saw_hold(now_ - lock.record->granted_at);
            }
            stop_keeping(lock, holder);
        }
    }
    if (then != nullptr) {
        make_acquire(*then, false, wish.then.emplace());
        wish.yields = has_had_its_turn(lock);
        then->is_handed = !wish.yields;
        ++counts_.handovers;
    }
    Task& task = add_task(Task::Kind::unlock, std::move(wish), &lock, command.ticket);
    task.had_token = had_token;
    task.was_others = !had_token && lock.record && lock.record->lease_end > now_;
    task.client = std::move(command.client);
    task.try_until =
        now_ +
        (had_token ? std::max(lock.record->lease_end - now_, Duration::zero()) : Duration::zero()) +
        options_.answer_max;
    std::optional<KeptHold> barred;
    if (had_token && lock.restore_doubtful)
        barred = *lock.record->find(std::get<Release>(task.operation).token);
    if (is_decided) decide_here(task);
    start(task, then);
    if (barred) bar_restores(lock, *barred);
    settle(lock);
}

// The host's own table, which another node of this host may use as well, does not know this token,
// and neither does this node: it may be of a grant in the fleet's store.
bool Node::Impl::is_foreign_here(const Task& task, const Lock& lock) const noexcept {
    return fleet_local_ && task.ticket && !task.had_token && !lock.record;
}

void Node::Impl::unlocked(Task& task, const Reply& reply, Time sent) {
    Lock& lock = *task.lock;
    const Token& token = std::get<Release>(task.operation).token;
    std::int64_t value = 0;
    switch (reply.status) {
        case Status::released:
            value = 1;
            break;
        case Status::hold_removed:
            value = 2;
            break;
        case Status::held_by_other:
            value = -1;
            break;
        default:
            break;
    }
    // The doubtful release may have been the one that did it: the record has not its token any
    // more, and so it is released. Not if another grant had taken its place before it was sent.
    const bool gone = reply.status == Status::not_held || reply.status == Status::held_by_other;
    if (gone && task.doubtful && !task.was_others) {
        value = is_only_hold_gone(lock, reply) ? 2 : 1;
    }
    if (gone) {
        const auto before = remembered(*lock.key, token);
        if (before && *before != lost_maxhold) value = *before;  // it was under way twice
    }
    const bool here = lock.record && lock.record->find(token) != nullptr;
    if (reply.status == Status::released && reply.record) ended_in_store(lock, *reply.record);
    if (here && (value == 1 || value == 2)) {
        if (wants_debug()) {
            notice(Notice::Level::debug,
                   "lock.released",
                   grant_name(*lock.key, lock.record->fence) + " released by client " +
                       task.client.str() + (value == 2 ? ", still held" : ""));
        }
        if (value == 1) add_gone_if_roamed(lock);
        const bool is_last = lock.record->holds.size() == 1;
        forget_hold(lock, token);
        if (value == 1 || is_last) drop_record(lock);
    } else if (here && is_only_hold_gone(lock, reply)) {
        forget_hold(lock, token);
    } else if (here && gone) {
        lease_ended(
            lock, reply.status == Status::not_held ? "gone from the store" : "taken in the store");
    }
    if (reply.status == Status::hold_removed) keep_rest(lock, reply, sent);
    lock.releasing = false;
    if (gone && value < 1 && is_foreign_here(task, lock)) {
        return fail(*task.ticket, ErrorWord::nostore, away_text(lock));
    }
    if (value == 1) ++counts_.released;
    if (value < 1 && task.ticket) ++counts_.not_owner;
    if (reply.status != Status::foreign_value) remember(*lock.key, token, value);
    if (task.ticket) answer(*task.ticket, Number{value});
    if (value == 1 || reply.status == Status::not_held) look_now(lock);
}

// Other holds are left of the grant, maybe of another node, and maybe this one has not heard of
// them: what it knows is the newest now (T10). Else what was taken out would come back with the
// record of a node that has not heard of that.
void Node::Impl::keep_rest(Lock& lock, const Reply& reply, Time sent) {
    if (!reply.record || reply.record->left <= Duration::zero()) return;
    const Time keep_at = lock.record ? lock.keep_at : Time::max();
    keep_record(lock, GrantRecord(*reply.record), sent);
    lock.keep_at = std::min(lock.keep_at, keep_at);  // nothing was extended
}

// Another node took out this hold; the grant goes on under others, whose record this node has.
bool Node::Impl::is_only_hold_gone(const Lock& lock, const Reply& reply) const noexcept {
    return reply.status == Status::held_by_other && lock.record &&
           lock.record->fence == reply.fence_seen && lock.record->holds.size() > 1;
}

// The store ended a grant at this node's word. Another node that missed the message may hand it
// over as live.
void Node::Impl::ended_in_store(Lock& lock, const GrantRecord& ended) {
    const bool is_own = lock.record && lock.record->fence == ended.fence && !lock.roamed &&
                        ended.node == options_.name;
    if (!is_own) {
        add_gone(*lock.key, ended.fence, now_ + ended.left + ended.delay);
        tell_ended(*lock.key, ended.fence, given_to(ended.holds));
    }
    end_delay(lock, ended.fence);
}

void Node::Impl::on(RenewCommand&& command) {
    if (draining_ && command.keep) command.keep = false;
    Lock& lock = locks_.of(command.key);
    if (is_away(lock)) {
        fail(command.ticket, ErrorWord::nostore, away_text(lock));
        return erase_if_idle(lock);
    }
    const bool strict = is_strict(command.key);
    Renew wish{command.key, command.token, options_.name, std::nullopt, command.keep, strict};
    wish.ttl = command.ttl;
    if (command.keep) wish.stands = standing_attempt(options_.incarnation);
    // What it was granted for may be longer than is granted by now.
    const bool is_unknown = !wish.ttl && !lock.record && limits_.ttl_max < limits_.ttl_longest;
    const bool looks = is_unknown || (strict && needs_look(lock));
    Operation operation = looks ? Operation(Inspect{command.key}) : Operation(wish);
    Task& task = add_task(Task::Kind::renew, std::move(operation), &lock, command.ticket);
    if (looks) task.after_look = std::move(wish);
    if (command.keep) {
        task.keeper = command.ticket.client;
        taking_over_.emplace(*task.keeper, &task);
    }
    task.client = std::move(command.client);
    start(task);
}

// Rule 5: before a strict lease is extended, this node's row says for how long at most. Without a
// record of the lock it would have to say the longest that there is, and whoever loses this node
// would wait that out for every strict lock.
bool Node::Impl::needs_look(const Lock& lock) const noexcept {
    return !lock.record && permit_.strict_ttl_max < limits_.ttl_longest + limits_.delay_longest;
}

// Whether the renewal was sent. If not, `reply` says what it would have answered.
bool Node::Impl::looked(Task& task, Reply& reply) {
    Renew renew = std::move(*task.after_look);
    task.after_look.reset();
    const bool is_live =
        reply.status == Status::found && reply.record && reply.record->left > Duration::zero();
    const bool is_its =
        is_live && std::ranges::find(reply.record->holds, renew.token, &Hold::token) !=
                       reply.record->holds.end();
    if (is_its) {
        if (!renew.ttl) renew.ttl = reply.record->ttl;
        task.seen_left = reply.record->left;
        task.seen_delay = reply.record->delay;
    }
    task.operation = std::move(renew);
    if (is_its || task.lock->record) {
        task.doubtful = false;
        start(task);
        return true;
    }
    if (reply.status != Status::foreign_value) {
        reply.status = is_live ? Status::held_by_other : Status::not_held;
    }
    return false;
}

void Node::Impl::renewed(Task& task, Reply& reply, Time sent) {
    Lock& lock = *task.lock;
    const Token token = std::get<Renew>(task.operation).token;
    if (reply.status == Status::renewed) {
        ++counts_.renewed;
        keep_record(lock, std::move(*reply.record), sent);
        if (task.ticket && task.keeper) {
            set_holder(lock, {token, task.ticket->client, Holder::never, true, false});
        }
        const Duration left = lock.record->lease_end - now_;
        if (!task.ticket) return;
        if (left > Duration::zero()) return answer(*task.ticket, Number{to_ms(left)});
        return answer(*task.ticket, Number{0});
    }
    if (reply.status == Status::holds_full) {
        if (!task.ticket) return;
        return fail(*task.ticket, ErrorWord::limit, holds_full_text());
    }
    const bool here = lock.record && lock.record->find(token) != nullptr;
    if (reply.status == Status::renew_limit) {
        if (task.ticket) {
            const Time end = told_end(*lock.key, sent, reply.record->left);
            fail(*task.ticket,
                 ErrorWord::limit,
                 "maxrenew: renewed " + std::to_string(reply.record->renewals) +
                     " times; the lease runs out in " +
                     std::to_string(std::max<std::int64_t>(to_ms(end - now_), 0)) + " ms");
        }
        return;
    }
    if (here && is_only_hold_gone(lock, reply)) {
        forget_hold(lock, token);
    } else if (here) {
        lease_ended(lock, "gone from the store");
    }
    if (!task.ticket) return;
    if (remembered(*lock.key, token) == lost_maxhold) {
        return fail(
            *task.ticket, ErrorWord::lost, "maxhold: the hard end of this grant has passed");
    }
    if (is_foreign_here(task, lock)) {
        return fail(*task.ticket, ErrorWord::nostore, away_text(lock));
    }
    ++counts_.not_owner;
    if (reply.status == Status::foreign_value) {
        return fail(*task.ticket,
                    ErrorWord::err,
                    "the store's key of this lock is in use by something else: latchd did not "
                    "write its value");
    }
    answer(*task.ticket, Number{reply.status == Status::held_by_other ? -1 : 0});
}

// Whatever waits here for this request id is told, and takes nothing any more.
void Node::Impl::cancel_here(const LockKey& key, const RequestId& request) {
    Lock* const lock = locks_.find(key);
    if (lock == nullptr) return;
    const auto it = std::ranges::find_if(
        lock->requests, [&](const Request* r) { return r->id == request && !r->given_up; });
    if (it == lock->requests.end()) return;
    Request& waiting = **it;
    if (!waiting.ghost) {
        fail(waiting.command.ticket, ErrorWord::err, "cancelled: this REQ was cancelled");
    }
    if (waiting.stage == Request::Stage::asked) {
        if (waiting.queued) --counts_.waiting;
        waiting.queued = false;
        waiting.given_up = true;
        forget_waiting(waiting);
        waits_.disarm(waiting);
        return;
    }
    waiting.given_up = true;
    drop(waiting);
}

void Node::Impl::on(CancelCommand&& command) {
    cancel_here(command.key, command.request);
    Cancel wish{
        command.key, command.request, options_.name, options_.wait_max + limits_.ttl_longest};
    Lock& lock = locks_.of(command.key);
    add_cancelled(command.key, command.request);
    Task& task = add_task(Task::Kind::cancel, std::move(wish), &lock, command.ticket);
    task.try_until = now_ + options_.wait_max + limits_.ttl_longest;
    start(task);
}

void Node::Impl::cancelled(Task& task, const Reply& reply, Time sent) {
    Lock& lock = *task.lock;
    const RequestId& request = std::get<Cancel>(task.operation).request;
    const KeptHold* const hold = lock.record ? lock.record->find(request) : nullptr;
    // The doubtful one may have been the one that did it.
    const bool ended =
        reply.status == Status::ended || (task.doubtful && hold != nullptr) || task.had_token;
    const bool was_last = reply.record && reply.record->holds.size() == 1 &&
                          reply.record->holds.front().request == request;
    if (reply.status == Status::ended && was_last) ended_in_store(lock, *reply.record);
    if (ended && hold != nullptr) {
        const Token token = hold->token;
        const bool last = lock.record->holds.size() == 1;
        forget_hold(lock, token);
        if (last) drop_record(lock);
    }
    if (reply.status == Status::ended && !was_last) keep_rest(lock, reply, sent);
    look_now(lock);
    if (task.ticket) answer(*task.ticket, Number{ended ? 1 : 0});
}

void Node::Impl::on(ForceCommand&& command) {
    Lock& lock = locks_.of(command.key);
    Force wish{command.key, options_.name, command.fence};
    Task& task = add_task(Task::Kind::force, std::move(wish), &lock, command.ticket);
    task.client = std::move(command.client);
    start(task);
}

void Node::Impl::forced(Task& task, const Reply& reply) {
    Lock& lock = *task.lock;
    // The doubtful one may have been the one that did it.
    const auto& fence = std::get<Force>(task.operation).fence;
    const bool was_sent = task.doubtful && lock.record && (!fence || *fence == lock.record->fence);
    const bool ended = reply.status == Status::ended || was_sent;
    if (reply.status == Status::ended && reply.record) ended_in_store(lock, *reply.record);
    if (ended || wants_debug()) {
        notice(ended ? Notice::Level::warning : Notice::Level::debug,
               "audit.forceunlock",
               grant_name(*lock.key, reply.fence_seen) + " FORCEUNLOCK by client " +
                   task.client.str() + (ended ? ": ended" : ": nothing to end"));
    }
    if (ended && lock.record) {
        happened(Happened::Kind::revoked, lock, "forceunlock");
        ++counts_.lost;
        drop_record(lock);
    }
    look_now(lock);
    if (task.ticket) answer(*task.ticket, Number{ended ? 1 : 0});
}

void Node::Impl::on(NodeMessage&& message) {
    if (message.kind == NodeMessage::Kind::cancelled) {
        return cancel_here(message.key, message.request);
    }
    if (message.kind == NodeMessage::Kind::offered) return offered(message.key);
    Lock* const lock = locks_.find(message.key);
    if (lock == nullptr) return;
    // Answers and messages come by different connections: either may be newer.
    const bool is_moved = message.kind == NodeMessage::Kind::moved;
    Aside& aside = lock->set_aside();
    aside.moved_fence = message.fence;
    aside.moved_version = is_moved ? message.version : Aside::has_ended;
    aside.busy_until = {};
    if (!is_moved) end_delay(*lock, message.fence);
    if (!is_elsewhere(*lock)) return;
    switch (message.kind) {
        case NodeMessage::Kind::moved:
            if (message.keep) {
                for (Holder& holder : lock->holders) {
                    const bool is_it =
                        message.hold.empty() || message.hold == token_tail(holder.token);
                    if (!is_it) continue;
                    give_back_later(*lock, holder);
                    stop_keeping(*lock, holder);
                }
            }
            // Its lease and holds are another node's knowledge now, and so is its end: whoever
            // waits has to ask. A record that stayed would be put back into a store that was
            // replaced, when the lock was long released through the other node: settle() drops it.
            lock->confirmed_at = Time::min();
            lock->check_at = now_;
            // Renewed from here it is this node's again; at once, but two nodes that both keep
            // holds of it must not answer each other without end.
            lock->keep_at = std::max(now_, aside.reclaim_at);
            aside.reclaim_at = lock->keep_at + lock->record->ttl / 6;
            break;
        case NodeMessage::Kind::forced:
            happened(Happened::Kind::revoked, *lock, "forceunlock");
            ++counts_.lost;
            [[fallthrough]];
        case NodeMessage::Kind::released:
            drop_record(*lock);
            break;
        case NodeMessage::Kind::cancelled:
        case NodeMessage::Kind::offered:
            break;
    }
    settle(*lock);
}

void Node::Impl::on(ClientGone&& event) {
    if (const auto it = waiting_clients_.find(event.client); it != waiting_clients_.end()) {
        const Few<Request*> requests = std::move(it->second);
        waiting_clients_.erase(it);
        for (Request* const request : requests) client_left(*request);
    }
    // What its RENEW KEEP comes to, nobody is there to renew for.
    const auto [first, last] = taking_over_.equal_range(event.client);
    for (auto each = first; each != last; ++each) {
        each->second->keeper.reset();
        Task& task = *each->second;  // where it was not sent yet
        Renew& wish = task.after_look ? *task.after_look : std::get<Renew>(task.operation);
        wish.keep = false;
        wish.stands.reset();
    }
    taking_over_.erase(first, last);
    give_back_parted(event.client);
    const auto it = keeping_clients_.find(event.client);
    if (it == keeping_clients_.end()) return;
    std::vector<Lock*> locks(it->second.begin(), it->second.end());
    keeping_clients_.erase(it);
    std::ranges::sort(locks, {}, [](const Lock* lock) { return *lock->key; });  // as every run does
    for (Lock* const lock : locks) {
        std::vector<Token> to_release;
        for (Holder& holder : lock->holders) {
            if (holder.client != event.client || !holder.keep) continue;
            holder.keep = false;
            --counts_.keeping;
            if (holder.release_on_close) to_release.push_back(holder.token);
        }
        for (const Token& token : to_release) {
            give_back(*lock, token, now_ + limits_.ttl_longest + options_.answer_max);
        }
        settle(*lock);
    }
}

}  // namespace latchd::core
