// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// What stores and connections do to locks, and votes: steered to where seeds come too seldom.
#include "stage.hpp"

#include <functional>
#include <string>
#include <utility>

namespace latchd::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

Plan of_three() { return plan_of(3); }
Plan of_four() { return plan_of(4); }
Plan of_long_leases() {
    Plan plan = plan_of(3);
    plan.ttl_max = seconds(20);
    return plan;
}
Plan of_long_delays() {
    Plan plan = plan_of(3);
    plan.ttl_max = seconds(4);
    plan.delay_max = seconds(30);
    return plan;
}

// As soon as a LOCK of node 0 is under way, its connection to Redis breaks.
void break_in_flight(World& world, Moment until) {
    if (!world.member(0).has(Phase::lock_in_flight)) {
        if (world.now() >= until) return;
        world.time.after(microseconds(50), [&world, until] { break_in_flight(world, until); });
        return;
    }
    world.oracle.troubled(0, Site::redis, world.now());
    world.redis().break_connections(0, false);
}

// What a connection in doubt still carries may be executed seconds later: behind the UNLOCK of
// what was asked for again, unless it was ended before.
void killed_before_it_is_looked_at(Stage& stage) {
    if (!ready(stage)) return;
    for (int i = 0; i < 16 && !stage.is_over(); ++i) {
        core::LockCommand lock;
        lock.key = key_in("r");
        lock.ttl = seconds(6);
        lock.request = RequestId("q" + std::to_string(i));
        break_in_flight(stage.world, stage.world.now() + milliseconds(100));
        const auto grant = stage.lock(0, lock);
        if (grant) (void)stage.unlock(0, "r", grant->token);
        stage.world.run_for(seconds(4));
        const auto next = stage.lock(1, "r", seconds(2));
        stage.expect(next.has_value(), "a LOCK came behind its UNLOCK: " + stage.said);
        if (next) (void)stage.unlock(1, "r", next->token);
    }
}

// A node that was not there when it was cancelled learns of it from the store.
void cancelled_request_carried(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    core::CancelCommand cancel;
    cancel.key = key_in("r");
    cancel.request = RequestId("q");
    const auto cancelled = stage.world.ask(0, cancel, milliseconds(2200));
    stage.expect(cancelled.has_value(), "CANCEL is not answered");
    stage.world.member(2).kill(Member::Left::state);
    stage.world.member(2).start();
    stage.world.run_for(seconds(3));
    stage.world.oracle.troubled(Site::redis, stage.world.now() + seconds(60));
    stage.world.redis().restart(RedisServer::Data::none, seconds(60));
    stage.expect(stage.until_open(2, "mysql", first, seconds(12)), "MySQL does not open");
    core::LockCommand lock;
    lock.key = key_in("r");
    lock.ttl = seconds(2);
    lock.request = RequestId("q");
    const auto grant = stage.lock(2, lock);
    stage.expect(!grant && stage.said.find("cancelled") != std::string::npos,
                 "a cancelled request: " + stage.said);
}

// Two nodes hand over records of one grant: the holder was told the later end.
void the_later_end_carried(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "r", seconds(2));
    if (!held) return stage.expect(false, stage.said);
    const Moment granted = stage.world.now();
    core::RenewCommand renew;
    renew.key = key_in("r");
    renew.token = held->token;
    renew.ttl = seconds(6);
    stage.world.cut_messages(Site::redis, 0, seconds(5));
    const auto renewed = stage.world.ask(1, renew, milliseconds(2200));
    const auto* left = renewed ? std::get_if<core::Number>(&*renewed) : nullptr;
    stage.expect(left != nullptr && left->value > 5000, "RENEW through another node");
    stage.world.oracle.troubled(Site::redis, stage.world.now() + seconds(60));
    stage.world.redis().restart(RedisServer::Data::none, seconds(60));
    stage.expect(stage.until_open(2, "mysql", first, seconds(4)), "MySQL does not open");
    while (!stage.is_over() && stage.world.now() < granted + seconds(5)) {
        stage.expect(!stage.lock(2, "r", seconds(1)),
                     "a lock that was renewed elsewhere is granted");
        stage.world.run_for(milliseconds(100));
    }
}

// Two of the three that are there are no majority of the four that are known.
void the_lost_are_known(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    stage.world.member(3).kill(Member::Left::state);
    // It counts as lost, and is known for another while.
    stage.world.run_for(stage.world.plan.view_lease + seconds(3));
    stage.cut(0, Site::redis, seconds(6));
    stage.cut(1, Site::redis, seconds(6));
    stage.world.run_for(seconds(5));
    stage.expect(stage.epoch() == first, "two of four nodes move the fleet");
}

