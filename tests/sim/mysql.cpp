// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "mysql.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {

using std::chrono::milliseconds;

MysqlServer::MysqlServer(World& world, HostClock clock) : Server(world, Site::mysql, clock) {
    name_it();
}

std::string MysqlServer::label() const { return "mysql-" + std::to_string(uuid_); }

void MysqlServer::name_it() {
    arbiter_.identity = {label(), authority::Role::master, "", ""};
    if (world_.mutant == Mutant::arbiter_unidentified) arbiter_.identity.run_id = "mysql";
}

// ---- what happens to it ----------------------------------------------------------------------

void MysqlServer::restart(Duration away) {
    if (!is_up()) return;
    go_down();
    world_.time.after(away, [this] {
        come_up(true);
        world_.servers_changed();
    });
}

void MysqlServer::replicate() {
    if (!is_up()) return;
    Copy copy;
    copy.at = world_.now();
    copy.arbiter = arbiter_;
    for (auto& [opening, vault] : vaults_) copy.vaults.emplace_back(opening, vault.copy(clock_));
    replica_.push_back(std::move(copy));
    while (replica_.front().at + milliseconds(500) < world_.now()) replica_.pop_front();
}

void MysqlServer::promote(Duration lag) {
    if (!is_up() || replica_.empty()) return;
    go_down();
    const Copy* chosen = &replica_.front();
    for (const Copy& copy : replica_) {
        if (copy.at + lag <= world_.now()) chosen = &copy;
    }
    const Copy copy = *chosen;
    replica_.clear();
    world_.note(nullptr, ++uuid_, [&] {
        return label() + " takes over, and lacks " + std::to_string(to_ms(world_.now() - copy.at)) +
               " ms";
    });
    arbiter_ = copy.arbiter;
    name_it();
    for (auto& [opening, vault] : vaults_) vault.destroyed();
    vaults_.clear();
    for (const auto& [opening, locks] : copy.vaults) {
        Vault& vault = vault_of(opening);
        vault.restore(clock_, locks, {});
    }
    come_up(true);
    world_.servers_changed();
}

Vault& MysqlServer::vault_of(const Opening& opening) {
    return vaults_.try_emplace(opening, world_, Site::mysql, label(), opening.first, 0u)
        .first->second;
}

Vault* MysqlServer::vault() {
    const auto& record = arbiter_.record();
    if (!record || record->placement.tier != "mysql") return nullptr;
    const auto it = vaults_.find({record->placement.since_epoch, record->placement.nonce});
    return it == vaults_.end() ? nullptr : &it->second;
}

std::vector<core::GrantRecord> MysqlServer::locks() {
    Vault* const open = vault();
    return open == nullptr ? std::vector<core::GrantRecord>{} : open->locks(clock_);
}

// ---- statements ------------------------------------------------------------------------------

Said MysqlServer::on(const Connection&, Hello&) {
    const bool is_same = world_.mutant == Mutant::promoted_as_same;
    return Known{{is_same ? "mysql" : label(), authority::Role::master, "", ""}, std::nullopt};
}

std::optional<Said> MysqlServer::refusal(const Guard& guard,
                                         const core::Operation* operation) const {
    const auto& record = arbiter_.record();
    const bool is_open = record && record->placement.state == authority::RecordState::open &&
                         record->placement.tier == "mysql" &&
                         record->placement.since_epoch == guard.epoch &&
                         record->placement.nonce == guard.nonce;
    const bool is_unread = world_.mutant == Mutant::renew_without_row && operation != nullptr &&
                           std::holds_alternative<core::Renew>(*operation);
    if (!is_open && !is_unread) return Stale{};
    if (operation != nullptr && may_grant(*operation) && is_clock_off(guard)) return ClockOff{};
    return std::nullopt;
}

Said MysqlServer::on(const Connection&, Probe& call) {
    if (call.guard) {
        if (auto refused = refusal(*call.guard, nullptr)) return *refused;
    }
    Vault* const open = vault();
    return Probed{shown(), open == nullptr ? 0 : open->counter()};
}

Said MysqlServer::on(const Connection& from, Guarded& call) {
    if (auto refused = refusal(call.guard, &call.operation)) {
        return refuse(from, call, std::move(*refused));
    }
    return vault_of({call.guard.epoch, call.guard.nonce}).apply(from.node, clock_, call.operation);
}

Said MysqlServer::on(const Connection&, authority::TierInitialise& call) {
    world_.initialised(call.next.epoch);
    return Finished{true, ""};
}

Said MysqlServer::on(const Connection&, authority::TierLoad& call) {
    vault_of({call.epoch, call.nonce}).load(clock_, call.claims);
    return Finished{true, ""};
}

// The settling row has ended the epoch already.
Said MysqlServer::on(const Connection& from, authority::TierCloseAndRead& call) {
    const auto it = vaults_.find({call.expected.epoch, call.expected.nonce});
    const auto& record = arbiter_.record();
    const bool is_open = record && record->placement.state == authority::RecordState::open;
    if (it == vaults_.end() || is_open) return ReadBack{};
    world_.note(nullptr, call.next, [&] {
        return label() + " is read for epoch " + std::to_string(call.next) + " by " +
               world_.member(from.node).label();
    });
    return ReadBack{true, it->second.read(clock_)};
}

}  // namespace latchd::sim
