// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// What stores, the arbiter and the nodes' authority do.
#include "oracle.hpp"
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

char letter_of(Case of) noexcept { return static_cast<char>('a' + static_cast<int>(of)); }

// ---- which of its cases `available` may claim -------------------------------------------------

std::optional<Case> Oracle::case_of(const LockKey& key, const Teller& a, const Teller& b) const {
    if (!world_.plan.may_lose) return std::nullopt;
    if (a.is_local || b.is_local) return Case::local;
    if (!a.is_confirmed || !b.is_confirmed) return Case::cut_off;
    const auto evicted = evicted_.find(key);
    if (evicted != evicted_.end() && now() - evicted->second < world_.plan.ttl_max + seconds(5)) {
        return Case::evicted;
    }
    const Teller& older = a.epoch <= b.epoch ? a : b;
    const Teller& newer = a.epoch <= b.epoch ? b : a;
    for (auto it = openings_.upper_bound(older.epoch);
         it != openings_.end() && it->first <= newer.epoch;
         ++it) {
        if (!it->second.acked.contains(older.incarnation)) {
            return world_.plan.has_mysql() ? Case::not_acked : Case::own_arbiter;
        }
    }
    if (!world_.plan.has_mysql() && (a.epoch != b.epoch || a.run != b.run)) {
        return Case::own_arbiter;
    }
    return std::nullopt;
}

bool Oracle::is_excused_by_step(Duration overlap) const {
    const Duration since = now() - stepped_at_;
    const Duration window = world_.plan.checks_clock ? milliseconds(1100) : seconds(11);
    return since < world_.plan.ttl_max + world_.plan.delay_max + seconds(10) && overlap <= window;
}

// ---- stores ----------------------------------------------------------------------------------

void Oracle::check_grant(std::size_t node, const Vault& vault, const core::Reply& grant) {
    const core::GrantRecord& record = *grant.record;
    Fence& highest = highest_[{vault.number(), record.key}];
    if (grant.status == core::Status::granted && record.fence <= highest) {
        violate(record.key, "I2: a store grants with a fence that is not above all earlier ones");
    }
    highest = std::max(highest, record.fence);
    for (const core::Hold& hold : record.holds) {
        // What comes late on a former connection, behind its own UNLOCK.
        const auto freed = freed_.find(hold.token);
        const bool is_known = freed != freed_.end() && freed->second.vault == vault.number() &&
                              freed->second.node == node;
        if (!is_known || put_back_.contains(hold.token)) continue;
        violate(record.key, "a hold that was released is granted again: " + hold.token.str());
    }
}

