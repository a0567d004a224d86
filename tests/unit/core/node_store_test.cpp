// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "support/world.hpp"

#include <gtest/gtest.h>

// Bad days of the store, step by step.
namespace latchd::test {
namespace {

using core::Acquire;
using core::Failure;
using core::Release;
using core::Undo;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(NodeStore, every_command_ends_within_its_deadline_while_there_is_no_store) {
    World world;
    Member& a = world.at(0);
    a.close("redis 127.0.0.1:6379 refused the connection");
    const auto none = a.send(1, lock());
    const auto waits = a.send(2, lock({.wait_ms = 5'000}));
    const auto release = a.send(3, unlock("t"));
    const auto renewal = a.send(4, renew("t"));
    core::FenceCommand fence;
    fence.key = key();
    const auto fenced = a.send(5, fence);
    world.advance(milliseconds(2'000));
    const std::string expected = "-NOSTORE redis 127.0.0.1:6379 refused the connection";
    EXPECT_EQ(got(a, none), expected);
    EXPECT_EQ(got(a, release), expected);
    EXPECT_EQ(got(a, renewal), expected);
    EXPECT_EQ(got(a, fenced), expected);
    EXPECT_EQ(got(a, waits), "pending");
    world.advance(milliseconds(5'000));
    EXPECT_EQ(got(a, waits), expected);
    world.advance(seconds(120));
    EXPECT_EQ(a.node.next_deadline().has_value(), false);
}

TEST(NodeStore, requests_that_waited_go_on_when_it_opens) {
    World world;
    Member& a = world.at(0);
    a.close();
    const auto first = a.send(1, lock());
    const auto second = a.send(2, lock({.wait_ms = 5'000}));
    world.advance(milliseconds(900));
    a.open();
    EXPECT_EQ(got(a, first), "granted");
    EXPECT_EQ(got(a, second), "pending");
}

TEST(NodeStore, a_lost_answer_is_uncertain_at_the_deadline_and_undone_behind) {
    World world;
    Member& a = world.at(0);
    a.link = Link::lose_answers;
    const auto ticket = a.send(1, lock({.ttl_ms = 30'000, .req = "q"}));
    world.advance(milliseconds(1'000));
    a.break_off();
    a.close();
    world.advance(milliseconds(1'000));
    EXPECT_EQ(got(a, ticket), "-UNCERTAIN max_ms=30000 req=q");
    EXPECT_EQ(world.table.size(), 1u);
    a.link = Link::instant;
    a.open();
    EXPECT_EQ(a.sent<Undo>(), 1u);
    EXPECT_EQ(world.table.size(), 0u);
    EXPECT_EQ(a.node.counts().held, 0u);
}

TEST(NodeStore, a_lost_answer_is_found_again_within_the_deadline) {
    World world;
    Member& a = world.at(0);
    a.link = Link::lose_answers;
    const auto ticket = a.send(1, lock());
    a.break_off();
    a.close();
    world.advance(milliseconds(500));
    a.link = Link::instant;
    a.open();
    const auto grant = granted(a.outcome(ticket));
    EXPECT_EQ(grant.fence, make_fence(100, 1)) << "its own attempt, not another grant";
    EXPECT_EQ(grant.left, milliseconds(9'500));
    EXPECT_EQ(a.sent<Undo>(), 0u);
}

TEST(NodeStore, where_killing_is_forbidden_the_undo_leaves_a_tombstone) {
    World world;
    Member& a = world.at(0);
    a.link = Link::frozen;
    a.send(1, lock({.req = "q"}));
    const core::Operation late = a.first_under_way();
    a.feed(core::ClientGone{ClientId{1}});
    a.close();
    a.break_off();
    a.link = Link::instant;
    a.open("redis", {}, false);
    // The doubtful LOCK comes after its undo: it may not be granted any more.
    EXPECT_EQ(world.table.apply(world.now, late).reply.status, core::Status::cancelled);
    EXPECT_EQ(world.table.size(), 0u);
}

TEST(NodeStore, a_doubtful_unlock_is_sent_again_and_answers_released) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    a.link = Link::lose_answers;
    const auto release = a.send(1, unlock(one.token.str()));
    a.break_off();
    a.close();
    a.link = Link::instant;
    a.open();
    EXPECT_EQ(got(a, release), "1");
    EXPECT_EQ(a.node.counts().held, 0u);
}

TEST(NodeStore, an_unlock_without_a_store_is_carried_out_behind_its_answer) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock({.ttl_ms = 30'000}))));
    a.close("gone");
    const auto release = a.send(1, unlock(one.token.str()));
    world.advance(milliseconds(2'000));
    EXPECT_EQ(got(a, release), "-UNCERTAIN max_ms=28000 carried out once the store answers");
    world.advance(seconds(3));
    a.open();
    EXPECT_EQ(world.table.size(), 0u);
    EXPECT_EQ(got(a, a.send(2, lock())), "granted");
}

TEST(NodeStore, a_hand_over_in_doubt_releases_and_grants_once) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    const auto second = a.send(2, lock({.wait_ms = 9'000}));
    a.link = Link::lose_answers;
    const auto release = a.send(1, unlock(one.token.str()));
    a.break_off();
    a.close();
    a.link = Link::instant;
    a.open();
    EXPECT_EQ(got(a, release), "1");
    EXPECT_EQ(granted(a.outcome(second)).fence, make_fence(100, 2));
    EXPECT_EQ(world.table.size(), 1u);
}

TEST(NodeStore, while_settling_an_unlock_is_answered_from_the_node_s_record) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    a.close("another process", true);
    EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "1");
    const auto next = a.send(2, lock());
    EXPECT_EQ(got(a, next), "pending");
    a.open();
    EXPECT_EQ(got(a, next), "granted");
}

TEST(NodeStore, a_store_that_says_no_is_quoted_at_once) {
    World world;
    Member& a = world.at(0);
    a.link = Link::frozen;
    const auto ticket = a.send(1, lock());
    const auto waits = a.send(2, lock({.wait_ms = 3'000}));
    a.break_off(Failure::refused, "redis: OOM command not allowed");
    EXPECT_EQ(got(a, ticket), "-NOSTORE redis: OOM command not allowed");
    EXPECT_EQ(got(a, waits), "pending");
    a.link = Link::instant;
    world.advance(seconds(1));
    EXPECT_EQ(got(a, waits), "granted");
}

TEST(NodeStore, who_waited_in_vain_is_told_what_the_store_said) {
    World world;
    Member& a = world.at(0);
    a.link = Link::frozen;
    const auto waits = a.send(1, lock({.wait_ms = 1'030}));
    const auto refuse = [&] { a.break_off(Failure::refused, "mysql: no table latchd_lock"); };
    for (int i = 0; i < 300 && got(a, waits) == "pending"; ++i) {
        if (a.under_way() > 0) refuse();
        world.advance(milliseconds(20));
    }
    EXPECT_EQ(got(a, waits), "-NOSTORE mysql: no table latchd_lock");
    a.link = Link::instant;
    EXPECT_EQ(got(a, a.send(1, lock())), "granted");
    a.link = Link::frozen;
    const auto later = a.send(1, lock({.wait_ms = 500, .id = "2"}));
    a.break_off(Failure::unsent);
    world.advance(seconds(3));
    EXPECT_EQ(got(a, later).find("no table"), std::string::npos) << "that was before";
}

// The table's owner writes down for all loops of a process, and one of them may not know yet that
// another one took the last place.
TEST(NodeStore, a_table_without_room_is_the_journal_s_limit) {
    World world;
    Member& a = world.at(0);
    a.link = Link::frozen;
    const auto ticket = a.send(1, lock());
    const auto waits = a.send(2, lock({.wait_ms = 3'000}));
    a.break_off(Failure::full, "no room");
    EXPECT_EQ(got(a, ticket).rfind("-LIMIT journal", 0), 0u) << got(a, ticket);
    EXPECT_EQ(got(a, waits), "pending");
    a.link = Link::instant;
    world.advance(seconds(1));
    EXPECT_EQ(got(a, waits), "granted");
}

TEST(NodeStore, a_new_epoch_puts_the_node_s_own_locks_back_under_new_fences) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock({.keep = true}))));
    a.close("settling", true);
    world.table = core::Table(101);
    const auto eager = a.send(2, lock());
    a.open();
    EXPECT_EQ(got(a, eager), "nil");
    ASSERT_FALSE(a.happened.empty());
    EXPECT_EQ(a.happened[0].kind, core::Happened::Kind::failover);
    EXPECT_EQ(a.happened[0].fence, make_fence(101, 1));
    EXPECT_EQ(a.journal.at(key()).fence, make_fence(101, 1));
    EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "1");
}

TEST(NodeStore, a_lock_that_another_got_first_in_the_new_epoch_is_lost) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    granted(a.outcome(a.send(1, lock())));
    world.table = core::Table(101);
    b.open();
    granted(b.outcome(b.send(2, lock())));
    a.open();
    ASSERT_EQ(a.happened.size(), 1u);
    EXPECT_EQ(a.happened[0].kind, core::Happened::Kind::lost);
    EXPECT_EQ(a.node.counts().held, 0u);
}

TEST(NodeStore, a_restarted_node_speaks_for_its_former_self) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock({.ttl_ms = 20'000}))));
    std::vector<core::GrantRecord> records;
    for (const auto& [k, record] : a.journal) records.push_back(record);
    world.table = core::Table(101);
    Member again(world, "a");
    again.feed(core::Restarted{records});
    again.open("local");
    EXPECT_EQ(again.node.counts().held, 1u);
    EXPECT_EQ(got(again, again.send(2, lock())), "nil");
    EXPECT_EQ(got(again, again.send(1, renew(one.token.str()))), "20000");
    EXPECT_EQ(got(again, again.send(1, unlock(one.token.str()))), "1");
    EXPECT_GT(granted(again.outcome(again.send(2, lock()))).fence, one.fence);
}

TEST(NodeStore, a_grant_whose_own_lease_is_over_is_not_told) {
    World world;
    Member& a = world.at(0);
    a.link = Link::frozen;
    const auto ticket = a.send(1, lock({.ttl_ms = 500}));
    world.advance(milliseconds(600));
    a.thaw();
    EXPECT_EQ(got(a, ticket).rfind("-NOSTORE the store is slower than the lease", 0), 0u);
    EXPECT_EQ(world.table.size(), 0u);
}

// LOCK shows whole milliseconds, and 0 of them are a lease that is over.
TEST(NodeStore, a_grant_whose_own_lease_is_over_within_the_millisecond_is_not_told) {
    World world;
    Member& a = world.at(0);
    a.link = Link::frozen;
    const auto late = a.send(1, lock({.ttl_ms = 500}));
    world.advance(std::chrono::microseconds(499'001));
    a.thaw();
    EXPECT_EQ(got(a, late).rfind("-NOSTORE the store is slower than the lease", 0), 0u);
    EXPECT_EQ(world.table.size(), 0u);
    a.link = Link::frozen;
    const auto just = a.send(1, lock({.ttl_ms = 500}));
    world.advance(std::chrono::microseconds(499'000));
    a.thaw();
    EXPECT_EQ(granted(a.outcome(just)).left, milliseconds(1));
}

TEST(NodeDrain, tells_waiters_and_renews_keep) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 9'000, .keep = true}))));
    const auto waiter = a.send(2, lock({.wait_ms = 9'000}));
    world.advance(seconds(2));
    a.feed(core::DrainStarted{});
    EXPECT_EQ(got(a, waiter), "-NOSTORE draining; ask another node");
    EXPECT_EQ(got(a, a.send(3, lock({.id = "3"}))), "-NOSTORE draining; ask another node");
    EXPECT_TRUE(a.drained);
    EXPECT_EQ(world.table.size(), 1u);
    EXPECT_EQ(world.table.apply(world.now, core::Inspect{key()}).reply.record->left, seconds(9));
}

// Fleet simulator, seed 116329: it was released under a client that had its connection yet.
TEST(NodeDrain, releases_onclose_when_its_connection_ends_and_no_sooner) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 9'000, .keep = true, .onclose = true}))));
    world.advance(seconds(2));
    a.feed(core::DrainStarted{});
    EXPECT_TRUE(a.drained);
    world.advance(seconds(20));
    EXPECT_EQ(world.table.size(), 1u) << "its client relies on it";
    a.drained = false;
    a.link = Link::frozen;
    a.feed(core::ClientGone{ClientId{1}});
    a.feed(core::DrainStarted{});
    EXPECT_FALSE(a.drained) << "the release is under way";
    a.thaw();
    EXPECT_TRUE(a.drained);
    EXPECT_EQ(world.table.size(), 0u);
}

TEST(NodeDrain, ends_on_time_with_a_store_that_does_not_answer) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.keep = true, .onclose = true}))));
    a.link = Link::frozen;
    a.send(2, lock({.wait_ms = 9'000, .id = "2"}));
    a.feed(core::DrainStarted{});
    EXPECT_FALSE(a.drained);
    world.advance(seconds(2));
    EXPECT_TRUE(a.drained);
}

TEST(NodeView, lists_every_lock_once_over_pages) {
    World world;
    Member& a = world.at(0);
    for (int i = 0; i < 250; ++i) {
        granted(a.outcome(a.send(1, lock({.id = std::to_string(i)}))));
    }
    for (const bool fleet : {false, true}) {
        std::map<std::string, int> seen;
        core::ListCommand list;
        list.fleet = fleet;
        list.count = 7;
        do {
            const auto outcome = a.outcome(a.send(1, list));
            ASSERT_TRUE(outcome && std::holds_alternative<core::LockList>(*outcome));
            const auto& page = std::get<core::LockList>(*outcome);
            for (const auto& row : page.rows) ++seen[row.record.key.id.str()];
            list.cursor = page.cursor;
        } while (list.cursor != 0);
        EXPECT_EQ(seen.size(), 250u);
        for (const auto& [id, times] : seen) EXPECT_EQ(times, 1) << id;
    }
}

}  // namespace
}  // namespace latchd::test
