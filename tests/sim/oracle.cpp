// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Duration answer_max = seconds(2);
constexpr Duration tolerance = milliseconds(2);
// How long a message between healthy nodes takes, with the command it races against.
constexpr Duration news_age = milliseconds(20);

const core::LockCommand* lock_of(const Exchange& exchange) {
    return std::get_if<core::LockCommand>(&exchange.command);
}

std::string holder_of(const Exchange& exchange, const core::LockCommand& command) {
    if (!command.owner.empty()) return "owner " + command.owner.str();
    if (command.request) return "request " + command.request->str();
    return "call " + std::to_string(exchange.number);
}

LockKey key_of(const core::ClientCommand& command) {
    return std::visit(
        [](const auto& c) -> LockKey {
            if constexpr (std::is_same_v<std::decay_t<decltype(c)>, core::ListCommand>) {
                return {};
            } else {
                return c.key;
            }
        },
        command);
}

}  // namespace

Moment Oracle::now() const { return world_.now(); }

void Oracle::violate(const LockKey& key, std::string text) {
    if (!violation_) violation_ = Violation{key, std::move(text), now()};
}

// ---- answers as they leave a node ------------------------------------------------------------

void Oracle::arrived(const Exchange& exchange) {
    if (const auto* unlock = std::get_if<core::UnlockCommand>(&exchange.command)) {
        unlocking_.try_emplace(unlock->token, now());
    }
}

void Oracle::answered(Member& member, Exchange& exchange, const core::Outcome& outcome) {
    const LockKey key = key_of(exchange.command);
    if (exchange.is_answered) return violate(key, "a command was answered twice");
    exchange.is_answered = true;
    exchange.answered_at = now();
    const core::LockCommand* const lock = lock_of(exchange);
    const Duration limit = answer_max + (lock != nullptr ? lock->wait : Duration{});
    const Time due = std::max(exchange.arrived_local + limit, member.resumed_at());
    if (member.now() > due + tolerance) violate(key, "an answer came after its deadline");
    if (const auto* error = std::get_if<core::Error>(&outcome)) {
        ++tally_.errors;
        const bool is_expected = error->word != core::ErrorWord::err ||
                                 error->text.starts_with("cancelled") ||
                                 error->text.starts_with("superseded");
        if (!is_expected) violate(key, "an unexpected error: " + error->text);
        return;
    }
    if (lock != nullptr) return check_lock(member, exchange, outcome);
    const auto* number = std::get_if<core::Number>(&outcome);
    if (number == nullptr) return;
    if (std::holds_alternative<core::UnlockCommand>(exchange.command)) {
        check_unlock(exchange, number->value);
    } else if (std::holds_alternative<core::RenewCommand>(exchange.command)) {
        check_renew(exchange, number->value);
    }
}

void Oracle::check_lock(Member& member, const Exchange& exchange, const core::Outcome& outcome) {
    const core::LockCommand& lock = *lock_of(exchange);
    if (const auto* grant = std::get_if<core::Granted>(&outcome)) {
        ++tally_.grants;
        told_.insert(grant->token);
        if (grant->left <= Duration::zero()) violate(lock.key, "a grant that was over is told");
        if (grant->left > world_.plan.ttl_max) violate(lock.key, "a lease above ttl_max");
        return;
    }
    if (!std::holds_alternative<core::Refused>(outcome)) {
        return violate(lock.key, "LOCK was answered with something else");
    }
    ++tally_.refusals;
    if (may_refuse(exchange)) return;
    // Without a store a node's own record counts: nobody else can be granted before it is put back.
    if (!member.link().is_open()) return;
    // Nor has a host that was paused read its messages yet.
    if (member.now() - member.resumed_at() < news_age) return;
    // What a node was not told it finds out when its head asks again, at most a lease later.
    const bool was_busy =
        world_.truth.was_busy(lock.key, *exchange.arrived - world_.plan.ttl_max, now());
    if (world_.missed_messages(member.index()) || (lock.wait > Duration::zero() && was_busy)) {
        ++tally_.stale_refusals;
        return;
    }
    violate(lock.key, "nil, but nobody had the lock: " + describe(exchange.command));
}

bool Oracle::may_refuse(const Exchange& exchange) {
    const core::LockCommand& lock = *lock_of(exchange);
    const Moment from = *exchange.arrived - news_age;
    if (world_.truth.was_busy(lock.key, from, now())) return true;
    for (const auto& [token, belief] : beliefs_) {
        if (belief.key == lock.key && belief.told_end >= from) return true;
    }
    // An earlier waiter of this node has the lock reserved.
    return std::ranges::any_of(world_.exchanges, [&](const auto& entry) {
        const Exchange& other = entry.second;
        const core::LockCommand* const waiting = lock_of(other);
        return &other != &exchange && waiting != nullptr && waiting->wait > Duration::zero() &&
               waiting->key == lock.key && other.incarnation == exchange.incarnation &&
               other.arrived && (!other.is_answered || other.answered_at >= from);
    });
}

