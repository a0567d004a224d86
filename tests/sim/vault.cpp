// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "vault.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace latchd::sim {
namespace {

Epoch epoch_for(const World& world, Epoch epoch) {
    return world.mutant == Mutant::fence_without_epoch && epoch != 0 ? 1 : epoch;
}

}  // namespace

Vault::Vault(World& world, Site site, std::string process, Epoch epoch, std::uint32_t counter)
    : world_(world),
      number_(++world.vaults),
      site_(site),
      process_(std::move(process)),
      epoch_(epoch),
      table_(epoch_for(world, epoch), counter, 1),
      truth_(world.truths[number_]) {}

core::OperationReply Vault::apply(std::size_t node,
                                  const HostClock& clock,
                                  const core::Operation& operation) {
    const Time now = clock.at(world_.now());
    const LockKey* const key = key_of(operation);
    if (key == nullptr) return table_.apply(now, operation);
    observe(clock, *key);
    core::OperationReply reply = mutated(now, operation);
    observe(clock, *key);
    if (const auto* cancel = std::get_if<core::Cancel>(&operation)) {
        Time& until = bars_[{cancel->key, cancel->request}];
        until = std::max(until, now + cancel->bar);
    }
    world_.note(key, static_cast<std::uint64_t>(reply.reply.status), [&] {
        return process_ + ", for " + world_.member(node).label() + ": " + describe(operation) +
               " -> " + describe(reply);
    });
    world_.oracle.store_did(node, *this, process_, operation, reply);
    QueueOracle::Seen seen{
        number_, key, now, table_.queue(now, *key), false, &operation, &reply, 0};
    seen.is_held = table_.apply(now, core::Inspect{*key}).reply.record.has_value();
    for (const auto& told : table_.take_told()) {
        if (told.message.kind == core::NodeMessage::Kind::offered) ++seen.offers;
        world_.tell(site_, told.node, told.message);
    }
    world_.queues.observe(seen);
    return reply;
}

void Vault::observe(const HostClock& clock, const LockKey& key) {
    const auto seen = table_.apply(clock.at(world_.now()), core::Inspect{key});
    const core::GrantRecord* const record = seen.reply.record ? &*seen.reply.record : nullptr;
    truth_.observe(world_.now(), clock, key, record);
    if (record != nullptr) last_seen_.insert_or_assign(key, *record);
}

void Vault::destroyed() { truth_.replaced(world_.now()); }

std::vector<core::GrantRecord> Vault::locks(const HostClock& clock) {
    return table_.apply(clock.at(world_.now()), core::List{"", 1'000'000, 0}).rows;
}

// ---- carrying --------------------------------------------------------------------------------

void Vault::load(const HostClock& clock, const core::Claims& claims) {
    const Time now = clock.at(world_.now());
    for (const core::CancelledRequest& bar : claims.cancelled) {
        (void)table_.apply(now, core::Cancel{bar.key, bar.request, NodeName{}, bar.left});
        Time& until = bars_[{bar.key, bar.request}];
        until = std::max(until, now + bar.left);
    }
    for (const core::GrantRecord& record : claims.records) {
        (void)table_.apply(now, core::Restore{record, true});
        observe(clock, record.key);
        world_.oracle.carried(record);
    }
    (void)table_.take_told();
}

core::Claims Vault::read(const HostClock& clock) {
    const Time now = clock.at(world_.now());
    core::Claims claims;
    claims.records = locks(clock);
    for (const auto& [bar, until] : bars_) {
        if (until > now) claims.cancelled.push_back({bar.first, bar.second, until - now});
    }
    return claims;
}

Vault::Copy Vault::copy(const HostClock& clock) {
    return {epoch_, table_.counter(), read(clock), clock.at(world_.now())};
}

void Vault::restore(const HostClock& clock, const Copy& copy, Duration late) {
    const Time now = clock.at(world_.now());
    const Duration passed = now - copy.at - late;
    core::Claims claims = copy.claims;
    for (core::GrantRecord& record : claims.records) record.left -= passed;
    for (core::CancelledRequest& bar : claims.cancelled) bar.left -= passed;
    std::erase_if(claims.cancelled, [](const auto& bar) { return bar.left <= Duration::zero(); });
    for (const core::GrantRecord& record : claims.records) {
        (void)table_.apply(now, core::Restore{record, true});
        observe(clock, record.key);
        world_.oracle.copied(record);
    }
    for (const core::CancelledRequest& bar : claims.cancelled) {
        bars_[{bar.key, bar.request}] = now + bar.left;
        (void)table_.apply(now, core::Cancel{bar.key, bar.request, NodeName{}, bar.left});
    }
    (void)table_.take_told();
}

