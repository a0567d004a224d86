// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "support/world.hpp"

#include <gtest/gtest.h>

// What the simulator found, step by step.
namespace latchd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// seed 88: each new epoch took the margin off the lease once more, in the store as well, until it
// ended there before what the holder had been told.
TEST(NodeSim, a_lease_that_is_put_back_is_never_shorter_than_what_its_holder_was_told) {
    World world;
    Member& a = world.at(0);
    a.open("redis", milliseconds(50));
    const core::Granted grant = granted(a.outcome(a.send(1, lock({.ttl_ms = 10'000}))));
    const Time told = world.now + grant.left;
    for (Epoch epoch = 101; epoch < 106; ++epoch) {
        world.advance(milliseconds(500));
        world.table = core::Table(epoch);
        a.open("redis", milliseconds(50));
    }
    const core::OperationReply reply = world.table.apply(world.now, core::Inspect{key()});
    ASSERT_EQ(reply.reply.status, core::Status::found);
    EXPECT_GE(world.now + reply.reply.record->left, told + milliseconds(50));
    EXPECT_LE(world.now + reply.reply.record->left, told + milliseconds(70));
}

TEST(NodeSim, a_lease_that_is_put_back_ends_at_its_hard_end_at_the_latest) {
    World world;
    Member& a = world.at(0);
    a.open("redis", milliseconds(50));
    granted(a.outcome(a.send(1, lock({.ttl_ms = 10'000, .maxhold_ms = 4'000}))));
    const Time hard_end = world.now + seconds(4);
    world.advance(seconds(1));
    world.table = core::Table(101);
    a.open("redis", milliseconds(50));
    const core::OperationReply reply = world.table.apply(world.now, core::Inspect{key()});
    ASSERT_EQ(reply.reply.status, core::Status::found);
    EXPECT_LE(world.now + reply.reply.record->left, hard_end);
}

// seed 401: from a slow answer the hard end seems to be sooner than a quicker one had told.
TEST(NodeSim, a_slow_renewal_takes_nothing_off_a_hold_that_is_put_back) {
    World world;
    Member& a = world.at(0);
    a.open("redis", milliseconds(50));
    const core::Granted grant =
        granted(a.outcome(a.send(1, lock({.ttl_ms = 10'000, .maxhold_ms = 4'000}))));
    const Time told = world.now + grant.left;
    const Time hard_end = world.now + seconds(4);
    a.link = Link::frozen;
    a.send(1, renew(grant.token.str()));
    world.advance(milliseconds(400));
    a.thaw();
    const core::Claims given = a.hand_over(101);
    EXPECT_GE(world.now + given.records.at(0).left, told + milliseconds(50));
    EXPECT_LE(world.now + given.records.at(0).left, hard_end);
    EXPECT_GE(given.records.at(0).hard_left, given.records.at(0).left);
    world.table = core::Table(101);
    a.open("redis", milliseconds(50));
    const core::OperationReply reply = world.table.apply(world.now, core::Inspect{key()});
    ASSERT_EQ(reply.reply.status, core::Status::found);
    EXPECT_GE(world.now + reply.reply.record->left, told + milliseconds(50));
    EXPECT_LE(world.now + reply.reply.record->left, hard_end);
}

// seed 12100: the answer took its time, and the record ended before what its holder was told.
TEST(NodeSim, a_slow_renewal_that_extends_nothing_takes_nothing_from_what_was_told) {
    World world;
    Member& a = world.at(0);
    a.open("redis", milliseconds(50));
    const core::Granted grant = granted(a.outcome(a.send(1, lock({.ttl_ms = 10'000}))));
    const Time told = world.now + grant.left;
    a.link = Link::frozen;
    const auto ticket = a.send(1, renew(grant.token.str(), 1'000));
    world.advance(milliseconds(400));
    a.thaw();
    EXPECT_EQ(got(a, ticket), "9540");
    world.advance(told - world.now - milliseconds(1));
    EXPECT_EQ(a.node.counts().held, 1u);
    world.advance(milliseconds(1));
    EXPECT_EQ(a.node.counts().held, 0u);
}

// seed 189: nobody was left to renew for, and the node renewed for ever.
TEST(NodeSim, a_renew_keep_of_a_client_that_goes_meanwhile_keeps_nothing) {
    World world;
    Member& a = world.at(0);
    const core::Granted grant = granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000}))));
    a.link = Link::frozen;
    a.send(2, renew(grant.token.str(), 0, true));
    a.feed(core::ClientGone{ClientId{2}});
    a.link = Link::instant;
    a.thaw();
    EXPECT_EQ(a.node.counts().keeping, 0u);
    world.advance(seconds(4));
    EXPECT_EQ(a.node.counts().held, 0u);
    EXPECT_EQ(a.node.next_deadline().has_value(), false);
}

TEST(NodeSim, a_renew_keep_that_is_parked_when_its_client_goes_takes_no_renewing_over) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const core::Granted grant =
        granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .keep = true}))));
    b.close();
    b.send(2, renew(grant.token.str(), 0, true));
    b.feed(core::ClientGone{ClientId{2}});
    b.open();
    EXPECT_EQ(a.node.counts().keeping, 1u);
    EXPECT_EQ(b.node.counts().keeping, 0u);
}

// seeds 171, 181: a renewal by the watchdog came back when its node had told the lock lost, and
// the node released what the client had meanwhile renewed through another one.
TEST(NodeSim, a_late_renewal_never_ends_what_was_renewed_through_another_node) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    a.open("redis", milliseconds(50));
    b.open("redis", milliseconds(50));
    const core::Granted grant =
        granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .keep = true}))));
    a.link = Link::frozen;
    a.hears_messages = false;
    world.advance(milliseconds(2'000));
    const auto ticket = b.send(2, renew(grant.token.str(), 3'000));
    EXPECT_EQ(got(b, ticket), "2947");
    world.advance(milliseconds(960));
    EXPECT_EQ(a.node.counts().held, 0u);
    a.link = Link::instant;
    a.thaw();
    EXPECT_EQ(got(b, b.send(3, lock({.owner = "x"}))), "nil");
    EXPECT_EQ(got(b, b.send(2, unlock(grant.token.str()))), "1");
}

// seed 1548: what had been released through another node came back with the journal.
TEST(NodeSim, a_restarted_node_puts_nothing_back_into_a_store_that_never_lost_it) {
    World world(2);
    Member& b = world.at(1);
    const core::Granted grant = granted(world.at(0).outcome(world.at(0).send(1, lock())));
    std::vector<core::GrantRecord> records;
    for (const auto& [k, record] : world.at(0).journal) records.push_back(record);
    EXPECT_EQ(got(b, b.send(2, unlock(grant.token.str()))), "1");
    Member again(world, "a");
    again.feed(core::Restarted{records});
    again.open();
    EXPECT_EQ(world.table.size(), 0u);
    EXPECT_EQ(got(again, again.send(3, lock())), "granted");
}

// seed 522: the release of one hold was sent twice, and the record of all holds was dropped.
TEST(NodeSim, a_doubtful_release_of_one_of_two_holds_leaves_the_other) {
    World world;
    Member& a = world.at(0);
    const core::Granted one = granted(a.outcome(a.send(1, lock({.owner = "o"}))));
    const core::Granted two = granted(a.outcome(a.send(2, lock({.owner = "o"}))));
    a.link = Link::lose_answers;
    const auto ticket = a.send(1, unlock(one.token.str()));
    a.close("reset");
    a.break_off();
    a.link = Link::instant;
    a.open();
    EXPECT_EQ(got(a, ticket), "2");
    EXPECT_EQ(a.node.counts().held, 1u);
    world.table = core::Table(101);
    a.open();
    EXPECT_EQ(got(a, a.send(3, lock())), "nil");
    EXPECT_EQ(got(a, a.send(2, unlock(two.token.str()))), "1");
}

// seed 234: a client library gave a connection up and sent its LOCK again through another node; the
// end of the old connection released the lock under the new one.
TEST(NodeSim, onclose_release_gives_back_what_this_connection_got_and_no_more) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const LockWords words{.req = "q", .keep = true, .onclose = true};
    const core::Granted first = granted(a.outcome(a.send(1, lock(words))));
    a.hears_messages = false;
    const core::Granted second = granted(b.outcome(b.send(2, lock(words))));
    EXPECT_EQ(first.token, second.token);
    a.feed(core::ClientGone{ClientId{1}});
    EXPECT_EQ(world.table.size(), 1u);
    EXPECT_EQ(a.node.counts().held, 0u);
    b.feed(core::ClientGone{ClientId{2}});
    EXPECT_EQ(world.table.size(), 0u);
}

// It was held to its lease's end: the first node had forgotten its sending when the second took
// over.
TEST(NodeSim, onclose_release_through_two_nodes_ends_with_the_last_of_both_connections) {
    const LockWords words{.req = "q", .keep = true, .onclose = true};
    for (const bool first_ends_first : {true, false}) {
        World world(2);
        Member& a = world.at(0);
        Member& b = world.at(1);
        const core::Granted first = granted(a.outcome(a.send(1, lock(words))));
        EXPECT_EQ(granted(b.outcome(b.send(2, lock(words)))).token, first.token);
        EXPECT_EQ(a.node.counts().keeping, 0u);
        Member& earlier = first_ends_first ? a : b;
        Member& later = first_ends_first ? b : a;
        earlier.feed(core::ClientGone{ClientId{first_ends_first ? 1u : 2u}});
        EXPECT_EQ(world.table.size(), 1u);
        later.feed(core::ClientGone{ClientId{first_ends_first ? 2u : 1u}});
        EXPECT_EQ(world.table.size(), 0u);
        const core::Claims given[] = {a.hand_over(101), b.hand_over(101)};
        EXPECT_TRUE(core::merge(given).records.empty());
    }
}

TEST(NodeSim, onclose_release_of_what_another_node_renewed_is_given_back_after_a_drain) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const LockWords words{.req = "q", .keep = true, .onclose = true};
    granted(a.outcome(a.send(1, lock(words))));
    granted(b.outcome(b.send(2, lock(words))));
    b.feed(core::ClientGone{ClientId{2}});
    a.feed(core::DrainStarted{});
    EXPECT_TRUE(a.drained);
    EXPECT_EQ(world.table.size(), 1u);
    a.feed(core::ClientGone{ClientId{1}});
    EXPECT_EQ(world.table.size(), 0u);
}

// The connection that said ONCLOSE RELEASE ended under a client who had taken the hold over.
TEST(NodeSim, onclose_release_frees_nothing_that_a_renew_keep_through_another_node_took_over) {
    for (const bool hears : {true, false}) {
        World world(2);
        Member& a = world.at(0);
        Member& b = world.at(1);
        const core::Granted grant =
            granted(a.outcome(a.send(1, lock({.keep = true, .onclose = true}))));
        a.hears_messages = hears;
        EXPECT_EQ(got(b, b.send(2, renew(grant.token.str(), 0, true))), "10000");
        a.feed(core::ClientGone{ClientId{1}});
        EXPECT_EQ(world.table.size(), 1u);
        world.advance(seconds(30));
        EXPECT_EQ(b.node.counts().keeping, 1u);
        EXPECT_EQ(got(b, b.send(2, unlock(grant.token.str()))), "1");
    }
}

TEST(NodeSim, onclose_release_frees_nothing_that_a_renew_keep_under_way_takes_over) {
    World world;
    Member& a = world.at(0);
    const core::Granted grant =
        granted(a.outcome(a.send(1, lock({.keep = true, .onclose = true}))));
    a.link = Link::frozen;
    const auto ticket = a.send(2, renew(grant.token.str(), 0, true));
    a.feed(core::ClientGone{ClientId{1}});
    a.link = Link::instant;
    a.thaw();
    EXPECT_EQ(got(a, ticket), "10000");
    EXPECT_EQ(world.table.size(), 1u);
    EXPECT_EQ(got(a, a.send(3, lock())), "nil");
}

}  // namespace
}  // namespace latchd::test
