// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// The counter-examples that the design has an answer to, one each (parts Z, 0 and A to C of the
// collection), and what a mutant needs to be steered to. Their oracle is the simulator's.
#include "stage.hpp"

#include <utility>

namespace latchd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Plan three_nodes() { return plan_of(3); }
Plan two_nodes() { return plan_of(2); }
Plan with_local() {
    Plan plan = plan_of(2);
    plan.has_local = true;
    return plan;
}
Plan long_leases() {
    Plan plan = plan_of(3);
    plan.ttl_max = seconds(20);
    return plan;
}
Plan redis_alone() {
    Plan plan = plan_of(2);
    plan.arbiter = Site::redis;
    plan.has_strict = false;
    return plan;
}

constexpr Duration away = seconds(60);
constexpr Duration soon = milliseconds(2500);

// ---- nothing fails ---------------------------------------------------------------------------

void a_quiet_day(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch epoch = stage.epoch();
    for (int i = 0; i < 200 && !stage.is_over(); ++i) {
        const auto grant = stage.lock(i % 3, i % 2 == 0 ? "r" : "s", seconds(3));
        stage.expect(grant.has_value(), "LOCK fails: " + stage.said);
        if (!grant) return;
        stage.world.run_for(milliseconds(150));
        const char* const resource = i % 2 == 0 ? "r" : "s";
        const auto left = stage.renew((i + 1) % 3, resource, grant->token);
        stage.expect(left.value_or(0) > 0, "RENEW elsewhere: " + stage.said);
        const auto freed = stage.unlock((i + 2) % 3, resource, grant->token);
        stage.expect(freed == 1, "UNLOCK elsewhere: " + stage.said);
    }
    stage.expect(stage.epoch() == epoch, "I8: an epoch began though nothing failed");
}

// ---- the store fails -------------------------------------------------------------------------

void the_store_dies(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(6));
    stage.expect(held.has_value(), stage.said);
    if (!held) return;
    stage.expect(stage.renew(1, "s", held->token).value_or(0) > 0, "RENEW: " + stage.said);
    const Moment died = stage.world.now();
    stage.world.oracle.troubled(Site::redis, died + away);
    stage.world.redis().restart(RedisServer::Data::none, away);
    stage.expect(stage.until_open(2, "mysql", first, soon), "MySQL does not open within 2.5 s");
    stage.expect(stage.renew(2, "s", held->token).value_or(0) > 0,
                 "the lock was not carried: " + stage.said);
    stage.expect(!stage.lock(2, "s", seconds(2)), "a held lock is granted again");
    stage.expect(stage.unlock(1, "s", held->token) == 1, "UNLOCK: " + stage.said);
    const auto next = stage.lock(2, "s", seconds(2), seconds(2));
    stage.expect(next && next->fence > held->fence, "the fence does not rise");
}

// Counter-example A1: renewed through another node, and the granting one dies with the store.
void foreign_renewal_carried(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "r", milliseconds(2000));
    if (!held) return stage.expect(false, stage.said);
    stage.world.run_for(milliseconds(1500));
    core::RenewCommand renew;
    renew.key = key_in("r");
    renew.token = held->token;
    renew.ttl = seconds(6);
    const auto left = stage.world.ask(1, std::move(renew), seconds(2));
    stage.expect(left && std::get_if<core::Number>(&*left) != nullptr, "RENEW fails");
    stage.world.run_for(milliseconds(50));
    stage.world.member(0).kill(Member::Left::nothing);
    stage.world.oracle.troubled(Site::redis, stage.world.now() + away);
    stage.world.redis().restart(RedisServer::Data::none, away);
    stage.expect(stage.until_open(2, "mysql", first, seconds(4)), "MySQL does not open");
    (void)stage.lock(2, "r", seconds(1));  // I1, were it granted
    stage.expect(stage.renew(1, "r", held->token).value_or(0) > 0,
                 "the renewed lock was not carried: " + stage.said);
}

