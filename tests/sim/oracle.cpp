// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// What clients are told, and what they believe.
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

bool is_strict(const LockKey& key) { return key.resource == ResourceName("s"); }

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

Oracle::Teller Oracle::teller_of(Member& member) const {
    return {member.incarnation(),
            member.index(),
            member.epoch(),
            member.is_confirmed(),
            member.is_local(),
            member.serving_run()};
}

void Oracle::answered(Member& member, Exchange& exchange, const core::Outcome& outcome) {
    const LockKey key = key_of(exchange.command);
    if (exchange.is_answered) return violate(key, "a command was answered twice");
    exchange.is_answered = true;
    exchange.answered_at = now();
    exchange.is_granted = std::holds_alternative<core::Granted>(outcome);
    tellers_[exchange.number] = teller_of(member);
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
        check_unlock(member, exchange, number->value);
    } else if (std::holds_alternative<core::RenewCommand>(exchange.command)) {
        check_renew(member, exchange, number->value);
    }
}

void Oracle::check_lock(Member& member, const Exchange& exchange, const core::Outcome& outcome) {
    const core::LockCommand& lock = *lock_of(exchange);
    if (const auto* grant = std::get_if<core::Granted>(&outcome)) {
        ++tally_.grants;
        told_.insert(grant->token);
        if (member.is_local()) ++tally_.local_grants;
        if (!member.is_confirmed()) ++tally_.unconfirmed_grants;
        if (grant->left <= Duration::zero()) violate(lock.key, "a grant that was over is told");
        const bool has_stepped = now() - stepped_at_ < seconds(30);
        const Duration unchecked = world_.plan.checks_clock ? milliseconds(1100) : seconds(11);
        const Duration window = !has_stepped          ? Duration{}
                                : is_strict(lock.key) ? milliseconds(250)
                                                      : unchecked;
        if (grant->left > world_.plan.ttl_max + window) {
            violate(lock.key, "a lease above ttl_max");
        }
        const bool is_unworthy = lock.require == core::Require::shared &&
                                 (grant->tier == "local" || grant->tier == "redis?");
        if (is_unworthy) violate(lock.key, "REQUIRE shared is answered with tier " + grant->tier);
        if (is_strict(lock.key) && (member.is_local() || grant->tier == "redis?")) {
            violate(lock.key, "strict, but granted by tier " + grant->tier);
        }
        return check_fence(member, exchange, *grant);
    }
    if (!std::holds_alternative<core::Refused>(outcome)) {
        return violate(lock.key, "LOCK was answered with something else");
    }
    ++tally_.refusals;
    if (may_refuse(exchange)) return;
    // What happened to stores, nodes and messages shows as nil for up to a lease.
    const Duration settled = world_.plan.ttl_max + world_.plan.delay_max + seconds(3);
    if (now() - unsettled_at_ < settled || world_.missed_messages(member.index()) ||
        member.now() - member.resumed_at() < news_age || lock.wait > Duration::zero()) {
        ++tally_.unchecked_nil;
        return;
    }
    violate(lock.key, "I9: nil, but nobody had the lock: " + describe(exchange.command));
}

bool Oracle::may_refuse(const Exchange& exchange) const {
    const core::LockCommand& lock = *lock_of(exchange);
    const Moment from = *exchange.arrived - news_age;
    if (world_.queues.was_reserved(lock.key, from)) return true;
    for (const auto& [number, truth] : world_.truths) {
        if (truth.was_busy(lock.key, from, now())) return true;
    }
    // A grant of the host's own table is known to its node alone, also while no store is open.
    const Truth& local = world_.member(exchange.node).local_truth();
    if (local.was_busy(lock.key, from, now())) return true;
    for (const auto& [token, belief] : beliefs_) {
        if (belief.key == lock.key && belief.told_end >= from) return true;
    }
    // An earlier waiter of this node has the lock reserved, or it was granted and its client does
    // not know yet.
    return std::ranges::any_of(world_.exchanges, [&](const auto& entry) {
        const Exchange& other = entry.second;
        const core::LockCommand* const waiting = lock_of(other);
        if (&other != &exchange && waiting != nullptr && waiting->key == lock.key &&
            other.is_granted && !other.is_over) {
            return true;
        }
        return &other != &exchange && waiting != nullptr && waiting->wait > Duration::zero() &&
               waiting->key == lock.key && other.incarnation == exchange.incarnation &&
               other.arrived && (!other.is_answered || other.answered_at >= from);
    });
}

