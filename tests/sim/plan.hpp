// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "random.hpp"

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::sim {

// The servers that nodes have ways to.
enum class Site : std::uint8_t { redis, mysql };
inline constexpr std::size_t site_count = 2;

enum class Fault : std::uint8_t {
    redis_slow,          // the way between a node and Redis takes 50-900 ms
    redis_cut_to,        // nothing passes from a node to Redis for a while, then all of it
    redis_cut_from,      // and the other way
    redis_cut,           // both
    redis_break,         // reset; what was sent is executed later, or never
    redis_lose_replies,  // carried out, but the answers never come
    redis_freeze,
    redis_restart_empty,
    redis_restart_old,   // with a snapshot
    redis_restart_same,  // with all its data
    redis_promote,       // a replica that lags takes over; the old master stays for some seconds
    redis_flush,
    redis_evict,       // locks go, the marker stays
    redis_clock_step,  // 1-10 s either way
    mysql_slow,
    mysql_cut_to,
    mysql_cut_from,
    mysql_cut,
    mysql_break,
    mysql_lose_replies,
    mysql_freeze,
    mysql_outage,   // down, then back with all its data
    mysql_promote,  // a replica that lacks up to 400 ms takes over
    mysql_clock_step,
    messages_cut,
    messages_slow,   // late, and some twice
    kill_node,       // with its journal
    kill_node_bare,  // and journal and state directory are gone
    pause_node,      // SIGSTOP: its clock goes on
    pause_host,      // the virtual machine: its clock stands still
    leave_node,      // SIGTERM
    command,         // LATCHD FAILOVER or FAILBACK
};
inline constexpr std::size_t fault_count = 32;

// What is going on at a node when a fault meets it.
enum class Phase : std::uint8_t {
    idle,
    lock_in_flight,
    held,
    renew_in_flight,
    unlock_in_flight,
    handover_in_flight,  // an UNLOCK that grants to a waiter
    waiting,             // somebody waits for a lock
    settling,            // the store that is to serve is not initialised yet
    initialised,         // but not open
};
inline constexpr std::size_t phase_count = 9;

using Coverage = std::array<std::array<std::uint64_t, phase_count>, fault_count>;

// Rules that a run leaves out, to prove that the oracle sees it. See mutants.md.
enum class Mutant : std::uint8_t {
    none,
    permit_ignored,
    renew_past_permit,
    strict_early,
    lost_not_waited,
    strict_wait_instant,
    strict_wait_not_carried,
    nothing_carried,
    gone_not_carried,
    foreign_not_carried,
    merge_any,
    merge_fence_only,
    unopened_dropped,
    acked_by_name,
    journal_unsaid,
    live_votes_only,
    busy_is_failure,
    late_replies,
    lease_from_reply,
    clock_read_twice,
    clock_unchecked,
    offset_rebased,
    clock_not_slewed,
    no_margin,
    identity_ignored,
    promoted_as_same,
    arbiter_unidentified,
    marker_unchecked,
    nonce_unchecked,
    initialise_blindly,
    renew_without_row,
    fence_without_epoch,
    no_kill,
    answer_lost,
    undo_by_request,
    last_attempt_owns,
    adopt_fresh_ttl,
    release_any_token,
    renew_recreates,
    renew_shortens,
    keep_released_at_close,
    undo_forgotten,
    delay_ignored,
    fence_stays,
    never_yields,
    offers_unsaid,
    step_out_forgotten,
    delay_unsaid,
};
inline constexpr std::size_t mutant_count = 48;

[[nodiscard]] std::string_view name_of(Fault fault) noexcept;
[[nodiscard]] std::string_view name_of(Phase phase) noexcept;
[[nodiscard]] std::string_view name_of(Mutant mutant) noexcept;
[[nodiscard]] std::optional<Mutant> mutant_of(std::string_view name) noexcept;

// The shape of a run, drawn from its seed alone; scripted scenarios set what they need.
struct Plan {
    explicit Plan(std::uint64_t seed);
    Plan() : Plan(1) {}
    // One node that has a Redis to itself, which loses its data but never its node.
    [[nodiscard]] static Plan of_one_node(std::uint64_t seed);

    [[nodiscard]] bool has_mysql() const noexcept { return arbiter == Site::mysql; }
    [[nodiscard]] bool is_possible(Fault fault) const noexcept;

    std::uint64_t seed;
    int nodes = 3;
    // Where the authority record is. mysql: it is the second tier, too. redis: the only tier.
    Site arbiter = Site::mysql;
    int turned = -1;         // this node's configuration has the stores in the other order
    bool has_local = false;  // resource "l" degrades to the host's table
    bool has_strict = true;  // resource "s"; only where MySQL is the arbiter
    int clients = 8;
    int locks = 2;  // of each resource
    bool kill_works = true;
    bool checks_clock = true;   // false: too far away, operations carry no expected time
    std::vector<Fault> faults;  // that may happen
    Duration fault_every{};     // on average
    Duration faults_last{};
    bool may_lose = true;  // false: nothing of what may happen costs a lock, whatever its resource

    Duration ttl_max = std::chrono::seconds(4);
    Duration wait_max = std::chrono::seconds(8);
    Duration delay_max = std::chrono::seconds(2);
    std::int64_t ppm_max = 500;  // so two clocks differ by 0.1 % at most

    // The fleet's times, shorter than in real life so that more happens in a run.
    Duration view_lease = std::chrono::seconds(4);
    Duration beat_every = std::chrono::milliseconds(800);
    Duration read_every = std::chrono::milliseconds(400);
    Duration settle_grace = std::chrono::seconds(1);
    Duration available_max = std::chrono::seconds(20);
    Duration hold_down = std::chrono::seconds(3);
    Duration hold_down_max = std::chrono::seconds(6);
    Duration vote_kept = std::chrono::seconds(10);
    Duration note_every = std::chrono::seconds(1);
    Duration note_fresh = std::chrono::milliseconds(2500);
};

}  // namespace latchd::sim