// Counter-example A7: released through another node, which is all that knows of it.
void gone_fence_handed_over(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "r", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.cut_messages(Site::redis, 0, seconds(30));
    stage.world.cut_messages(Site::mysql, 0, seconds(30));
    stage.expect(stage.unlock(1, "r", held->token) == 1, "UNLOCK elsewhere: " + stage.said);
    stage.world.oracle.troubled(Site::redis, stage.world.now() + away);
    stage.world.redis().restart(RedisServer::Data::none, away);
    stage.expect(stage.until_open(2, "mysql", first, soon), "MySQL does not open");
    stage.expect(stage.lock(2, "r", seconds(2)).has_value(),
                 "a released lock came back as a ghost: " + stage.said);
}

// ---- lost nodes ------------------------------------------------------------------------------

// A node is cut off from MySQL and alone reaches Redis, which the others have lost: it goes on as
// long as its view lease runs.
struct CutOff {
    std::optional<core::Granted> last;
    Epoch first = 0;
};

CutOff cut_off_node_holds(Stage& stage, const std::function<void()>& meanwhile) {
    CutOff result;
    result.first = stage.epoch();
    // So that what it may grant at most is known to its row.
    if (const auto grant = stage.lock(0, "s", seconds(6))) {
        (void)stage.unlock(0, "s", grant->token);
    }
    stage.world.run_for(seconds(1));
    stage.cut(0, Site::mysql, away);
    for (std::size_t node = 1; node < stage.world.size(); ++node)
        stage.cut(node, Site::redis, away);
    bool was_told = false;
    const Moment until = stage.world.now() + seconds(9);
    while (!stage.is_over() && stage.world.now() < until) {
        if (auto grant = stage.lock(0, "s", seconds(6))) {
            if (result.last) (void)0;
            result.last = grant;
        } else if (result.last) {
            // It holds: as late as it may.
            (void)stage.renew(0, "s", result.last->token);
        }
        if (!was_told && stage.until_open(1, "mysql", result.first, milliseconds(10))) {
            was_told = true;
            if (meanwhile) meanwhile();
        }
        (void)stage.lock(1, "s", seconds(2));
        stage.world.run_for(milliseconds(40));
    }
    stage.expect(result.last.has_value(), "the cut-off node never got the lock");
    stage.expect(stage.until_open(1, "mysql", result.first, seconds(4)), "MySQL does not open");
    const bool is_had =
        stage.until([&] { return stage.lock(1, "s", seconds(2)).has_value(); }, seconds(30));
    stage.expect(is_had, "liveness: a strict lock can't be had: " + stage.said);
    return result;
}

void strict_wait(Stage& stage) {
    if (ready(stage)) (void)cut_off_node_holds(stage, {});
}

// Part Z: "the strict wait as an instant".
void strict_wait_is_a_duration(Stage& stage) {
    if (!ready(stage)) return;
    (void)cut_off_node_holds(stage, [&] {
        stage.world.oracle.clock_stepped();
        stage.world.mysql().step_clock(seconds(30));
    });
}

void strict_wait_is_carried(Stage& stage) {
    if (!ready(stage)) return;
    (void)cut_off_node_holds(stage, [&] {
        stage.world.run_for(seconds(3));
        // Another epoch, for which nobody is missing any more: its row is gone by then.
        stage.world.oracle.clock_stepped();
        stage.world.mysql().step_clock(seconds(2));
    });
}

// Part Z: "a dead pod's successor": it acknowledges by another incarnation.
void dead_pod(Stage& stage, Member::Left left) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.member(0).kill(left);
    stage.world.oracle.troubled(Site::redis, stage.world.now() + away);
    stage.world.redis().restart(RedisServer::Data::none, away);
    stage.world.member(0).start();
    const Moment until = stage.world.now() + seconds(8);
    while (!stage.is_over() && stage.world.now() < until) {
        (void)stage.lock(1, "s", seconds(2));  // I1, were it granted too early
        stage.world.run_for(milliseconds(50));
    }
    stage.expect(stage.until_open(1, "mysql", first, seconds(4)), "MySQL does not open");
    const bool is_had =
        stage.until([&] { return stage.lock(1, "s", seconds(2)).has_value(); }, seconds(30));
    stage.expect(is_had, "liveness: " + stage.said);
}

