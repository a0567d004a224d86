// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <utility>

namespace latchd::sim {

RedisServer::RedisServer(World& world, HostClock clock, std::string name)
    : Server(world, Site::redis, clock), name_(std::move(name)) {
    name_arbiter();
}

std::string RedisServer::label() const { return name_ + "/" + std::to_string(run()); }

authority::Identity RedisServer::identity() const {
    const std::uint64_t shown_run = world_.mutant == Mutant::identity_ignored ? 1 : run();
    return {"run-" + std::to_string(shown_run), role_, "replid", replid2_};
}

void RedisServer::name_arbiter() {
    arbiter_.identity = identity();
    if (world_.mutant == Mutant::arbiter_unidentified) arbiter_.identity.run_id = "arbiter";
}

// ---- what happens to it ----------------------------------------------------------------------

RedisServer::Copy RedisServer::copy() {
    Copy copy;
    copy.marker = marker_;
    if (vault_) {
        copy.locks = vault_->copy(clock_);
        if (copy.marker) copy.marker->counter = vault_->counter();
    }
    copy.arbiter = arbiter_;
    copy.at = local_now();
    return copy;
}

void RedisServer::replace_vault() {
    if (vault_) vault_->destroyed();
    vault_.reset();
}

void RedisServer::take(const Copy& from, Duration late) {
    marker_ = from.marker;
    arbiter_ = from.arbiter;
    replace_vault();
    if (!from.locks) return;
    vault_.emplace(world_, Site::redis, label(), from.locks->epoch, from.locks->counter);
    vault_->restore(clock_, *from.locks, late);
}

void RedisServer::save_snapshot() { snapshot_ = copy(); }
void RedisServer::replicate() { replica_ = copy(); }

void RedisServer::restart(Data data, Duration away) {
    if (!is_up()) return;
    go_down();
    world_.cut_messages(Site::redis, away);
    world_.time.after(away, [this, data] {
        Copy all = data == Data::all ? copy() : data == Data::snapshot ? snapshot_ : Copy{};
        come_up(true);
        take(all, {});
        role_ = authority::Role::master;
        replid2_.clear();
        name_arbiter();
        world_.servers_changed();
    });
}

void RedisServer::flush() {
    marker_.reset();
    replace_vault();
    arbiter_ = {};
    name_arbiter();
}

void RedisServer::evict() {
    if (vault_) vault_->evict(clock_);
}

std::unique_ptr<RedisServer> RedisServer::promote(HostClock clock, std::string name) {
    auto next = std::make_unique<RedisServer>(world_, clock, std::move(name));
    // Its clock differs from the old master's a little, sometimes much.
    using std::chrono::milliseconds;
    const Duration off = world_.random.chance(80)
                             ? world_.random.between(milliseconds(-20), milliseconds(20))
                             : world_.random.between(milliseconds(-2000), milliseconds(2000));
    next->clock_.step(local_now() - next->local_now() + off);
    next->take(replica_, off);
    next->replid2_ = "replid-of-" + label();
    next->name_arbiter();
    next->save_snapshot();
    next->replicate();
    return next;
}

void RedisServer::demote() {
    role_ = authority::Role::replica;
    if (is_up()) go_down();
}

std::vector<core::GrantRecord> RedisServer::locks() {
    return vault_ ? vault_->locks(clock_) : std::vector<core::GrantRecord>{};
}

// ---- commands --------------------------------------------------------------------------------

Said RedisServer::on(const Connection&, Hello&) {
    Known known{identity(), marker_, marker_used_};
    if (known.marker && vault_) known.marker->counter = vault_->counter();
    return known;
}

std::optional<Said> RedisServer::refusal(const Guard& guard, bool may_grant) const {
    const Mutant mutant = world_.mutant;
    if (!vault_) return Stale{};
    const bool is_ours = marker_ && marker_->epoch == guard.epoch &&
                         (marker_->nonce == guard.nonce || mutant == Mutant::nonce_unchecked) &&
                         vault_->counter() >= guard.counter_seen;
    if (!is_ours && mutant != Mutant::marker_unchecked) return Stale{};
    if (may_grant && is_clock_off(guard)) return ClockOff{};
    return std::nullopt;
}

Said RedisServer::on(const Connection&, Probe& call) {
    if (call.guard) {
        if (auto refused = refusal(*call.guard, false)) return *refused;
        marker_used_ = shown();
    }
    return Probed{shown(), vault_ ? vault_->counter() : 0};
}

Said RedisServer::on(const Connection& from, Guarded& call) {
    if (!vault_ && world_.mutant == Mutant::marker_unchecked) {
        vault_.emplace(world_, Site::redis, label(), call.guard.epoch, 0u);
    }
    if (auto refused = refusal(call.guard, may_grant(call.operation))) {
        return refuse(from, call, std::move(*refused));
    }
    return vault_->apply(from.node, clock_, call.operation);
}

bool RedisServer::is_expected(const std::optional<authority::Marker>& expected) const {
    if (expected.has_value() != marker_.has_value()) return false;
    return !expected || (expected->epoch == marker_->epoch && expected->nonce == marker_->nonce);
}

Said RedisServer::on(const Connection& from, authority::TierInitialise& call) {
    const bool is_blind = world_.mutant == Mutant::initialise_blindly;
    if (!is_blind && !is_expected(call.expected)) return Finished{false, "the marker moved"};
    if (role_ != authority::Role::master) return Finished{false, "READONLY"};
    marker_ = call.next;
    replace_vault();
    vault_.emplace(world_, Site::redis, label(), call.next.epoch, call.next.counter);
    world_.note(nullptr, call.next.epoch, [&] {
        return label() + " is initialised for epoch " + std::to_string(call.next.epoch) + " by " +
               world_.member(from.node).label() + ", nonce " + call.next.nonce.str();
    });
    world_.initialised(call.next.epoch);
    return Finished{true, ""};
}

Said RedisServer::on(const Connection&, authority::TierLoad& call) {
    if (!marker_ || marker_->epoch != call.epoch || marker_->nonce != call.nonce || !vault_) {
        return Finished{false, "the marker moved"};
    }
    vault_->load(clock_, call.claims);
    return Finished{true, ""};
}

Said RedisServer::on(const Connection& from, authority::TierCloseAndRead& call) {
    if (!is_expected(call.expected) || !vault_) return ReadBack{};
    core::Claims claims = vault_->read(clock_);
    marker_->epoch = call.next;
    marker_->nonce = call.nonce;
    world_.note(nullptr, call.next, [&] {
        return label() + " is closed and read for epoch " + std::to_string(call.next) + " by " +
               world_.member(from.node).label();
    });
    return ReadBack{true, std::move(claims)};
}

Said RedisServer::on(const Connection& from, authority::TierNote& call) {
    notes_[call.name] = {local_now() + call.fresh, call.nonce};
    Notes notes;
    for (const NodeName& other : call.others) {
        const auto it = notes_.find(other);
        const bool is_fresh =
            it != notes_.end() && it->second.first > local_now() && it->second.second == call.nonce;
        if (is_fresh) notes.fresh.push_back(other);
    }
    world_.note(nullptr, notes.fresh.size(), [&] {
        return label() + ": " + world_.member(from.node).label() + " has lost the arbiter, as " +
               std::to_string(notes.fresh.size()) + " of " + std::to_string(call.others.size());
    });
    return notes;
}

}  // namespace latchd::sim