// What an old copy shows is no word about a node that granted since.
void an_old_copy_is_not_read(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    stage.world.redis().save_snapshot();
    const auto held = stage.lock(1, "s", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.member(1).kill(Member::Left::nothing);
    stage.world.oracle.store_changed();
    stage.world.redis().restart(RedisServer::Data::snapshot, milliseconds(20));
    stage.expect(stage.until_open(0, "redis", first, seconds(12)), "no epoch opens");
    const Moment until = stage.world.now() + seconds(8);
    while (!stage.is_over() && stage.world.now() < until) {
        if (const auto grant = stage.lock(0, "s", seconds(2))) {
            (void)stage.unlock(0, "s", grant->token);
        }
        stage.world.run_for(milliseconds(100));
    }
}

// Rule 9: what a host that stood still takes for live may have ended, and a later grant, too.
void what_a_paused_host_hands_over(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    core::LockCommand command;
    command.key = key_in("r");
    command.ttl = seconds(6);
    command.owner = OwnerName("o");
    const auto held = stage.lock(0, command);
    if (!held) return stage.expect(false, stage.said);
    stage.world.oracle.paused(0, stage.world.now() + seconds(9), true);
    stage.world.member(0).pause(seconds(9), true);
    stage.world.run_for(seconds(7));
    const auto later = stage.lock(1, "r", seconds(1));
    if (!later) return stage.expect(false, "it has not ended: " + stage.said);
    (void)stage.unlock(1, "r", later->token);
    stage.expect(stage.until_open(0, "redis", first, seconds(12)), "no epoch opens");
    const auto again = stage.lock(0, command);  // I2 is the oracle's
    if (!again) return stage.expect(false, "not entered again: " + stage.said);
    stage.expect(again->fence > later->fence, "an old fence");
    stage.expect(stage.renew(0, "r", again->token).value_or(0) > 0, "lost: " + stage.said);
    stage.expect(stage.unlock(0, "r", again->token).value_or(0) > 0, "gone: " + stage.said);
}

// Rule 2: MySQL fails over and lacks no epoch, only that it was opened. It is another arbiter:
// nobody opens that epoch a second time.
void an_arbiter_that_lacks_an_opening(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    stage.command(0, false);
    const bool settles = stage.until_settling(
        first, [] { return true; }, seconds(4));
    stage.expect(settles, "FAILOVER begins no epoch");
    stage.world.mysql().replicate();
    const Moment copied = stage.world.now();
    const Epoch second = stage.epoch();
    const auto is_open = [&stage] {
        return stage.world.record()->placement.state == authority::RecordState::open;
    };
    stage.expect(stage.until(is_open, seconds(2)), "it is not opened");
    if (stage.is_over()) return;
    stage.world.oracle.troubled(Site::mysql, stage.world.now() + seconds(1));
    stage.world.oracle.store_changed();
    stage.world.mysql().promote(stage.world.now() - copied);
    stage.expect(stage.epoch() == second && !is_open(), "the copy has the opening");
    const bool is_raised =
        stage.until([&] { return stage.epoch() >= second + 64 && is_open(); }, seconds(12));
    stage.expect(is_raised, "no epoch far above is opened");
    const bool is_had =
        stage.until([&] { return stage.lock(1, "s", seconds(2)).has_value(); }, seconds(40));
    stage.expect(is_had, "liveness: " + stage.said);
}

// The record: leases that were granted by a longer ttl_max live on, also those of a node that is
// gone, which nobody but its store tells of.
void former_leases_are_waited_out(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(18));
    if (!held) return stage.expect(false, stage.said);
    const Moment end = stage.world.now() + seconds(17);
    stage.world.member(0).kill(Member::Left::nothing);
    stage.set_ttl_max(1, seconds(3));
    stage.expect(stage.until_open(1, "redis", first, seconds(14)), "no epoch opens");
    stage.expect(stage.world.record()->basis.ttl_max == seconds(3), "the change does not hold");
    while (!stage.is_over() && stage.world.now() < end) {
        (void)stage.lock(1, "s", seconds(2));  // I1, were it granted
        stage.world.run_for(milliseconds(100));
    }
    std::optional<core::Granted> next;
    (void)stage.until([&] { return (next = stage.lock(1, "s", seconds(18))).has_value(); },
                      seconds(10));
    if (!next) return stage.expect(false, "it can't be had: " + stage.said);
    stage.expect(next->left <= seconds(3), "a lease above the new ttl_max");
    // Back to more: granted once its epoch is open.
    const Epoch second = stage.epoch();
    stage.set_ttl_max(2, seconds(20));
    stage.expect(stage.until_open(2, "redis", second, seconds(14)), "no epoch opens");
    (void)stage.unlock(2, "s", next->token);
    const auto longer = stage.lock(2, "s", seconds(18), seconds(10));
    stage.expect(longer && longer->left > seconds(17), "still cut: " + stage.said);
}

