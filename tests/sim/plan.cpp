// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <algorithm>

namespace latchd::sim {
namespace {

constexpr std::array<std::string_view, fault_count> fault_names{
    "redis_slow",        "redis_cut_to",       "redis_cut_from", "redis_cut",
    "redis_break",       "redis_lose_replies", "redis_freeze",   "redis_restart_empty",
    "redis_restart_old", "redis_restart_same", "redis_promote",  "redis_flush",
    "redis_evict",       "redis_clock_step",   "mysql_slow",     "mysql_cut_to",
    "mysql_cut_from",    "mysql_cut",          "mysql_break",    "mysql_lose_replies",
    "mysql_freeze",      "mysql_outage",       "mysql_promote",  "mysql_clock_step",
    "messages_cut",      "messages_slow",      "kill_node",      "kill_node_bare",
    "pause_node",        "pause_host",         "leave_node",     "command"};
constexpr std::array<std::string_view, phase_count> phase_names{"idle",
                                                                "lock_in_flight",
                                                                "held",
                                                                "renew_in_flight",
                                                                "unlock_in_flight",
                                                                "handover_in_flight",
                                                                "waiting",
                                                                "settling",
                                                                "initialised"};
constexpr std::array<std::string_view, mutant_count> mutant_names{"none",
                                                                  "permit_ignored",
                                                                  "renew_past_permit",
                                                                  "strict_early",
                                                                  "lost_not_waited",
                                                                  "strict_wait_instant",
                                                                  "strict_wait_not_carried",
                                                                  "nothing_carried",
                                                                  "gone_not_carried",
                                                                  "foreign_not_carried",
                                                                  "merge_any",
                                                                  "merge_fence_only",
                                                                  "unopened_dropped",
                                                                  "acked_by_name",
                                                                  "journal_unsaid",
                                                                  "live_votes_only",
                                                                  "busy_is_failure",
                                                                  "late_replies",
                                                                  "lease_from_reply",
                                                                  "clock_read_twice",
                                                                  "clock_unchecked",
                                                                  "offset_rebased",
                                                                  "clock_not_slewed",
                                                                  "no_margin",
                                                                  "identity_ignored",
                                                                  "promoted_as_same",
                                                                  "arbiter_unidentified",
                                                                  "marker_unchecked",
                                                                  "nonce_unchecked",
                                                                  "initialise_blindly",
                                                                  "renew_without_row",
                                                                  "fence_without_epoch",
                                                                  "no_kill",
                                                                  "answer_lost",
                                                                  "undo_by_request",
                                                                  "last_attempt_owns",
                                                                  "adopt_fresh_ttl",
                                                                  "release_any_token",
                                                                  "renew_recreates",
                                                                  "renew_shortens",
                                                                  "keep_released_at_close",
                                                                  "undo_forgotten",
                                                                  "delay_ignored",
                                                                  "fence_stays",
                                                                  "never_yields",
                                                                  "offers_unsaid",
                                                                  "step_out_forgotten",
                                                                  "delay_unsaid"};

}  // namespace

std::string_view name_of(Fault fault) noexcept {
    return fault_names[static_cast<std::size_t>(fault)];
}

std::string_view name_of(Phase phase) noexcept {
    return phase_names[static_cast<std::size_t>(phase)];
}

std::string_view name_of(Mutant mutant) noexcept {
    return mutant_names[static_cast<std::size_t>(mutant)];
}

std::optional<Mutant> mutant_of(std::string_view name) noexcept {
    for (std::size_t i = 0; i < mutant_count; ++i) {
        if (mutant_names[i] == name) return static_cast<Mutant>(i);
    }
    return std::nullopt;
}

bool Plan::is_possible(Fault fault) const noexcept {
    return has_mysql() || !(fault >= Fault::mysql_slow && fault <= Fault::mysql_clock_step);
}

Plan::Plan(std::uint64_t the_seed) : seed(the_seed) {
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    Random random(seed ^ 0xf1ee7);
    nodes = static_cast<int>(random.between(2, 4));
    arbiter = random.chance(75) ? Site::mysql : Site::redis;
    has_strict = has_mysql();
    has_local = random.chance(30);
    clients = static_cast<int>(random.between(4, 10));
    locks = static_cast<int>(random.between(1, 2));
    kill_works = !random.chance(30);
    checks_clock = has_strict || !random.chance(30);
    // Some runs know only few kinds of faults, and so meet them undisturbed by the others.
    const int share = static_cast<int>(random.between(10, 80));
    for (std::size_t i = 0; i < fault_count; ++i) {
        const auto fault = static_cast<Fault>(i);
        if (random.chance(share) && is_possible(fault)) faults.push_back(fault);
    }
    fault_every = random.between(milliseconds(500), milliseconds(4000));
    ttl_max = random.chance(10) ? seconds(20) : random.between(seconds(2), seconds(6));
    wait_max = std::max(wait_max, ttl_max + delay_max + seconds(3));
    faults_last = random.between(seconds(20), seconds(40));
}

Plan Plan::of_one_node(std::uint64_t seed) {
    Plan plan(seed);
    plan.nodes = 1;
    plan.arbiter = Site::redis;
    plan.has_strict = plan.has_local = false;
    plan.may_lose = false;
    plan.faults = {Fault::redis_slow,
                   Fault::redis_cut_to,
                   Fault::redis_cut_from,
                   Fault::redis_cut,
                   Fault::redis_break,
                   Fault::redis_lose_replies,
                   Fault::redis_freeze,
                   Fault::redis_restart_empty,
                   Fault::redis_restart_old,
                   Fault::redis_restart_same,
                   Fault::redis_flush,
                   Fault::kill_node,
                   Fault::pause_node};
    return plan;
}

}  // namespace latchd::sim