void Oracle::store_did(std::size_t node,
                       const Vault& vault,
                       const std::string& process,
                       const core::Operation& operation,
                       const core::OperationReply& reply) {
    const core::Reply& last = reply.then ? *reply.then : reply.reply;
    if (const auto* release = std::get_if<core::Release>(&operation)) {
        const auto status = reply.reply.status;
        if (status == core::Status::released || status == core::Status::hold_removed) {
            freed_.insert_or_assign(release->token, Freed{vault.number(), node});
        }
    }
    if (last.status == core::Status::granted || last.status == core::Status::reentered) {
        check_grant(node, vault, last);
        for (const core::Hold& hold : last.record->holds) {
            granted_.try_emplace(hold.token, Execution{now(), vault.epoch()});
        }
    }
    if (last.status == core::Status::restored) copied(*last.record);
    if (last.status == core::Status::granted) {
        for (const core::Hold& hold : last.record->holds) {
            granted_.insert_or_assign(hold.token, Execution{now(), vault.epoch()});
        }
        const auto [it, is_first] = process_of_.try_emplace(vault.epoch(), process);
        // Redis about itself: a zombie master opens epochs of its own, case (c).
        if (it->second != process && world_.plan.has_mysql()) {
            violate(last.record->key,
                    "I4: " + process + " grants in epoch " + std::to_string(vault.epoch()) +
                        ", which is " + it->second + "'s");
        }
    }
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

void Oracle::carried(const core::GrantRecord& record) {
    ++tally_.carried;
    copied(record);
}

void Oracle::copied(const core::GrantRecord& record) {
    for (const core::Hold& hold : record.holds) put_back_.insert(hold.token);
}

void Oracle::evicted(const LockKey& key) {
    evicted_[key] = now();
    unsettled_at_ = now();
}

// ---- the arbiter -----------------------------------------------------------------------------

void Oracle::basis_changed(const authority::BasisChange& change) {
    ++tally_.basis_changes;
    if (change.next.delay_max != change.now.delay_max) ++tally_.delay_changes;
    delay_low_ = std::min(delay_low_.value_or(world_.plan.delay_max), change.next.delay_max);
}

void Oracle::opened(const authority::View& view) {
    const Epoch epoch = view.record->epoch;
    ++tally_.epochs;
    const Duration delay_max = view.record->basis.delay_max;
    if (std::exchange(delay_open_, delay_max) != delay_max) delay_changed_at_ = now();
    unsettled_at_ = now();
    if (!openings_.empty() && epoch <= openings_.rbegin()->first) {
        if (world_.plan.has_mysql()) {
            return violate({},
                           "I7: epoch " + std::to_string(epoch) + " is opened after " +
                               std::to_string(openings_.rbegin()->first));
        }
        ++tally_.epochs_reused;  // who knew of it had lost everything, or was away
        process_of_.erase(epoch);
    }
    Opening opening;
    opening.at = now();
    for (const authority::NodeRow& row : view.nodes) {
        const bool is_missing =
            std::ranges::find(view.record->placement.missing, row.incarnation) !=
            view.record->placement.missing.end();
        if (row.acked >= epoch && !is_missing) opening.acked.insert(row.incarnation);
    }
    openings_.insert_or_assign(epoch, std::move(opening));
}

// I8 and I9.
void Oracle::proposed(Member& by,
                      const std::optional<authority::FleetRecord>& before,
                      const authority::FleetRecord& next) {
    unsettled_at_ = now();
    if (!before) return;
    if (before->placement.store != next.placement.store) ++tally_.tier_changes;
    if (next.epoch <= before->epoch) {
        violate({},
                "I7: epoch " + std::to_string(next.epoch) + " follows " +
                    std::to_string(before->epoch));
    }
    if (!has_reason(by, *before, next)) {
        violate({},
                "I8: " + by.label() + " begins epoch " + std::to_string(next.epoch) + ", for " +
                    next.placement.store + ", though nothing is wrong: " + next.placement.reason);
    }
}

bool Oracle::is_troubled(std::size_t node, Site site, Duration within) const {
    const auto way = trouble_.find({node, site});
    if (way != trouble_.end() && std::ranges::any_of(way->second, [&](const Trouble& each) {
            return each.until + within > now();
        })) {
        return true;
    }
    const auto pause = paused_.find(node);
    if (pause != paused_.end() && pause->second + within > now()) return true;
    const auto kill = killed_.find(node);
    return kill != killed_.end() && kill->second + within > now();
}

// So long and lately that it must have been seen within the hold-down.
bool Oracle::was_seen_troubled(std::size_t node, Site site) const {
    const auto way = trouble_.find({node, site});
    if (way == trouble_.end() || is_paused_lately(node)) return false;
    return std::ranges::any_of(way->second, [&](const Trouble& each) {
        const Moment until = std::min(each.until, now());
        return until - each.since > seconds(4) &&
               until > now() - world_.plan.hold_down + seconds(2);
    });
}

// Cut off from the arbiter for so long that the others count it as lost.
bool Oracle::was_silent(std::size_t node) const {
    const auto way = trouble_.find({node, world_.plan.arbiter});
    return way != trouble_.end() && std::ranges::any_of(way->second, [&](const Trouble& each) {
               return each.since + world_.plan.view_lease < now() &&
                      std::min(each.until, now()) + world_.plan.view_lease > now();
           });
}

bool Oracle::is_paused_lately(std::size_t node) const {
    const auto pause = paused_.find(node);
    return pause != paused_.end() && pause->second + seconds(10) > now();
}

bool Oracle::has_reason(Member& by,
                        const authority::FleetRecord& before,
                        const authority::FleetRecord& next) {
    const Duration lately = seconds(30);
    const auto all = static_cast<std::size_t>(world_.plan.nodes);
    if (now() - commanded_at_ < seconds(20) || now() - stepped_at_ < lately) return true;
    if (now() - changed_at_ < lately) return true;  // another process, a lost marker
    if (world_.is_basis_pending(before.epoch)) return true;
    if (stood_still(by, lately)) return true;
    const Site site = before.placement.store == "mysql" ? Site::mysql : Site::redis;
    const auto count = [&](Site where, Duration within) {
        std::size_t troubled = 0;
        for (std::size_t node = 0; node < all; ++node) troubled += is_troubled(node, where, within);
        return troubled;
    };
    if (before.placement.state == authority::RecordState::settling) {
        const Site target = site;
        return count(target, seconds(15)) + count(world_.plan.arbiter, seconds(15)) > 0;
    }
    const auto rank = [&next](const authority::FleetRecord& record) {
        return std::ranges::find(next.basis.stores, record.placement.store);
    };
    if (rank(next) < rank(before)) {  // it returns
        const Site to = next.placement.store == "mysql" ? Site::mysql : Site::redis;
        for (std::size_t node = 0; node < all; ++node) {
            if (was_seen_troubled(node, to)) return false;
        }
        return true;
    }
    // It fails for most, or for all that live.
    const std::size_t failing = count(site, seconds(6));
    std::size_t well_alive = 0;
    for (std::size_t node = 0; node < all; ++node) {
        const bool is_well = world_.member(node).is_alive() && !is_troubled(node, site, seconds(6));
        if (is_well && !was_silent(node)) ++well_alive;
    }
    return 2 * failing > all || (failing > 0 && well_alive == 0);
}

// ---- nodes -----------------------------------------------------------------------------------

void Oracle::node_killed(Member& member, bool) {
    killed_[member.index()] = now();
    unsettled_at_ = now();
}

bool Oracle::stood_still(const Member& member, Duration within) const {
    const auto still = stood_still_.find(member.index());
    return still != stood_still_.end() && now() - still->second < within;
}

// I5.
void Oracle::judged(Member& member) {
    // Redis about itself: a zombie master has its own rows, case (c).
    if (!member.is_alive() || !world_.plan.has_mysql()) return;
    const auto status = member.fleet().status(member.now());
    Moment& until = lease_until_[member.incarnation()];
    if (until < now()) lease_gap_[member.incarnation()] = now();
    until = now() + status.view_left;
    const std::set<std::uint64_t> lost(status.lost.begin(), status.lost.end());
    std::set<std::uint64_t>& before = lost_[member.incarnation()];
    // A view that came while it was paused is as old as that.
    const bool is_late = is_paused_lately(member.index());
    for (const std::uint64_t incarnation : lost) {
        Member* const other = world_.member_of(incarnation);
        if (other == nullptr || other == &member || before.contains(incarnation)) continue;
        if (is_late) continue;
        // Where its own clock did not move the clock check covers it.
        if (stood_still(*other, 4 * world_.plan.view_lease)) continue;
        const Duration left = other->fleet().status(other->now()).view_left;
        // It may be back since the view was read.
        if (left <= Duration::zero() || lease_gap_[incarnation] + milliseconds(1500) > now()) {
            continue;
        }
        violate({},
                "I5: " + member.label() + " counts " + other->label() +
                    " as lost, whose view lease runs for another " + std::to_string(to_ms(left)) +
                    " ms");
    }
    before = lost;
}

void Oracle::known(Member& member, const authority::Known& before, const authority::Known& after) {
    if (after.epoch < before.epoch) {
        violate({}, "I7: " + member.label() + " forgets epoch " + std::to_string(before.epoch));
    }
}

// ---- what goes wrong -------------------------------------------------------------------------

void Oracle::troubled(std::size_t node, Site site, Moment until, bool is_way) {
    auto& kept = trouble_[{node, site}];
    std::erase_if(kept, [this](const Trouble& each) { return each.until + seconds(60) < now(); });
    kept.push_back({now(), until, is_way});
}

void Oracle::healed() {
    for (auto& [where, troubles] : trouble_) {
        for (Trouble& each : troubles) {
            if (each.is_way) each.until = std::min(each.until, now());
        }
    }
}

void Oracle::troubled(Site site, Moment until) {
    for (std::size_t node = 0; node < world_.size(); ++node) troubled(node, site, until);
}

void Oracle::paused(std::size_t node, Moment until, bool with_clock) {
    Moment& kept = paused_[node];
    kept = std::max(kept, until);
    if (with_clock) stood_still_[node] = std::max(stood_still_[node], until);
    unsettled_at_ = std::max(unsettled_at_, until);
}

void Oracle::store_changed() { changed_at_ = unsettled_at_ = now(); }
void Oracle::clock_stepped() { stepped_at_ = unsettled_at_ = now(); }
void Oracle::commanded() { commanded_at_ = now(); }

}  // namespace latchd::sim