void dead_pods_successor(Stage& stage) { dead_pod(stage, Member::Left::nothing); }
// It knows that the former process is dead, and does not speak for it.
void successor_without_journal(Stage& stage) { dead_pod(stage, Member::Left::state); }

// The successor has the journal: nobody waits, and the lock goes on.
void successor_with_journal(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.member(0).kill(Member::Left::journal);
    stage.world.oracle.troubled(Site::redis, stage.world.now() + away);
    stage.world.redis().restart(RedisServer::Data::none, away);
    stage.world.member(0).start();
    stage.expect(stage.until_open(1, "mysql", first, seconds(4)), "MySQL does not open");
    const bool is_renewed = stage.until(
        [&] { return stage.renew(1, "s", held->token).value_or(0) > 0; }, milliseconds(2500));
    stage.expect(is_renewed, "the lock was not carried: " + stage.said);
}

// Part Z: "an epoch that never opened": what was handed over for it counts for the next.
void epoch_that_never_opened(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "r", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    // Another process is there: the epoch is to open on it, and it dies as well.
    stage.world.oracle.troubled(Site::redis, stage.world.now() + away);
    stage.world.redis().restart(RedisServer::Data::none, milliseconds(20));
    const bool is_acked = stage.until_settling(
        first, [&] { return stage.has_acked(0, stage.epoch()); }, seconds(8));
    stage.expect(is_acked, "no epoch settles");
    stage.world.member(0).kill(Member::Left::nothing);
    stage.world.redis().restart(RedisServer::Data::none, away);
    const Epoch second = stage.epoch();
    stage.expect(stage.until_open(1, "mysql", second - 1, seconds(10)), "MySQL does not open");
    stage.expect(!stage.lock(1, "r", seconds(2)), "a lock that was handed over is granted again");
}

// Part Z: two nodes; one dies with Redis: all that are not lost may vote.
void two_node_fleet(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    stage.world.member(0).kill(Member::Left::state);
    stage.world.oracle.troubled(Site::redis, stage.world.now() + away);
    stage.world.redis().restart(RedisServer::Data::none, away);
    const Duration bound = stage.world.plan.view_lease + seconds(4);
    stage.expect(stage.until_open(1, "mysql", first, bound), "the other node may not move");
    stage.expect(stage.lock(1, "r", seconds(2)).has_value(), "LOCK: " + stage.said);
}

// ---- leaving ---------------------------------------------------------------------------------

// C4: nobody waits for who left, and its locks go on.
void leave_records(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.member(0).leave();
    const bool has_left = stage.until(
        [&] { return !stage.world.member(0).is_alive() || !stage.world.member(0).is_leaving(); },
        seconds(4));
    stage.expect(has_left, "the node does not leave");
    stage.world.oracle.troubled(Site::redis, stage.world.now() + away);
    stage.world.redis().restart(RedisServer::Data::none, away);
    stage.expect(stage.until_open(1, "mysql", first, seconds(3)), "MySQL does not open");
    stage.expect(!stage.lock(1, "s", seconds(2)), "a leaver's lock is granted again");
    const bool is_renewed = stage.until(
        [&] { return stage.renew(1, "s", held->token).value_or(0) > 0; }, milliseconds(2500));
    stage.expect(is_renewed, "the leaver's lock was not carried: " + stage.said);
}

// ---- MySQL -----------------------------------------------------------------------------------