void Oracle::check_unlock(const Exchange& exchange, std::int64_t value) {
    const auto& unlock = std::get<core::UnlockCommand>(exchange.command);
    if (value == 1 || value == 2) {
        ++tally_.releases;
        // It may be the answer to an earlier one, whose client did not get it.
        const Moment since = unlocking_.at(unlock.token);
        const auto known = known_end_.find(unlock.token);
        const bool was_told = known != known_end_.end() && known->second >= since - news_age;
        if (!released_.contains(unlock.token) && !was_told &&
            !world_.truth.was_held(unlock.token, since, now())) {
            violate(unlock.key,
                    "UNLOCK is answered " + std::to_string(value) +
                        " for a token that held nothing: " + unlock.token.str());
        }
        released_.insert(unlock.token);
    } else if (world_.truth.was_held_throughout(unlock.token, *exchange.arrived, now())) {
        violate(unlock.key,
                "UNLOCK is answered " + std::to_string(value) +
                    " for a hold that is still there: " + unlock.token.str());
    }
}

void Oracle::check_renew(const Exchange& exchange, std::int64_t value) {
    const auto& renew = std::get<core::RenewCommand>(exchange.command);
    if (value > 0) {
        ++tally_.renewals;
        if (!world_.truth.was_held(renew.token, *exchange.arrived, now())) {
            violate(renew.key, "RENEW of a token that held nothing: " + renew.token.str());
        }
    } else if (value < 0 || !world_.truth.was_held(renew.token, *exchange.arrived, now())) {
        if (world_.truth.was_held_throughout(renew.token, *exchange.arrived, now())) {
            violate(renew.key,
                    "RENEW is answered " + std::to_string(value) +
                        " for a hold that is still there: " + renew.token.str());
        }
    }
}

// ---- what clients believe --------------------------------------------------------------------

void Oracle::received_grant(const Exchange& exchange,
                            const core::Granted& grant,
                            Moment end,
                            bool listens) {
    const core::LockCommand& lock = *lock_of(exchange);
    Belief belief;
    belief.key = lock.key;
    belief.holder = holder_of(exchange, lock);
    belief.opening = opening_of_[grant.token];
    belief.began = now();
    belief.end = belief.told_end = end;
    belief.listens = listens;
    belief.is_alone = lock.owner.empty();
    belief.delay = belief.is_alone ? lock.delay.value_or(Duration{}) : Duration{};
    belief.releases_on_close = lock.release_on_close;
    if (lock.hold_max && belief.is_alone) belief.hard_end = now() + *lock.hold_max;
    if (lock.keep) belief.keeper = exchange.ticket.client;

    Received& received = received_[lock.key];
    if (grant.fence == received.fence && belief.holder != received.holder &&
        belief.opening == received.opening) {
        violate(lock.key, "I2: the fence of " + received.holder + " was given to " + belief.holder);
    }
    const auto disturbed = disturbed_.find(lock.key);
    const bool may_fall = received.opening != belief.opening ||
                          (disturbed != disturbed_.end() && now() - disturbed->second < seconds(8));
    if (grant.fence < received.fence && !may_fall) {
        violate(lock.key, "I2: a fence below one that was received before");
    }
    if (grant.fence > received.fence || received.opening < belief.opening) {
        received = {grant.fence, belief.holder, belief.opening};
    }

    const auto [it, is_new] = beliefs_.try_emplace(grant.token, belief);
    if (revoked_.contains(grant.token)) return let_go(grant.token);
    if (!is_new) {
        it->second.opening = std::max(it->second.opening, belief.opening);
        it->second.keeper = belief.keeper;
        it->second.listens = listens;
        it->second.releases_on_close = belief.releases_on_close;
        if (it->second.was_let_go) return;
        extend(it->second, grant.token, end);
    } else {
        check_delay(it->second);
    }
    check_alone(it->second, grant.token);
}

void Oracle::received_renewal(const Exchange& exchange, Moment end) {
    const auto& renew = std::get<core::RenewCommand>(exchange.command);
    const auto it = beliefs_.find(renew.token);
    if (it == beliefs_.end() || it->second.was_let_go) return;
    if (renew.keep) it->second.keeper = exchange.ticket.client;
    extend(it->second, renew.token, end);
    check_alone(it->second, renew.token);
}

