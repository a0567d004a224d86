// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

namespace latchd::sim {
namespace {

constexpr std::array<std::string_view, fault_count> fault_names{"slow",
                                                                "stall",
                                                                "freeze",
                                                                "break_connection",
                                                                "lose_replies",
                                                                "restart_empty",
                                                                "restart_old",
                                                                "restart_same",
                                                                "flush",
                                                                "messages_cut",
                                                                "messages_slow",
                                                                "kill_node",
                                                                "kill_node_bare",
                                                                "pause_node"};
constexpr std::array<std::string_view, phase_count> phase_names{"lock_in_flight",
                                                                "renew_in_flight",
                                                                "unlock_in_flight",
                                                                "handover_in_flight",
                                                                "held",
                                                                "waiting"};
constexpr std::array<std::string_view, mutants.size() + 1> mutant_names{"none",
                                                                        "undo_by_request",
                                                                        "adopt_fresh_ttl",
                                                                        "release_any_token",
                                                                        "renew_recreates",
                                                                        "lease_from_reply",
                                                                        "undo_forgotten",
                                                                        "no_kill",
                                                                        "delay_ignored",
                                                                        "identity_ignored",
                                                                        "fence_stays",
                                                                        "answer_lost"};

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
    for (std::size_t i = 0; i < mutant_names.size(); ++i) {
        if (mutant_names[i] == name) return static_cast<Mutant>(i);
    }
    return std::nullopt;
}

Plan::Plan(std::uint64_t the_seed, std::optional<int> node_count) : seed(the_seed) {
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    Random random(seed ^ 0x5eed);
    const auto shape = random.between(0, 9);
    nodes = shape < 2 ? 1 : shape < 8 ? 2 : 3;
    if (node_count) nodes = *node_count;
    clients = static_cast<int>(random.between(4, 12));
    locks = static_cast<int>(random.between(1, 3));
    kill_works = !random.chance(30);
    checks_clock = !random.chance(40);
    // Some runs know only few kinds of faults, and so meet them undisturbed by the others.
    const int share = static_cast<int>(random.between(25, 100));
    for (std::size_t i = 0; i < fault_count; ++i) {
        if (random.chance(share)) faults.push_back(static_cast<Fault>(i));
    }
    fault_every = random.between(milliseconds(300), milliseconds(2500));
    // Long leases show the drift of clocks, short ones how slow the store may be.
    ttl_max = random.chance(20) ? seconds(60) : random.between(seconds(1), seconds(6));
    faults_last = random.between(seconds(30), seconds(60));
}

}  // namespace latchd::sim