void to_mysql(Stage& stage) {
    const Epoch first = stage.epoch();
    stage.command(0, false);
    stage.expect(stage.until_open(1, "mysql", first, seconds(4)), "FAILOVER does not move");
    const bool is_strict = stage.until(
        [&] {
            const auto grant = stage.lock(1, "s", seconds(2));
            if (grant) (void)stage.unlock(1, "s", grant->token);
            return grant.has_value();
        },
        seconds(8));
    stage.expect(is_strict, "no strict lock can be had on MySQL: " + stage.said);
}

// B4, 0.6: MySQL fails over and lacks the grant; its rows are not read as if they were all.
void promoted_mysql(Stage& stage) {
    if (!ready(stage)) return;
    to_mysql(stage);
    if (stage.is_over()) return;
    // The one that knows of the grant goes with it.
    const auto held = stage.lock(0, "s", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.oracle.troubled(Site::mysql, stage.world.now() + seconds(1));
    stage.world.oracle.store_changed();
    stage.world.mysql().promote(milliseconds(300));
    stage.world.member(0).kill(Member::Left::nothing);
    stage.world.cut_way(0, Site::mysql, true, true, away);
    const Moment until = stage.world.now() + seconds(9);
    while (!stage.is_over() && stage.world.now() < until) {
        (void)stage.lock(1, "s", seconds(2));
        stage.world.run_for(milliseconds(50));
    }
    const bool is_had =
        stage.until([&] { return stage.lock(1, "s", seconds(2)).has_value(); }, seconds(40));
    stage.expect(is_had, "liveness: " + stage.said);
}

// 0.9: a restart of the same server is no other arbiter.
void arbiter_restarts(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    stage.world.oracle.troubled(Site::mysql, stage.world.now() + seconds(1));
    stage.world.mysql().restart(milliseconds(500));
    stage.world.run_for(seconds(5));
    stage.expect(stage.epoch() == first, "I8: a restart of MySQL begins an epoch");
    stage.expect(stage.lock(0, "s", seconds(2)).has_value(), "LOCK: " + stage.said);
}

// Part Z, C5: MySQL is away, Redis is well: available resources go on, and say so.
void the_standbys_outage(Stage& stage) {
    if (!ready(stage)) return;
    stage.world.oracle.troubled(Site::mysql, stage.world.now() + away);
    stage.world.mysql().restart(seconds(12));
    stage.world.run_for(stage.world.plan.view_lease + seconds(2));
    const auto grant = stage.lock(0, "r", seconds(2));
    stage.expect(grant && grant->tier == "redis?", "an unconfirmed grant says so: " + stage.said);
    stage.expect(!stage.lock(1, "s", seconds(2)), "strict without the arbiter");
    stage.world.run_for(seconds(8));
    const auto after = stage.lock(1, "s", seconds(2), seconds(3));
    stage.expect(after.has_value(), "strict does not come back: " + stage.said);
}

// B5: a node that does not know yet renews in a tier that was closed and read already.
void renew_after_the_closing(Stage& stage) {
    if (!ready(stage)) return;
    to_mysql(stage);
    if (stage.is_over()) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", milliseconds(5500));
    if (!held) return stage.expect(false, stage.said);
    stage.world.run_for(milliseconds(700));
    stage.world.member(0).stall_arbiter(seconds(20));
    stage.command(1, true);
    const Moment until = stage.world.now() + seconds(14);
    while (!stage.is_over() && stage.world.now() < until) {
        if (stage.world.member(0).epoch() == first) (void)stage.renew(0, "s", held->token);
        (void)stage.lock(1, "s", seconds(2));
        stage.world.run_for(milliseconds(30));
    }
    stage.expect(stage.until_open(1, "redis", first, seconds(4)), "Redis does not open");
}

// B11: the process is stopped between its decision and the packet, until the fleet has moved.
void stopped_before_it_sends(Stage& stage) {
    if (!ready(stage)) return;
    if (const auto grant = stage.lock(0, "s", seconds(5))) {
        (void)stage.unlock(0, "s", grant->token);  // its row says what it may grant
    }
    stage.world.run_for(seconds(1));
    core::LockCommand lock;
    lock.key = key_in("s");
    lock.ttl = seconds(5);
    lock.wait = seconds(15);
    (void)stage.world.ask(0, lock, milliseconds(0));
    const bool is_about =
        stage.world.step_until([&] { return stage.world.member(0).has_unsent(); }, seconds(1));
    stage.expect(is_about, "nothing is about to be sent");
    stage.world.oracle.paused(0, stage.world.now() + seconds(10), false);
    stage.world.member(0).pause(seconds(10), false);
    stage.cut(1, Site::redis, seconds(30));
    stage.cut(2, Site::redis, seconds(30));
    const Moment until = stage.world.now() + seconds(18);
    while (!stage.is_over() && stage.world.now() < until) {
        (void)stage.lock(1, "s", seconds(5));
        stage.world.run_for(milliseconds(30));
    }
}

// 0.2: RENEW of a strict lock before a silent node is lost, which may have granted it.
void strict_renewal_waits_for_the_silent(Stage& stage) {
    if (!ready(stage)) return;
    for (int i = 0; i < 12 && !stage.is_over(); ++i) {
        (void)stage.until_open(1, "redis", 0, seconds(30));
        (void)stage.until_open(0, "redis", 0, seconds(30));
        if (const auto grant = stage.lock(0, "s", seconds(6), seconds(20))) {
            (void)stage.unlock(0, "s", grant->token);
        }
        stage.world.run_for(seconds(2));
        const Epoch first = stage.epoch();
        const auto held = stage.lock(1, "s", milliseconds(2000 + 200 * i), seconds(8));
        if (!held) continue;
        stage.cut(0, Site::mysql, seconds(8));
        stage.cut(1, Site::redis, seconds(8));
        stage.cut(2, Site::redis, seconds(8));
        const Moment until = stage.world.now() + seconds(5);
        while (!stage.is_over() && stage.world.now() < until) {
            (void)stage.lock(0, "s", seconds(6));
            if (stage.world.member(1).epoch() > first) (void)stage.renew(1, "s", held->token);
            stage.world.run_for(milliseconds(15));
        }
        stage.world.run_for(seconds(14));
    }
}

// KEEP: the end of a connection is not the end of its client.
void kept_past_the_connection(Stage& stage) {
    if (!ready(stage)) return;
    core::LockCommand lock;
    lock.key = key_in("s");
    lock.ttl = seconds(5);
    lock.keep = true;
    const auto held = stage.lock(0, std::move(lock));
    if (!held) return stage.expect(false, stage.said);
    stage.world.hang_up(0);
    stage.world.run_for(milliseconds(300));
    stage.expect(!stage.lock(1, "s", seconds(2)), "released at the close");
}

// B5: RENEW on MySQL reads the placement's row.
void renew_reads_the_row(Stage& stage) {
    if (!ready(stage)) return;
    to_mysql(stage);
    if (stage.is_over()) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(3));
    if (!held) return stage.expect(false, stage.said);
    // Its RENEW is a long time under way, and the fleet goes on meanwhile.
    stage.world.run_for(milliseconds(1200));
    stage.world.cut_way(0, Site::mysql, false, true, seconds(4));
    core::RenewCommand renew;
    renew.key = key_in("s");
    renew.token = held->token;
    stage.world.slow_way(0, Site::mysql, milliseconds(900));
    (void)stage.world.ask(0, std::move(renew), milliseconds(1));
    stage.command(1, true);
    (void)stage.until_open(1, "redis", first, seconds(8));
    stage.world.run_for(seconds(6));
}