void Oracle::extend(Belief& belief, const Token& token, Moment end) {
    world_.note(&belief.key, 12, [&] {
        return token.str() + " may be relied on for " + std::to_string(to_ms(end - now())) + " ms";
    });
    belief.end = std::max(belief.end, end);
    belief.told_end = std::max(belief.told_end, end);
    if (belief.hard_end && belief.end > *belief.hard_end + seconds(1)) {
        violate(belief.key, "MAXHOLD: " + token.str() + " is renewed beyond its hard end");
    }
}

bool Oracle::may_overlap(const Belief& a, const Belief& b) const {
    // Nodes that share a store which restarts may lose locks until there is a hand-over; a node
    // that has it to itself puts its own locks back first.
    if (a.opening == b.opening) return false;
    return world_.plan.nodes > 1 || a.is_orphan || b.is_orphan;
}

void Oracle::check_alone(const Belief& belief, const Token& token) {
    if (belief.end <= now()) return;
    for (const auto& [other_token, other] : beliefs_) {
        if (other.key != belief.key || other.holder == belief.holder || other.end <= now()) {
            continue;
        }
        const auto overlap = to_ms(std::min(other.end, belief.end) - now());
        if (may_overlap(belief, other)) {
            ++tally_.lost_in_restart;
            world_.note(&belief.key, 11, [&, &rival = other_token] {
                return "overlap for " + std::to_string(overlap) +
                       " ms of two openings: " + token.str() + " and " + rival.str();
            });
            continue;
        }
        violate(belief.key,
                "I1: " + token.str() + " (" + belief.holder + ") and " + other_token.str() + " (" +
                    other.holder + ") for another " + std::to_string(overlap) + " ms");
    }
}

void Oracle::check_delay(const Belief& belief) {
    for (const auto& [token, other] : beliefs_) {
        const bool concerns = other.key == belief.key && other.holder != belief.holder &&
                              other.is_alone && !other.was_let_go && other.delay > Duration::zero();
        if (!concerns || other.opening != belief.opening) continue;
        if (now() < other.end + other.delay - other.delay / 500) {
            violate(belief.key, "granted within the DELAY of " + token.str());
        }
    }
}

void Oracle::let_go(const Token& token) {
    const auto it = beliefs_.find(token);
    if (it == beliefs_.end()) return;
    it->second.end = std::min(it->second.end, now());
    it->second.was_let_go = true;
    it->second.keeper.reset();
}

void Oracle::let_go(const RequestId& request) {
    for (auto& [token, belief] : beliefs_) {
        if (belief.holder == "request " + request.str()) let_go(token);
    }
}

void Oracle::client_closed(ClientId client) {
    for (auto& [token, belief] : beliefs_) {
        if (belief.keeper != client) continue;
        belief.keeper.reset();
        if (!belief.releases_on_close) continue;
        let_go(token);
        unlocking_.try_emplace(token, now());
    }
}

// ---- what happens elsewhere ------------------------------------------------------------------

// A node that has the store to itself must put back all that it told. A copy that another node puts
// back first may be older: what it lacks is lost until nodes hand over to each other.
void Oracle::restored(const core::GrantRecord& record) {
    const HostClock& clock = world_.redis.clock();
    const Moment end = clock.when(clock.at(now()) + record.left);
    for (const core::Hold& hold : record.holds) {
        carried_.insert(hold.token);
        const auto it = beliefs_.find(hold.token);
        if (it == beliefs_.end()) continue;
        Belief& belief = it->second;
        if (world_.plan.nodes == 1 || end >= belief.end) belief.opening = world_.redis.openings();
    }
}

void Oracle::store_did(std::size_t node,
                       const core::Operation& operation,
                       const core::OperationReply& reply) {
    const core::Reply& last = reply.then ? *reply.then : reply.reply;
    if (const auto* release = std::get_if<core::Release>(&operation)) {
        const auto status = reply.reply.status;
        if (status == core::Status::released || status == core::Status::hold_removed) {
            freed_.insert_or_assign(release->token, node);
        }
    }
    if (last.status == core::Status::granted || last.status == core::Status::reentered) {
        for (const core::Hold& hold : last.record->holds) {
            // An old copy that another node put back is no grant.
            const auto freed = freed_.find(hold.token);
            // Nor is it one to be surprised at when the node does not know of the release yet.
            if (freed == freed_.end() || freed->second != node) continue;
            if (carried_.contains(hold.token)) continue;
            violate(last.record->key,
                    "a hold that was released is granted again: " + hold.token.str());
        }
    }
    if (last.status == core::Status::granted || last.status == core::Status::reentered) {
        for (const core::Hold& hold : last.record->holds) {
            granted_.try_emplace(hold.token, now());
            opening_of_[hold.token] = world_.redis.openings();
        }
    }
    if (last.status == core::Status::restored) restored(*last.record);
    if (const auto* force = std::get_if<core::Force>(&operation)) {
        disturbed_[force->key] = now();
        if (reply.reply.status != core::Status::ended) return;
        for (const core::Hold& hold : reply.reply.record->holds) {
            let_go(hold.token);
            revoked_.insert(hold.token);
        }
    } else if (const auto* cancel = std::get_if<core::Cancel>(&operation)) {
        disturbed_[cancel->key] = now();
        let_go(cancel->request);
        if (reply.reply.status != core::Status::ended) return;
        for (const core::Hold& hold : reply.reply.record->holds) {
            if (hold.request == cancel->request) revoked_.insert(hold.token);
        }
    }
}

