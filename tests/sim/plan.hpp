// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "random.hpp"

#include <latchd/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::sim {

enum class Fault : std::uint8_t {
    slow,              // the way between a node and the store takes 50-900 ms
    stall,             // nothing passes between a node and the store for a while, then all of it
    freeze,            // the store stands still, then goes on
    break_connection,  // reset; what was sent is executed later, or never
    lose_replies,      // carried out, but the answers never come
    restart_empty,
    restart_old,   // with a snapshot
    restart_same,  // with all its data
    flush,
    messages_cut,
    messages_slow,   // late, and some twice
    kill_node,       // with its journal
    kill_node_bare,  // and its journal is gone
    pause_node,
};
inline constexpr std::size_t fault_count = 14;

// What is going on at a node when a fault meets it.
enum class Phase : std::uint8_t {
    lock_in_flight,
    renew_in_flight,
    unlock_in_flight,
    handover_in_flight,
    held,
    waiting
};
inline constexpr std::size_t phase_count = 6;

using Coverage = std::array<std::array<std::uint64_t, phase_count>, fault_count>;

// Bugs that are planted to prove that the oracle sees them.
enum class Mutant : std::uint8_t {
    none,
    undo_by_request,    // an undo takes out every attempt of its request id
    adopt_fresh_ttl,    // an adopted grant is answered with the ttl that was asked
    release_any_token,  // UNLOCK frees the lock whoever holds it
    renew_recreates,    // RENEW of a lock that is gone grants it anew
    lease_from_reply,   // the lease is counted from when the answer came
    undo_forgotten,     // a grant that came too late is not undone
    no_kill,            // a doubtful connection is not ended before it is looked what came of it
    delay_ignored,      // a lock in its DELAY is granted
    identity_ignored,   // a restarted store is taken for the same process
    fence_stays,        // each grant has the fence of the one before it
    answer_lost,        // the store's adapter forgets one in 50 operations
};
inline constexpr std::array mutants{Mutant::undo_by_request,
                                    Mutant::adopt_fresh_ttl,
                                    Mutant::release_any_token,
                                    Mutant::renew_recreates,
                                    Mutant::lease_from_reply,
                                    Mutant::undo_forgotten,
                                    Mutant::no_kill,
                                    Mutant::delay_ignored,
                                    Mutant::identity_ignored,
                                    Mutant::fence_stays,
                                    Mutant::answer_lost};

[[nodiscard]] std::string_view name_of(Fault fault) noexcept;
[[nodiscard]] std::string_view name_of(Phase phase) noexcept;
[[nodiscard]] std::string_view name_of(Mutant mutant) noexcept;
[[nodiscard]] std::optional<Mutant> mutant_of(std::string_view name) noexcept;

// The shape of a run: drawn from its seed alone.
struct Plan {
    explicit Plan(std::uint64_t seed, std::optional<int> nodes = {});

    std::uint64_t seed;
    int nodes = 2;
    int clients = 8;
    int locks = 2;
    bool kill_works = true;
    bool checks_clock = true;   // false: too far away, operations carry no expected time
    std::vector<Fault> faults;  // that may happen
    Duration fault_every{};     // on average
    Duration ttl_max{};
    Duration wait_max = std::chrono::seconds(8);
    Duration delay_max = std::chrono::seconds(2);
    Duration faults_last{};
    std::int64_t ppm_max = 500;  // so two clocks differ by 0.1 % at most
};

}  // namespace latchd::sim
