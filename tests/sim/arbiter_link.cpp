// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "tier.hpp"
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {
namespace {

constexpr Duration call_timeout = std::chrono::seconds(1);

// Whatever comes last wins, or the first of one fence.
core::Claims merge_wrongly(const std::vector<authority::HandedOver>& all, bool by_fence) {
    std::map<LockKey, core::GrantRecord> records;
    core::Claims merged;
    for (const authority::HandedOver& given : all) {
        const core::Claims& claims = given.claims;
        for (const core::GrantRecord& record : claims.records) {
            const auto [it, is_new] = records.try_emplace(record.key, record);
            if (is_new || (by_fence && record.fence <= it->second.fence)) continue;
            it->second = record;
        }
        merged.gone.insert(merged.gone.end(), claims.gone.begin(), claims.gone.end());
        merged.cancelled.insert(
            merged.cancelled.end(), claims.cancelled.begin(), claims.cancelled.end());
    }
    for (auto& [key, record] : records) merged.records.push_back(std::move(record));
    return merged;
}

}  // namespace

ArbiterLink::ArbiterLink(World& world, Member& member, Site site)
    : world_(world), member_(member), site_(site) {}

ArbiterLink::~ArbiterLink() {
    if (connection_) Server::abandon(connection_);
}

Time ArbiterLink::now() const { return member_.now(); }

void ArbiterLink::act(authority::ArbiterDo&& action) {
    if (!connection_) connection_ = world_.connect_to(site_, member_.index(), *this);
    if (!action.process.empty() && action.process != connection_->server->arbiter_process()) {
        return member_.tell(authority::ArbiterFailed{action.id, false, "another process"});
    }
    pending_.push_back({action.id, now()});
    spoil(action.call);
    if (world_.now() >= stalled_until_) Server::send(connection_, std::move(action.call));
}

void ArbiterLink::stall(Duration duration) { stalled_until_ = world_.now() + duration; }

void ArbiterLink::said(const ConnectionPtr& connection, Said&& said) {
    if (connection != connection_) return;
    const Pending pending = pending_.front();
    pending_.pop_front();
    auto& reply = std::get<authority::ArbiterReply>(said);
    spoil(reply);
    member_.tell(authority::ArbiterAnswered{pending.id, pending.sent, now(), std::move(reply)});
}

void ArbiterLink::reset(const ConnectionPtr& connection) {
    if (connection == connection_) lost("reset by peer");
}

void ArbiterLink::lost(const std::string& reason) {
    std::deque<Pending> unanswered = std::move(pending_);
    pending_.clear();
    Server::abandon(connection_);
    connection_.reset();
    for (const Pending& pending : unanswered) {
        member_.tell(authority::ArbiterFailed{pending.id, true, reason});
    }
}

void ArbiterLink::on_time() {
    if (!pending_.empty() && now() - pending_.front().sent >= call_timeout) {
        lost("no reply in time");
    }
}

std::optional<Time> ArbiterLink::next_deadline() const {
    if (pending_.empty()) return std::nullopt;
    return pending_.front().sent + call_timeout;
}

// ---- planted bugs ----------------------------------------------------------------------------

void ArbiterLink::spoil(authority::ArbiterCall& call) const {
    const Mutant mutant = world_.mutant;
    if (auto* const hand_over = std::get_if<authority::HandOver>(&call)) {
        if (mutant == Mutant::nothing_carried) hand_over->claims.records.clear();
        if (mutant == Mutant::gone_not_carried) hand_over->claims.gone.clear();
        if (mutant == Mutant::strict_wait_not_carried) hand_over->row.strict_left = {};
    } else if (auto* const beat = std::get_if<authority::Beat>(&call)) {
        if (mutant == Mutant::strict_wait_not_carried) beat->row.strict_left = {};
    } else if (auto* const open = std::get_if<authority::OpenEpoch>(&call)) {
        if (mutant == Mutant::lost_not_waited) open->next.strict_wait = {};
    }
}

void ArbiterLink::spoil(authority::ArbiterReply& reply) const {
    const Mutant mutant = world_.mutant;
    const bool merges = mutant == Mutant::merge_any || mutant == Mutant::merge_fence_only;
    if (merges && reply.claims.size() > 1) {
        core::Claims merged = merge_wrongly(reply.claims, mutant == Mutant::merge_fence_only);
        reply.claims = {{0, 0, {}, std::move(merged)}};
    }
}

}  // namespace latchd::sim