// I2 and I3, as the grant leaves the node.
void Oracle::check_fence(Member& member, const Exchange& exchange, const core::Granted& grant) {
    const core::LockCommand& lock = *lock_of(exchange);
    const Teller teller = teller_of(member);
    const std::string holder = holder_of(exchange, lock);
    const auto executed = granted_.find(grant.token);
    if (executed != granted_.end()) {
        const auto later = openings_.upper_bound(executed->second.epoch);
        const bool is_late = later != openings_.end() && executed->second.at > later->second.at;
        if (is_late && !teller.is_local) {
            Teller newer;
            newer.epoch = later->first;
            // Strict resources open later: until then who has not acknowledged may go on.
            const auto excuse = case_of(lock.key, teller, newer);
            if (!excuse || (is_strict(lock.key) && *excuse != Case::not_acked)) {
                violate(lock.key,
                        "I3: granted in epoch " + std::to_string(executed->second.epoch) +
                            " after epoch " + std::to_string(later->first) + " was opened");
            }
        }
    }
    const auto belief = beliefs_.find(grant.token);
    // It came by the same REQ through another node and was released: this answer is only late.
    if (belief != beliefs_.end() && belief->second.was_let_go) return;
    Received& last = received_[lock.key];
    const auto disturbed = disturbed_.find(lock.key);
    const bool may_fall = disturbed != disturbed_.end() && now() - disturbed->second < seconds(8);
    const bool is_same = grant.fence == last.fence && holder != last.holder;
    // A hold of the same owner keeps the fence.
    if ((grant.fence < last.fence || is_same) && !may_fall) {
        const auto excuse = case_of(lock.key, teller, last.teller);
        const bool has_stepped = now() - stepped_at_ < seconds(30);
        if (is_strict(lock.key) || (!excuse && !has_stepped)) {
            violate(lock.key,
                    "I2: " + holder + " gets fence " + std::to_string(epoch_of(grant.fence)) + ":" +
                        std::to_string(counter_of(grant.fence)) + " after " + last.holder +
                        " got " + std::to_string(epoch_of(last.fence)) + ":" +
                        std::to_string(counter_of(last.fence)));
        }
    }
    if (grant.fence > last.fence) last = {grant.fence, holder, teller, now()};
}

bool Oracle::was_held(const Token& token, Moment from) const {
    return std::ranges::any_of(world_.truths, [&](const auto& entry) {
        return entry.second.was_held(token, from, now());
    });
}

// Only where the node serves what is open, from that very process (a replica that was just promoted
// has a copy of it, with what was released since), and nothing has changed lately.
bool Oracle::was_held_throughout(Member& member, const Token& token, Moment from) const {
    Vault* const vault = world_.open_vault();
    if (vault == nullptr || !member.is_open() || member.epoch() != vault->epoch()) return false;
    if (member.serving_run() != world_.server(vault->site()).run()) return false;
    if (member.is_local() || now() - unsettled_at_ < seconds(6)) return false;
    // What is told ends before what the store has, by the margin and by a slow answer.
    return vault->truth().was_held_throughout(token, from, now() + milliseconds(1300));
}

void Oracle::check_unlock(Member& member, const Exchange& exchange, std::int64_t value) {
    const auto& unlock = std::get<core::UnlockCommand>(exchange.command);
    if (value == 1 || value == 2) {
        ++tally_.releases;
        // It may be the answer to an earlier one, whose client did not get it.
        const Moment since = unlocking_.at(unlock.token);
        const auto known = known_end_.find(unlock.token);
        const bool was_told = known != known_end_.end() && known->second >= since - news_age;
        const bool is_known =
            was_told || released_.contains(unlock.token) || was_held(unlock.token, since);
        // By the clock of a virtual machine that was away it was; and 1 is what an UNLOCK in doubt
        // is told once the token is gone.
        const bool is_excused = stood_still(member, world_.plan.ttl_max + seconds(5)) ||
                                now() - unsettled_at_ < seconds(5) ||
                                is_troubled(member.index(), Site::redis, seconds(5)) ||
                                is_troubled(member.index(), Site::mysql, seconds(5));
        if (!is_known && !is_excused) {
            violate(unlock.key,
                    "UNLOCK is answered " + std::to_string(value) +
                        " for a token that held nothing: " + unlock.token.str());
        }
        released_.insert(unlock.token);
    } else if (was_held_throughout(member, unlock.token, *exchange.arrived)) {
        violate(unlock.key,
                "UNLOCK is answered " + std::to_string(value) +
                    " for a hold that is still there: " + unlock.token.str());
    }
}