// ---- one node alone --------------------------------------------------------------------------

// C6, 0.10: one node's trouble is not the fleet's.
void one_node_alone(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    stage.cut(2, Site::redis, seconds(20));
    stage.world.run_for(seconds(8));
    stage.expect(stage.epoch() == first, "I8: one node's vote moves the fleet");
    stage.expect(!stage.lock(2, "r", seconds(2)), "a node without its tier grants");
    stage.expect(stage.lock(0, "r", seconds(2)).has_value(), "LOCK: " + stage.said);
}

// B11: a node that is paused through a whole change must not go on in what it knew.
void paused_through_a_change(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "r", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.oracle.paused(0, stage.world.now() + seconds(12), false);
    stage.world.member(0).pause(seconds(12), false);
    stage.world.oracle.troubled(Site::redis, stage.world.now() + seconds(3));
    stage.world.redis().freeze(seconds(3));
    stage.expect(stage.until_open(1, "mysql", first, seconds(6)), "MySQL does not open");
    stage.world.run_for(seconds(1));
    (void)stage.lock(1, "s", seconds(6), seconds(20));
    stage.world.run_for(seconds(1));
    stage.expect(stage.until_open(0, "mysql", first, seconds(20)) || stage.epoch() > first + 1,
                 "the paused node does not come back");
}