void Oracle::journal_put(Member& member, const core::GrantRecord& record) {
    const Moment end = member.clock().when(member.now() + record.left);
    for (const core::Hold& hold : record.holds) {
        Moment& known = known_end_[hold.token];
        known = std::max(known, end);
        const auto it = beliefs_.find(hold.token);
        if (it == beliefs_.end() || !it->second.keeper || it->second.was_let_go) continue;
        if (!world_.is_connected(*it->second.keeper, member)) continue;
        extend(it->second, hold.token, end);
        check_alone(it->second, hold.token);
    }
}

void Oracle::happened(Member&, const core::Happened& event) {
    using Kind = core::Happened::Kind;
    if (event.kind != Kind::lost && event.kind != Kind::revoked) return;
    for (auto& [token, belief] : beliefs_) {
        const bool is_told =
            belief.listens && belief.keeper &&
            std::ranges::find(event.holders, *belief.keeper) != event.holders.end();
        if (belief.key == event.key && is_told) belief.end = std::min(belief.end, now());
    }
}

void Oracle::node_killed(Member& member, bool with_journal) {
    dead_.insert(member.incarnation());
    if (with_journal) return;
    for (auto& [token, belief] : beliefs_) belief.is_orphan = true;
}

// ---- looks from time to time -----------------------------------------------------------------

void Oracle::check_overdue() {
    for (const auto& [number, exchange] : world_.exchanges) {
        if (exchange.is_answered || !exchange.arrived) continue;
        Member& member = world_.member(exchange.node);
        if (!member.is_alive() || member.is_paused() ||
            member.incarnation() != exchange.incarnation || world_.was_closed(exchange)) {
            continue;
        }
        const core::LockCommand* const lock = lock_of(exchange);
        const Duration limit = answer_max + (lock != nullptr ? lock->wait : Duration{});
        const Time due = std::max(exchange.arrived_local + limit, member.resumed_at());
        if (member.now() > due + tolerance) {
            violate(key_of(exchange.command),
                    "no answer within the deadline: " + describe(exchange.command));
        }
    }
    std::erase_if(beliefs_, [this](const auto& entry) {
        return entry.second.told_end + seconds(70) < now();
    });
}

void Oracle::check_untold() {
    for (const core::GrantRecord& record : world_.redis.locks()) {
        for (const core::Hold& hold : record.holds) {
            // An old copy that another node has may show a hold that was given back since.
            if (world_.plan.nodes > 1 && carried_.contains(hold.token)) continue;
            if (told_.contains(hold.token)) continue;
            const auto granted = granted_.find(hold.token);
            if (granted == granted_.end() || now() - granted->second < seconds(3)) continue;
            const bool has_died = std::ranges::any_of(
                hold.attempts, [this](const Attempt& a) { return dead_.contains(a.incarnation); });
            if (!has_died) {
                violate(record.key, "a hold that nobody was told of is kept: " + hold.token.str());
            }
        }
    }
}

void Oracle::check_empty() {
    for (const core::GrantRecord& record : world_.redis.locks()) {
        violate(record.key, "a ghost is left in the store");
    }
    for (std::size_t i = 0; i < world_.size(); ++i) {
        Member& member = world_.member(i);
        const core::NodeCounts counts = member.node().counts();
        if (counts.held != 0 || counts.waiting != 0 || counts.keeping != 0) {
            violate({},
                    member.label() + " still counts " + std::to_string(counts.held) + " held, " +
                        std::to_string(counts.waiting) + " waiting, " +
                        std::to_string(counts.keeping) + " kept");
        }
        if (member.node().next_deadline()) {
            violate({}, member.label() + " still has a deadline");
        }
    }
}

}  // namespace latchd::sim