void Oracle::check_renew(Member& member, const Exchange& exchange, std::int64_t value) {
    const auto& renew = std::get<core::RenewCommand>(exchange.command);
    if (value > 0) {
        ++tally_.renewals;
        if (!member.is_local() && !was_held(renew.token, *exchange.arrived)) {
            violate(renew.key, "RENEW of a token that held nothing: " + renew.token.str());
        }
        return;
    }
    if (was_held_throughout(member, renew.token, *exchange.arrived)) {
        violate(renew.key,
                "RENEW is answered " + std::to_string(value) +
                    " for a hold that is still there: " + renew.token.str());
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
    belief.teller = tellers_[exchange.number];
    belief.began = now();
    belief.end = belief.told_end = end;
    belief.listens = listens;
    belief.is_alone = lock.owner.empty();
    belief.delay = belief.is_alone ? delay_given(grant.token, lock) : Duration{};
    if (lock.release_on_close) belief.releasers.insert(exchange.ticket.client);
    if (lock.hold_max && belief.is_alone) belief.hard_end = now() + *lock.hold_max;
    if (lock.keep) belief.keeper = exchange.ticket.client;

    const auto [it, is_new] = beliefs_.try_emplace(grant.token, belief);
    if (revoked_.contains(grant.token)) return let_go(grant.token);
    if (!is_new) {
        it->second.keeper = belief.keeper;
        it->second.listens = listens;
        it->second.releasers.insert(belief.releasers.begin(), belief.releasers.end());
        if (it->second.was_let_go) return;
        extend(it->second, grant.token, end, belief.teller);
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
    extend(it->second, renew.token, end, tellers_[exchange.number]);
    check_alone(it->second, renew.token);
}

void Oracle::extend(Belief& belief, const Token& token, Moment end, const Teller& teller) {
    world_.note(&belief.key, 12, [&] {
        return token.str() + " may be relied on for " + std::to_string(to_ms(end - now())) + " ms";
    });
    if (end >= belief.end) belief.teller = teller;
    belief.end = std::max(belief.end, end);
    belief.told_end = std::max(belief.told_end, end);
    // What is left travels; the time that an epoch takes to settle is not taken off.
    const bool has_moved = !openings_.empty() && openings_.rbegin()->second.at > belief.began;
    const bool is_unsure = has_moved || now() - stepped_at_ < seconds(30);
    const Duration slack = is_unsure ? seconds(15) : seconds(1);
    if (belief.hard_end && belief.end > *belief.hard_end + slack) {
        violate(belief.key, "MAXHOLD: " + token.str() + " is renewed beyond its hard end");
    }
}

// I1.
void Oracle::check_alone(const Belief& belief, const Token& token) {
    if (belief.end <= now()) return;
    for (const auto& [other_token, other] : beliefs_) {
        if (other.key != belief.key || other.holder == belief.holder || other.end <= now()) {
            continue;
        }
        const Duration overlap = std::min(other.end, belief.end) - now();
        if (!is_strict(belief.key)) {
            auto excuse = case_of(belief.key, belief.teller, other.teller);
            if (!excuse && is_excused_by_step(overlap)) excuse = Case::clock_step;
            if (excuse) {
                const auto index = static_cast<std::size_t>(*excuse);
                ++tally_.overlaps[index];
                tally_.longest[index] = std::max(tally_.longest[index], overlap);
                world_.note(&belief.key, 11, [&, &rival = other_token] {
                    return "overlap for " + std::to_string(to_ms(overlap)) + " ms, case (" +
                           letter_of(*excuse) + "): " + token.str() + " and " + rival.str();
                });
                continue;
            }
        }
        violate(belief.key,
                "I1: " + token.str() + " (" + belief.holder + ", told by " +
                    world_.member(belief.teller.node).label() + " in epoch " +
                    std::to_string(belief.teller.epoch) + ") and " + other_token.str() + " (" +
                    other.holder + ", told by " + world_.member(other.teller.node).label() +
                    " in epoch " + std::to_string(other.teller.epoch) + ") for another " +
                    std::to_string(to_ms(overlap)) + " ms");
    }
}

// What was asked for, cut by what was agreed on; what was agreed on may be less by now.
Duration Oracle::delay_given(const Token& token, const core::LockCommand& lock) {
    const Duration asked = lock.delay.value_or(Duration{});
    const auto kept = delays_.find(token);
    if (kept == delays_.end()) return asked;
    const Duration least = std::min(asked, delay_low_.value_or(world_.plan.delay_max));
    if (kept->second < least || kept->second > asked) {
        violate(lock.key,
                "DELAY of " + token.str() + " is " + std::to_string(to_ms(kept->second)) +
                    " ms, though " + std::to_string(to_ms(asked)) + " ms were asked for");
    }
    return kept->second;
}

void Oracle::check_delay(const Belief& belief) {
    for (auto& [token, other] : beliefs_) {
        const bool concerns = other.key == belief.key && other.holder != belief.holder &&
                              other.is_alone && !other.was_let_go && other.delay > Duration::zero();
        if (!concerns) continue;
        if (now() >= other.end + other.delay - other.delay / 500) {
            const bool is_across =
                other.began < delay_changed_at_ && delay_changed_at_ < other.end + other.delay;
            if (is_across && !std::exchange(other.is_counted, true)) ++tally_.delays_across;
            continue;
        }
        const Duration early = other.end + other.delay - now();
        const bool is_excused =
            !is_strict(belief.key) &&
            (case_of(belief.key, belief.teller, other.teller) || is_excused_by_step(early));
        if (!is_excused) violate(belief.key, "granted within the DELAY of " + token.str());
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
        if (belief.keeper == client) {
            kept_[client].emplace_back(belief.key, token);
            belief.keeper.reset();
        }
        if (!belief.releasers.contains(client)) continue;
        let_go(token);
        unlocking_.try_emplace(token, now());
    }
}

std::vector<std::pair<LockKey, Token>> Oracle::kept_by(ClientId client) const {
    const auto it = kept_.find(client);
    return it == kept_.end() ? std::vector<std::pair<LockKey, Token>>{} : it->second;
}

void Oracle::journal_put(Member& member, const core::GrantRecord& record) {
    const Moment end = member.clock().when(member.now() + record.left);
    for (const core::Hold& hold : record.holds) {
        delays_.try_emplace(hold.token, record.delay);
        Moment& known = known_end_[hold.token];
        known = std::max(known, end + record.delay);
        const auto it = beliefs_.find(hold.token);
        if (it == beliefs_.end() || !it->second.keeper || it->second.was_let_go) continue;
        if (!world_.is_connected(*it->second.keeper, member)) continue;
        if (it->second.end <= now()) continue;  // it can't come back to life unseen
        extend(it->second, hold.token, end, teller_of(member));
        check_alone(it->second, hold.token);
    }
}

void Oracle::happened(Member&, const core::Happened& event) {
    using Kind = core::Happened::Kind;
    if (event.kind == Kind::lost) ++tally_.lost;
    if (event.kind != Kind::lost && event.kind != Kind::revoked) return;
    for (auto& [token, belief] : beliefs_) {
        const bool is_told =
            belief.listens && belief.keeper &&
            std::ranges::find(event.holders, *belief.keeper) != event.holders.end();
        if (belief.key == event.key && is_told) belief.end = std::min(belief.end, now());
    }
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

// A grant that nobody was told of is undone: else it would keep others off for its whole lease.
void Oracle::check_untold() {
    Vault* const vault = world_.open_vault();
    if (vault == nullptr || now() - unsettled_at_ < seconds(2)) return;
    const HostClock& clock = world_.server(vault->site()).clock();
    for (const core::GrantRecord& record : vault->locks(clock)) {
        for (const core::Hold& hold : record.holds) {
            const auto granted = granted_.find(hold.token);
            const bool is_old =
                granted != granted_.end() && now() - granted->second.at > seconds(3);
            if (!is_old || told_.contains(hold.token) || put_back_.contains(hold.token)) continue;
            const bool is_well = std::ranges::all_of(hold.attempts, [&](const Attempt& attempt) {
                Member* const member = world_.member_of(attempt.incarnation);
                return member != nullptr && !member->is_paused() && member->is_open() &&
                       member->epoch() == vault->epoch() &&
                       !is_troubled(member->index(), vault->site(), seconds(2));
            });
            if (!is_well) continue;
            violate(record.key, "a hold that nobody was told of is kept: " + hold.token.str());
        }
    }
}

void Oracle::check_empty() {
    if (Vault* const vault = world_.open_vault()) {
        const HostClock& clock = world_.server(Site::redis).clock();
        for (const core::GrantRecord& record : vault->locks(clock)) {
            violate(record.key, "a ghost is left in the store");
        }
    }
    for (std::size_t i = 0; i < world_.size(); ++i) {
        Member& member = world_.member(i);
        if (!member.is_alive()) {
            violate({}, member.label() + " is not there");
            continue;
        }
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