void Vault::evict(const HostClock& clock) {
    for (const core::GrantRecord& record : locks(clock)) {
        if (record.key.resource == ResourceName("s")) continue;  // such a Redis is no tier for it
        (void)table_.apply(clock.at(world_.now()),
                           core::Force{record.key, NodeName{}, std::nullopt});
        observe(clock, record.key);
        world_.oracle.evicted(record.key);
    }
    (void)table_.take_told();
}

// ---- planted bugs ----------------------------------------------------------------------------

core::OperationReply Vault::mutated(Time now, const core::Operation& operation) {
    if (world_.mutant < Mutant::undo_by_request) return table_.apply(now, operation);
    before(now, operation);
    core::OperationReply reply = table_.apply(now, operation);
    after(now, operation, reply);
    return reply;
}

void Vault::end_others(Time now, const core::Undo& undo) {
    const auto record = table_.apply(now, core::Inspect{undo.key}).reply.record;
    if (!record) return;
    for (const core::Hold& hold : record->holds) {
        if (hold.request != undo.request) continue;
        const bool is_last = hold.attempts.back() == undo.attempt;
        if (world_.mutant == Mutant::last_attempt_owns && !is_last) continue;
        for (const Attempt& attempt : hold.attempts) {
            if (attempt == undo.attempt) continue;
            core::Undo other = undo;
            other.attempt = attempt;
            other.tombstone.reset();
            (void)table_.apply(now, other);
        }
    }
}

void Vault::before(Time now, const core::Operation& operation) {
    const auto* const undo = std::get_if<core::Undo>(&operation);
    const bool ends_others =
        world_.mutant == Mutant::undo_by_request || world_.mutant == Mutant::last_attempt_owns;
    if (undo != nullptr && ends_others) end_others(now, *undo);
    const auto* const acquire = std::get_if<core::Acquire>(&operation);
    if (acquire == nullptr || world_.mutant != Mutant::delay_ignored) return;
    const auto record = table_.apply(now, core::Inspect{acquire->key}).reply.record;
    if (record && record->left <= Duration::zero()) {
        (void)table_.apply(now, core::Force{acquire->key, acquire->node, std::nullopt});
    }
}

void Vault::after(Time now, const core::Operation& operation, core::OperationReply& reply) {
    const Mutant mutant = world_.mutant;
    if (const auto* acquire = std::get_if<core::Acquire>(&operation)) {
        core::Reply& grant = reply.reply;
        if (mutant == Mutant::adopt_fresh_ttl && grant.status == core::Status::adopted) {
            grant.record->left = acquire->ttl;
        }
        const auto last = last_seen_.find(acquire->key);
        if (mutant == Mutant::fence_stays && grant.status == core::Status::granted &&
            last != last_seen_.end()) {
            grant.record->fence = last->second.fence;
        }
    } else if (const auto* release = std::get_if<core::Release>(&operation)) {
        if (mutant == Mutant::release_any_token &&
            reply.reply.status == core::Status::held_by_other) {
            (void)table_.apply(now, core::Force{release->key, release->node, std::nullopt});
            reply.reply.status = core::Status::released;
        }
    } else if (const auto* renew = std::get_if<core::Renew>(&operation)) {
        const auto last = last_seen_.find(renew->key);
        if (mutant == Mutant::renew_recreates && reply.reply.status == core::Status::not_held &&
            last != last_seen_.end()) {
            core::GrantRecord record = last->second;
            record.left = renew->ttl.value_or(record.ttl);
            core::OperationReply again = table_.apply(now, core::Restore{std::move(record), true});
            if (again.reply.status != core::Status::restored) return;
            reply = std::move(again);
            reply.reply.status = core::Status::renewed;
        }
        if (mutant == Mutant::renew_shortens && reply.reply.status == core::Status::renewed &&
            renew->ttl && *renew->ttl < reply.reply.record->left) {
            core::GrantRecord record = *reply.reply.record;
            record.left = *renew->ttl;
            (void)table_.apply(now, core::Force{renew->key, NodeName{}, std::nullopt});
            (void)table_.apply(now, core::Restore{std::move(record), true});
        }
    }
}

}  // namespace latchd::sim