// B3: the same with a host whose clock stood still.
void paused_host(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    stage.world.oracle.paused(0, stage.world.now() + seconds(9), true);
    stage.world.member(0).pause(seconds(9), true);
    for (std::size_t node = 1; node < 3; ++node) stage.cut(node, Site::redis, seconds(14));
    stage.expect(stage.until_open(1, "mysql", first, seconds(8)), "MySQL does not open");
    const bool is_had =
        stage.until([&] { return stage.lock(1, "s", seconds(6)).has_value(); }, seconds(24));
    stage.expect(is_had, "liveness: " + stage.said);
    for (int i = 0; i < 60 && !stage.is_over(); ++i) {
        (void)stage.lock(0, "s", seconds(2));
        (void)stage.lock(1, "s", seconds(6));
        stage.world.run_for(milliseconds(50));
    }
}

// ---- coming back -----------------------------------------------------------------------------

// Rule 3: only after the hold-down, and with every lock.
void hold_down(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    stage.world.oracle.troubled(Site::redis, stage.world.now() + seconds(3));
    stage.world.redis().restart(RedisServer::Data::none, seconds(3));
    stage.expect(stage.until_open(1, "mysql", first, seconds(4)), "MySQL does not open");
    const Epoch second = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(6), seconds(3));
    if (!held) return stage.expect(false, stage.said);
    const Moment back = stage.world.now();
    const bool is_back = stage.until(
        [&] {
            stage.world.run_for(milliseconds(300));
            (void)stage.renew(1, "s", held->token);
            return stage.until_open(1, "redis", second, milliseconds(1));
        },
        seconds(20));
    stage.expect(is_back, "Redis is not taken back");
    const Duration took = stage.world.now() - back;
    stage.expect(took >= stage.world.plan.hold_down + milliseconds(2500),
                 "taken back before the hold-down");
    stage.expect(!stage.lock(2, "s", seconds(2)), "a held lock is granted again");
}

// C1: a target that dies while it settles is left for another.
void redirected(Stage& stage) {
    if (!ready(stage)) return;
    to_mysql(stage);
    if (stage.is_over()) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(6));
    stage.command(1, true);
    (void)stage.until_settling(
        first, [] { return true; }, seconds(3));
    stage.world.oracle.troubled(Site::redis, stage.world.now() + away);
    stage.world.redis().restart(RedisServer::Data::none, away);
    stage.expect(stage.until_open(2, "mysql", first, seconds(9)), "it settles for ever");
    if (!held) return;
    (void)stage.lock(2, "s", seconds(2));  // I1
}

// Rule 6: who acknowledges late asserts its records by token.
void late_hand_over(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "r", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.cut(0, Site::mysql, seconds(3));
    stage.world.oracle.troubled(Site::redis, stage.world.now() + away);
    stage.world.redis().restart(RedisServer::Data::none, away);
    stage.expect(stage.until_open(1, "mysql", first, seconds(3)), "MySQL does not open");
    stage.expect(stage.until_open(0, "mysql", first, seconds(6)), "the late node does not follow");
    const auto left = stage.renew(1, "r", held->token);
    stage.expect(left.value_or(0) > 0, "a late record is not asserted: " + stage.said);
}