// Delays that were granted by a longer delay_max are kept, also those of a node that is gone for
// longer than the new one, when the store that alone tells of them dies, too.
void former_delays_are_waited_out(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    core::LockCommand delayed;
    delayed.key = key_in("s");
    delayed.ttl = seconds(4);
    delayed.delay = seconds(24);
    if (!stage.lock(0, delayed)) return stage.expect(false, stage.said);
    const Moment end = stage.world.now() + seconds(27);
    stage.set_delay_max(1, seconds(1));
    stage.expect(stage.until_open(1, "redis", first, seconds(14)), "no epoch opens");
    stage.expect(stage.world.record()->basis.delay_max == seconds(1), "the change does not hold");
    stage.world.member(0).kill(Member::Left::nothing);
    stage.world.run_for(stage.world.plan.view_lease + seconds(8));
    stage.world.redis().restart(RedisServer::Data::none, milliseconds(100));
    while (!stage.is_over() && stage.world.now() < end) {
        (void)stage.lock(1, "s", seconds(2));  // within the DELAY, were it granted
        stage.world.run_for(milliseconds(100));
    }
    std::optional<core::Granted> next;
    (void)stage.until([&] { return (next = stage.lock(1, delayed)).has_value(); }, seconds(80));
    if (!next) return stage.expect(false, "it can't be had: " + stage.said);
    // It is cut: of 24 seconds one is left.
    stage.world.run_for(seconds(5) + milliseconds(500));
    stage.expect(stage.lock(2, "s", seconds(2), seconds(2)).has_value(),
                 "a delay above the new delay_max: " + stage.said);
}

// The record: its list of stores and their order count, whatever a configuration says. Here one
// node's has them the other way round; the operator makes that the fleet's.
void the_order_of_the_record(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(18));
    if (!held) return stage.expect(false, stage.said);
    stage.world.run_for(seconds(12));  // several times the hold-down
    stage.expect(stage.epoch() == first, "the locks move by one node's order");
    stage.set_stores(2, {"mysql", "redis"});
    stage.expect(stage.until_open(0, "redis", first, seconds(4)), "no epoch opens");
    const Epoch second = stage.epoch();
    stage.expect(stage.until_open(0, "mysql", second, seconds(12)), "the order does not hold");
    (void)stage.lock(1, "s", seconds(2));  // I1, were it granted
    stage.expect(stage.renew(1, "s", held->token).value_or(0) > 0, "lost: " + stage.said);
    const Epoch third = stage.epoch();
    stage.set_stores(1, {"mysql"});
    stage.expect(stage.until_open(2, "mysql", third, seconds(4)), "no epoch opens");
    const Epoch fourth = stage.epoch();
    stage.command(0, true);
    stage.world.run_for(seconds(12));
    stage.expect(stage.epoch() == fourth, "a store that was taken out is gone to");
    stage.expect(stage.unlock(2, "s", held->token).value_or(0) > 0, "gone: " + stage.said);
}

Plan of_turned() {
    Plan plan = plan_of(3);
    plan.ttl_max = seconds(40);
    plan.turned = 1;
    return plan;
}

}  // namespace

std::vector<Scenario> with_store_scenarios(std::vector<Scenario> all) {
    all.push_back({"killed_before_it_is_looked_at", killed_before_it_is_looked_at, of_three});
    all.push_back({"cancelled_request_carried", cancelled_request_carried, of_three});
    all.push_back({"the_later_end_carried", the_later_end_carried, of_three});
    all.push_back({"the_lost_are_known", the_lost_are_known, of_four});
    all.push_back({"an_old_copy_is_not_read", an_old_copy_is_not_read, of_three});
    all.push_back({"an_arbiter_that_lacks_an_opening", an_arbiter_that_lacks_an_opening, of_three});
    all.push_back({"what_a_paused_host_hands_over", what_a_paused_host_hands_over, of_three});
    all.push_back({"former_leases_are_waited_out", former_leases_are_waited_out, of_long_leases});
    all.push_back({"former_delays_are_waited_out", former_delays_are_waited_out, of_long_delays});
    all.push_back({"the_order_of_the_record", the_order_of_the_record, of_turned});
    return all;
}

}  // namespace latchd::sim
