// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// Rules 1 and 5: without the arbiter, and what a node leaves behind.
#include "stage.hpp"

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Rule 1: by the record that it kept, which the marker confirms.
void starts_without_the_arbiter(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(2, "r", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.oracle.troubled(Site::mysql, stage.world.now() + seconds(16));
    stage.world.mysql().restart(seconds(16));
    stage.world.member(2).kill(Member::Left::journal);
    stage.world.member(2).start();
    const bool is_open = stage.until([&] { return stage.world.member(2).is_open(); }, seconds(6));
    stage.expect(is_open, "the kept record is not taken");
    stage.expect(stage.world.member(2).epoch() == first, "another epoch");
    stage.expect(!stage.world.member(2).is_confirmed(), "confirmed without the arbiter");
    const auto left = stage.renew(2, "r", held->token);
    stage.expect(left.value_or(0) > 0, "its own lock: " + stage.said);
    stage.expect(!stage.lock(2, "s", seconds(2)), "strict without the arbiter");
    const bool is_back = stage.until(
        [&] { return stage.world.member(2).is_confirmed() && stage.lock(2, "s", seconds(2)); },
        seconds(25));
    stage.expect(is_back, "it does not register: " + stage.said);
    stage.expect(stage.epoch() == first, "I8: an epoch began");
}

// Rule 1: available_max (20 s here) does not end while all have lost the arbiter.
void all_have_lost_the_arbiter(Stage& stage) {
    if (!ready(stage)) return;
    constexpr Duration away = seconds(90);
    stage.world.oracle.troubled(Site::mysql, stage.world.now() + away);
    stage.world.mysql().restart(away);
    for (int i = 0; i < 10 && !stage.is_over(); ++i) {
        stage.world.run_for(seconds(6));
        const auto grant = stage.lock(i % 3, "r", seconds(1));
        stage.expect(grant.has_value(),
                     "LOCK after " + std::to_string(6 * i) + " s: " + stage.said);
        if (grant) (void)stage.unlock(i % 3, "r", grant->token);
    }
    // One of whom nothing is known may have moved the fleet.
    stage.world.member(2).kill(Member::Left::nothing);
    stage.world.run_for(seconds(8));
    stage.expect(!stage.lock(0, "r", seconds(1)), "a node went on for longer than it may");
}

// Rule 6: the strict wait ends once the node that was missing has put back what it kept, and not
// before.
void the_missing_assert(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(20));
    if (!held) return stage.expect(false, stage.said);
    stage.cut(0, Site::mysql, seconds(4));
    stage.cut(1, Site::redis, seconds(90));
    stage.cut(2, Site::redis, seconds(90));
    stage.expect(stage.until_open(1, "mysql", first, seconds(5)), "MySQL does not open");
    const Epoch epoch = stage.epoch();
    const bool is_back = stage.until([&] { return stage.has_acked(0, epoch); }, seconds(10));
    stage.expect(is_back, "the missing node does not acknowledge");
    stage.cut(0, Site::mysql, seconds(6));  // before it has put anything back
    const Moment until = stage.world.now() + seconds(5);
    while (!stage.is_over() && stage.world.now() < until) {
        (void)stage.lock(1, "s", seconds(2));  // I1, were it granted
        stage.world.run_for(milliseconds(50));
    }
    core::LockCommand other;
    other.key = {ResourceName("s"), LockId("1")};
    other.ttl = seconds(2);
    const bool is_had = stage.until([&] { return stage.lock(1, other).has_value(); }, seconds(10));
    stage.expect(is_had, "it is waited for in full: " + stage.said);
    stage.expect(stage.renew(0, "s", held->token).value_or(0) > 0,
                 "what was put back is gone: " + stage.said);
    stage.expect(!stage.lock(1, "s", seconds(2)), "a lock that was put back is granted again");
}

namespace {

// The node that was missing is killed while the others open, and followed by another process. What
// the others may grant meanwhile, I1 judges.
void succeeded(Stage& stage, Member::Left left) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(0, "s", seconds(20));
    if (!held) return stage.expect(false, stage.said);
    stage.world.member(0).kill(left);
    stage.cut(1, Site::redis, seconds(90));
    stage.cut(2, Site::redis, seconds(90));
    stage.expect(stage.until_open(1, "mysql", first, seconds(15)), "MySQL does not open");
    stage.world.member(0).start();
    core::LockCommand other;
    other.key = {ResourceName("s"), LockId("1")};
    other.ttl = seconds(2);
    const Moment until = stage.world.now() + seconds(10);
    bool is_had = false;
    while (!stage.is_over() && stage.world.now() < until) {
        (void)stage.lock(1, "s", seconds(2));  // I1, were it granted
        is_had = is_had || stage.lock(1, other).has_value();
        stage.world.run_for(milliseconds(50));
    }
    if (left != Member::Left::journal) return;
    stage.expect(is_had, "it is waited for in full: " + stage.said);
    stage.expect(stage.renew(0, "s", held->token).value_or(0) > 0,
                 "what was put back is gone: " + stage.said);
}

}  // namespace

// Rule 6: so does a successor that has all of the journal, for who was missing, and no other.
void a_successor_asserts(Stage& stage) { succeeded(stage, Member::Left::journal); }
void a_successor_asserts_nothing_without_the_journal(Stage& stage) {
    succeeded(stage, Member::Left::state);
}

// Rule 5: what a leaver held is in the store that was opened since, and only there.
void a_leaver_and_two_dead_stores(Stage& stage) {
    if (!ready(stage)) return;
    const Epoch first = stage.epoch();
    const auto held = stage.lock(2, "r", seconds(6));
    if (!held) return stage.expect(false, stage.said);
    stage.world.member(2).leave();
    stage.world.run_for(milliseconds(300));
    for (int round = 0; round < 2; ++round) {
        const Epoch before = stage.epoch();
        stage.world.oracle.store_changed();
        stage.world.redis().restart(RedisServer::Data::none, milliseconds(50));
        const bool is_open = stage.until(
            [&] {
                return stage.epoch() > before && stage.world.member(1).is_open() &&
                       stage.world.member(1).epoch() == stage.epoch();
            },
            seconds(6));
        stage.expect(is_open, "no epoch opens");
    }
    stage.expect(stage.epoch() >= first + 2, "two epochs were to begin");
    stage.expect(!stage.lock(1, "r", seconds(1)), "a leaver's lock is granted again");
    stage.expect(stage.renew(1, "r", held->token).value_or(0) > 0, "lost: " + stage.said);
}

}  // namespace latchd::sim