// 0.14: while it settles UNLOCK is answered from the node's own records.
void unlock_while_settling(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "r", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.oracle.paused(2, stage.world.now() + seconds(3), false);
    stage.world.member(2).pause(seconds(3), false);  // so that it settles for settle_grace
    stage.command(1, false);
    stage.expect(stage.until_settling(
                     first, [&] { return !stage.world.member(0).is_open(); }, seconds(3)),
                 "no epoch settles");
    const Moment before = stage.world.now();
    stage.expect(stage.unlock(0, "r", held->token) == 1, "UNLOCK: " + stage.said);
    stage.expect(stage.world.now() - before < milliseconds(200), "UNLOCK waits for the opening");
    stage.expect(stage.until_open(1, "mysql", first, seconds(4)), "MySQL does not open");
    const bool is_free = stage.lock(1, "r", seconds(2), seconds(3)).has_value();
    stage.expect(is_free, "a released lock: " + stage.said);
}

// ---- others ----------------------------------------------------------------------------------

// 0.8: clocks that drift apart for an hour stop nobody.
Plan an_hour_of_drift() {
    Plan plan = plan_of(2);
    plan.ppm_max = 450;
    return plan;
}
void clocks_drift(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    for (int i = 0; i < 40 && !stage.is_over(); ++i) {
        stage.world.run_for(seconds(60));
        const auto grant = stage.lock(0, "s", seconds(2));
        stage.expect(grant.has_value(), "LOCK after " + std::to_string(i) + " min: " + stage.said);
        if (grant) (void)stage.unlock(0, "s", grant->token);
    }
    stage.expect(stage.epoch() == first, "I8: drift begins an epoch");
}

// A11: the host's own table says local, and is left when the others are back.
void local_mode(Stage& stage) {
    if (!ready(stage)) return;
    stage.world.oracle.troubled(Site::redis, stage.world.now() + seconds(12));
    stage.world.oracle.troubled(Site::mysql, stage.world.now() + seconds(12));
    stage.world.redis().restart(RedisServer::Data::all, seconds(12));
    stage.world.mysql().restart(seconds(12));
    const bool is_local = stage.until([&] { return stage.world.member(0).is_local(); }, seconds(8));
    stage.expect(is_local, "no local mode");
    const auto grant = stage.lock(0, "l", seconds(6));
    stage.expect(grant && grant->tier == "local" && grant->fence < (1ull << 32),
                 "a local grant: " + stage.said);
    stage.expect(!stage.lock(0, "s", seconds(2)), "strict in local mode");
    stage.expect(stage.until_open(0, "redis", 0, seconds(20)), "no way back from local mode");
}

// B7: Redis alone restarts empty, and no lock is lost as long as its node lives.
void redis_alone_restarts_empty(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "r", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.oracle.store_changed();
    stage.world.redis().restart(RedisServer::Data::none, milliseconds(100));
    stage.expect(stage.until_open(1, "redis", first, seconds(10)), "no epoch opens");
    stage.expect(!stage.lock(1, "r", seconds(1)), "a held lock is granted again");
    stage.expect(stage.renew(1, "r", held->token).value_or(0) > 0, "not carried: " + stage.said);
}

// FLUSHALL, an old snapshot, a promoted replica: the same event.
void redis_loses_its_data(Stage& stage) {
    if (!ready(stage)) return;
    for (int kind = 0; kind < 3 && !stage.is_over(); ++kind) {
        const Epoch first = stage.epoch();
        const auto held = stage.lock(0, "s", seconds(6), seconds(6));
        if (!held) return stage.expect(false, stage.said);
        stage.world.oracle.store_changed();
        if (kind == 0) stage.world.redis().flush();
        if (kind == 1) stage.world.redis().restart(RedisServer::Data::snapshot, milliseconds(50));
        if (kind == 2) stage.world.promote_redis(milliseconds(10));
        const bool is_open = stage.until(
            [&] {
                return stage.epoch() > first && stage.world.member(1).is_open() &&
                       stage.world.member(1).epoch() == stage.epoch();
            },
            seconds(6));
        stage.expect(is_open, "no epoch opens");
        stage.expect(!stage.lock(1, "s", seconds(2)), "a held lock is granted again");
        const bool is_kept = stage.until(
            [&] { return stage.renew(1, "s", held->token).value_or(0) > 0; }, seconds(2));
        stage.expect(is_kept, "not carried: " + stage.said);
        (void)stage.until([&] { return stage.unlock(0, "s", held->token) == 1; }, seconds(3));
        stage.world.run_for(seconds(10));
    }
}

std::vector<Scenario> with_those_of_queues(std::vector<Scenario> some) {
    some.insert(some.end(), queue_scenarios().begin(), queue_scenarios().end());
    return some;
}

}  // namespace

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all = with_those_of_queues(with_store_scenarios({
        {"a_quiet_day", a_quiet_day, three_nodes},
        {"the_store_dies", the_store_dies, three_nodes},
        {"foreign_renewal_carried", foreign_renewal_carried, three_nodes},
        {"gone_fence_handed_over", gone_fence_handed_over, three_nodes},
        {"strict_wait", strict_wait, three_nodes},
        {"strict_wait_is_a_duration", strict_wait_is_a_duration, three_nodes},
        {"strict_wait_is_carried", strict_wait_is_carried, three_nodes},
        {"dead_pods_successor", dead_pods_successor, three_nodes},
        {"successor_without_journal", successor_without_journal, three_nodes},
        {"successor_with_journal", successor_with_journal, three_nodes},
        {"renew_after_the_closing", renew_after_the_closing, three_nodes},
        {"stopped_before_it_sends", stopped_before_it_sends, three_nodes},
        {"strict_renewal_waits_for_the_silent", strict_renewal_waits_for_the_silent, three_nodes},
        {"kept_past_the_connection", kept_past_the_connection, three_nodes},
        {"epoch_that_never_opened", epoch_that_never_opened, three_nodes},
        {"two_node_fleet", two_node_fleet, two_nodes},
        {"leave_records", leave_records, three_nodes},
        {"promoted_mysql", promoted_mysql, three_nodes},
        {"arbiter_restarts", arbiter_restarts, three_nodes},
        {"the_standbys_outage", the_standbys_outage, three_nodes},
        {"renew_reads_the_row", renew_reads_the_row, three_nodes},
        {"one_node_alone", one_node_alone, three_nodes},
        {"paused_through_a_change", paused_through_a_change, three_nodes},
        {"paused_host", paused_host, three_nodes},
        {"hold_down", hold_down, three_nodes},
        {"redirected", redirected, three_nodes},
        {"late_hand_over", late_hand_over, three_nodes},
        {"unlock_while_settling", unlock_while_settling, three_nodes},
        {"clocks_drift", clocks_drift, an_hour_of_drift},
        {"local_mode", local_mode, with_local},
        {"redis_alone_restarts_empty", redis_alone_restarts_empty, redis_alone},
        {"redis_loses_its_data", redis_loses_its_data, three_nodes},
        {"starts_without_the_arbiter", starts_without_the_arbiter, three_nodes},
        {"all_have_lost_the_arbiter", all_have_lost_the_arbiter, three_nodes},
        {"the_missing_assert", the_missing_assert, long_leases},
        {"a_successor_asserts", a_successor_asserts, long_leases},
        {"a_successor_asserts_nothing_without_the_journal",
         a_successor_asserts_nothing_without_the_journal,
         long_leases},
        {"a_leaver_and_two_dead_stores", a_leaver_and_two_dead_stores, three_nodes},
    }));
    return all;
}

}  // namespace latchd::sim
