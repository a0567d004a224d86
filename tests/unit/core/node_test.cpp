// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "support/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace latchd::test {
namespace {

using core::Acquire;
using core::Cancel;
using core::Release;
using core::Renew;
using core::Undo;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(NodeLock, grants_a_free_lock_and_refuses_the_second) {
    World world;
    Member& a = world.at(0);
    const auto first = a.send(1, lock());
    const auto second = a.send(2, lock());
    const core::Granted grant = granted(a.outcome(first));
    EXPECT_EQ(grant.fence, make_fence(100, 1));
    EXPECT_EQ(grant.left, seconds(10));
    EXPECT_EQ(grant.tier, "redis");
    EXPECT_EQ(got(a, second), "nil");
    EXPECT_EQ(a.sent<Acquire>(), 1u) << "what the node knows costs no round trip";
    const auto release = a.send(1, unlock(grant.token.str()));
    EXPECT_EQ(got(a, release), "1");
    EXPECT_TRUE(a.journal.empty());
    EXPECT_EQ(granted(a.outcome(a.send(2, lock()))).fence, make_fence(100, 2));
}

TEST(NodeLock, tells_a_lease_that_ends_before_the_store_s) {
    World world;
    Member& a = world.at(0);
    a.open("redis", milliseconds(50));
    a.link = Link::frozen;
    const auto ticket = a.send(1, lock());
    world.advance(milliseconds(300));
    a.thaw();
    // 10 s from before it was sent, less 0.1 % and the margin, 300 ms of it gone.
    EXPECT_EQ(granted(a.outcome(ticket)).left, milliseconds(10'000 - 10 - 50 - 300));
}

TEST(NodeLock, cuts_a_ttl_to_ttl_max_and_shows_it) {
    World world;
    Member& a = world.at(0);
    EXPECT_EQ(granted(a.outcome(a.send(1, lock({.ttl_ms = 600'000})))).left, seconds(60));
}

TEST(NodeLock, same_owner_adds_a_hold_with_its_own_token_and_the_same_fence) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto one = granted(a.outcome(a.send(1, lock({.owner = "o"}))));
    const auto two = granted(b.outcome(b.send(1, lock({.owner = "o"}))));
    EXPECT_EQ(one.fence, two.fence);
    EXPECT_NE(one.token, two.token);
    EXPECT_EQ(two.holds, 2u);
    EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "2");
    EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "2") << "the same answer again";
    EXPECT_EQ(got(b, b.send(2, lock())), "nil");
    EXPECT_EQ(got(b, b.send(1, unlock(two.token.str()))), "1");
}

TEST(NodeLock, without_owner_never_re_enters) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock())));
    EXPECT_EQ(got(a, a.send(1, lock())), "nil");
}

TEST(NodeLock, the_same_request_id_adopts_with_what_is_left) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto one = granted(a.outcome(a.send(1, lock({.req = "q"}))));
    world.advance(seconds(4));
    const auto two = granted(b.outcome(b.send(2, lock({.req = "q"}))));
    EXPECT_EQ(one.token, two.token);
    EXPECT_EQ(one.fence, two.fence);
    EXPECT_EQ(two.left, seconds(6));
    EXPECT_EQ(two.holds, 1u);
    EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "1");
    EXPECT_EQ(world.table.size(), 0u);
}

TEST(NodeLock, adoption_ends_with_the_retry_window) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 60'000, .req = "q"}))));
    world.advance(seconds(16));
    EXPECT_EQ(got(a, a.send(2, lock({.req = "q"}))), "nil");
}

TEST(NodeLock, an_undo_of_the_first_sending_leaves_the_second_its_lock) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    a.link = Link::lose_answers;
    const auto lost = a.send(1, lock({.req = "q"}));
    a.feed(core::ClientGone{ClientId{1}});
    const auto again = granted(b.outcome(b.send(2, lock({.req = "q"}))));
    a.break_off();
    a.link = Link::instant;
    a.close();
    a.open();
    EXPECT_EQ(a.sent<Undo>(), 1u);
    EXPECT_EQ(got(a, lost), "pending");
    EXPECT_EQ(world.table.size(), 1u) << "not freed under its holder";
    EXPECT_EQ(got(b, b.send(2, unlock(again.token.str()))), "1");
}

TEST(NodeLock, wait_is_first_come_first_served_and_hands_over_in_one_step) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    const auto second = a.send(2, lock({.wait_ms = 5'000}));
    const auto third = a.send(3, lock({.wait_ms = 5'000}));
    EXPECT_EQ(got(a, second), "pending");
    a.send(1, unlock(one.token.str()));
    const auto two = granted(a.outcome(second));
    EXPECT_EQ(got(a, third), "pending");
    a.send(2, unlock(two.token.str()));
    EXPECT_GT(granted(a.outcome(third)).fence, two.fence);
    EXPECT_EQ(a.sent<Acquire>(), 1u);
    EXPECT_EQ(a.sent<Release>(), 2u);
}

TEST(NodeLock, wait_ends_with_nil) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock())));
    const auto second = a.send(2, lock({.wait_ms = 700}));
    world.advance(milliseconds(699));
    EXPECT_EQ(got(a, second), "pending");
    world.advance(milliseconds(1));
    EXPECT_EQ(got(a, second), "nil");
}

TEST(NodeLock, a_waiter_gets_a_lock_whose_holder_vanished_when_its_lease_has_ended) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000}))));
    const auto here = a.send(2, lock({.wait_ms = 30'000}));
    const auto there = b.send(2, lock({.wait_ms = 30'000}));
    world.advance(milliseconds(3'010));
    EXPECT_TRUE((got(a, here) == "granted") != (got(b, there) == "granted"));
    EXPECT_EQ(a.node.counts().expired, 1u);
}

TEST(NodeLock, a_lock_held_elsewhere_is_asked_for_at_most_once_a_second) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto grant = granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .keep = true}))));
    for (int i = 0; i < 1'000; ++i) b.send(100 + i, lock({.wait_ms = 60'000}));
    const std::size_t before = b.sent<Acquire>();
    world.advance(seconds(59));
    EXPECT_LE(b.sent<Acquire>() - before, 60u);
    EXPECT_EQ(got(a, a.send(1, unlock(grant.token.str()))), "1");
}

TEST(NodeLock, a_client_that_goes_away_leaves_the_queue) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    const auto second = a.send(2, lock({.wait_ms = 5'000}));
    const auto third = a.send(3, lock({.wait_ms = 5'000}));
    a.feed(core::ClientGone{ClientId{2}});
    EXPECT_EQ(a.node.counts().waiting, 1u);
    a.send(1, unlock(one.token.str()));
    EXPECT_EQ(got(a, second), "pending");
    EXPECT_EQ(got(a, third), "granted");
}

TEST(NodeLock, a_waiter_that_comes_back_with_its_request_id_keeps_its_place) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    a.send(2, lock({.wait_ms = 50'000, .req = "q"}));
    const auto third = a.send(3, lock({.wait_ms = 50'000}));
    a.feed(core::ClientGone{ClientId{2}});
    world.advance(seconds(4));
    const auto back = a.send(4, lock({.wait_ms = 50'000, .req = "q"}));
    a.send(1, unlock(one.token.str()));
    EXPECT_EQ(got(a, back), "granted");
    EXPECT_EQ(got(a, third), "pending");
}

TEST(NodeLock, a_place_is_kept_for_five_seconds_only) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    a.send(2, lock({.wait_ms = 50'000, .req = "q"}));
    const auto third = a.send(3, lock({.wait_ms = 50'000}));
    a.feed(core::ClientGone{ClientId{2}});
    world.advance(milliseconds(5'001));
    const auto back = a.send(4, lock({.wait_ms = 50'000, .req = "q"}));
    a.send(1, unlock(one.token.str()));
    EXPECT_EQ(got(a, third), "granted");
    EXPECT_EQ(got(a, back), "pending");
}

TEST(NodeLock, a_grant_that_meets_a_closed_connection_is_given_back) {
    World world;
    Member& a = world.at(0);
    a.link = Link::frozen;
    a.send(1, lock());
    a.feed(core::ClientGone{ClientId{1}});
    a.thaw();
    EXPECT_EQ(world.table.size(), 0u);
    EXPECT_EQ(a.node.counts().undone, 1u);
    EXPECT_EQ(a.node.counts().held, 0u);
    EXPECT_TRUE(a.journal.empty());
}

TEST(NodeLock, a_queue_has_a_limit_that_the_error_names) {
    World world;
    Member& a = world.at(0);
    core::ResourceSettings settings;
    settings.queue_max = 2;
    a.registry.set(ResourceName("r"), settings);
    granted(a.outcome(a.send(1, lock())));
    a.send(2, lock({.wait_ms = 5'000}));
    a.send(3, lock({.wait_ms = 5'000}));
    const std::string text = got(a, a.send(4, lock({.wait_ms = 5'000})));
    EXPECT_EQ(text.rfind("-QUEUEFULL 2 wait for this lock already", 0), 0u) << text;
}

TEST(NodeLock, require_refuses_a_tier_that_is_worth_less) {
    World world;
    Member& a = world.at(0);
    a.open("local");
    EXPECT_EQ(got(a, a.send(1, lock({.require = core::Require::shared}))),
              "-DEGRADED the tier is local, not REQUIRE shared");
    EXPECT_EQ(got(a, a.send(1, lock({.require = core::Require::any}))), "granted");
}

TEST(NodeLock, delay_keeps_a_lapsed_lock_from_everybody) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock({.ttl_ms = 1'000, .delay_ms = 2'000}))));
    world.advance(milliseconds(1'500));
    EXPECT_EQ(got(a, a.send(2, lock())), "nil");
    EXPECT_EQ(got(a, a.send(1, renew(one.token.str()))), "0");
    const auto waiter = a.send(3, lock({.wait_ms = 10'000}));
    world.advance(milliseconds(1'499));
    EXPECT_EQ(got(a, waiter), "pending");
    world.advance(milliseconds(20));
    EXPECT_EQ(got(a, waiter), "granted");
}

TEST(NodeLock, unlock_by_token_ends_a_delay) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock({.ttl_ms = 1'000, .delay_ms = 20'000}))));
    world.advance(milliseconds(1'500));
    EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "1");
    EXPECT_EQ(got(a, a.send(2, lock())), "granted");
}

TEST(NodeUnlock, tells_not_held_from_held_by_another) {
    World world;
    Member& a = world.at(0);
    EXPECT_EQ(got(a, a.send(1, unlock("nobody"))), "0");
    granted(a.outcome(a.send(1, lock())));
    EXPECT_EQ(got(a, a.send(2, unlock("stranger"))), "-1");
    EXPECT_EQ(a.node.counts().held, 1u);
}

TEST(NodeUnlock, sent_twice_at_once_gets_one_answer_twice) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    a.link = Link::frozen;
    const auto first = a.send(1, unlock(one.token.str()));
    const auto second = a.send(2, unlock(one.token.str()));
    a.thaw();
    EXPECT_EQ(got(a, first), "1");
    EXPECT_EQ(got(a, second), "1");
}

TEST(NodeUnlock, through_another_node_tells_the_one_that_granted) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto one = granted(a.outcome(a.send(1, lock())));
    const auto waiter = a.send(2, lock({.wait_ms = 9'000}));
    EXPECT_EQ(got(b, b.send(1, unlock(one.token.str()))), "1");
    EXPECT_EQ(got(a, waiter), "granted");
}

// Nor does it cost who comes to wait afterwards.
TEST(NodeUnlock, a_missed_message_costs_no_longer_than_the_channel_s_return) {
    for (const int wait_ms : {0, 9'000}) {
        SCOPED_TRACE(wait_ms);
        World world(2);
        Member& a = world.at(0);
        Member& b = world.at(1);
        const auto one = granted(a.outcome(a.send(1, lock())));
        a.hears_messages = false;
        EXPECT_EQ(got(b, b.send(1, unlock(one.token.str()))), "1");
        a.feed(core::MessagesResumed{});
        EXPECT_EQ(got(a, a.send(2, lock({.wait_ms = wait_ms}))), "granted") << "asked at once";
    }
}

TEST(NodeRenew, answers_what_is_left_and_never_shortens) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    EXPECT_EQ(got(a, a.send(1, renew(one.token.str(), 1'000))), "10000");
    world.advance(seconds(9));
    EXPECT_EQ(got(a, a.send(1, renew(one.token.str(), 20'000))), "20000");
    EXPECT_EQ(got(a, a.send(1, renew("stranger"))), "-1");
    world.advance(seconds(21));
    EXPECT_EQ(got(a, a.send(1, renew(one.token.str()))), "0") << "never re-created";
    EXPECT_EQ(world.table.size(), 0u);
}

TEST(NodeRenew, has_a_limit) {
    World world;
    Member& a = world.at(0);
    core::ResourceSettings settings;
    settings.renew_max = 2;
    a.registry.set(ResourceName("r"), settings);
    const auto one = granted(a.outcome(a.send(1, lock())));
    a.send(1, renew(one.token.str()));
    a.send(1, renew(one.token.str()));
    const std::string text = got(a, a.send(1, renew(one.token.str())));
    EXPECT_EQ(text.rfind("-LIMIT maxrenew", 0), 0u) << text;
}

// As RENEW tells it: what a store keeps longer than the holder may rely on it is not for him.
TEST(NodeRenew, at_its_limit_tells_what_may_still_be_relied_on) {
    World world;
    Member& a = world.at(0);
    a.open("redis", milliseconds(50));
    core::ResourceSettings settings;
    settings.renew_max = 1;
    a.registry.set(ResourceName("r"), settings);
    const auto one = granted(a.outcome(a.send(1, lock())));
    EXPECT_EQ(got(a, a.send(1, renew(one.token.str()))), "9940");
    EXPECT_EQ(got(a, a.send(1, renew(one.token.str()))),
              "-LIMIT maxrenew: renewed 1 times; the lease runs out in 9940 ms");
    world.advance(milliseconds(9'955));
    EXPECT_EQ(got(a, a.send(1, renew(one.token.str()))),
              "-LIMIT maxrenew: renewed 1 times; the lease runs out in 0 ms");
}

TEST(NodeRenew, stops_at_the_hard_end) {
    World world;
    Member& a = world.at(0);
    const auto one =
        granted(a.outcome(a.send(1, lock({.ttl_ms = 1'000, .keep = true, .maxhold_ms = 2'500}))));
    const auto waiter = a.send(2, lock({.wait_ms = 20'000}));
    world.advance(milliseconds(2'499));
    EXPECT_EQ(got(a, waiter), "pending");
    world.advance(milliseconds(2));
    EXPECT_EQ(got(a, waiter), "granted");
    const std::string text = got(a, a.send(1, renew(one.token.str())));
    EXPECT_EQ(text.rfind("-LOST maxhold", 0), 0u) << text;
    ASSERT_FALSE(a.happened.empty());
    EXPECT_EQ(a.happened.back().reason, "maxhold");
}

TEST(NodeKeep, renews_at_a_third_while_the_connection_lives) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .keep = true}))));
    world.advance(seconds(30));
    EXPECT_EQ(got(a, a.send(2, lock())), "nil");
    EXPECT_NEAR(static_cast<double>(a.sent<Renew>()), 30, 1);
    a.feed(core::ClientGone{ClientId{1}});
    world.advance(milliseconds(2'900));
    EXPECT_EQ(got(a, a.send(2, lock())), "nil") << "the lease that was told runs out";
    world.advance(milliseconds(200));
    EXPECT_EQ(got(a, a.send(2, lock())), "granted");
    EXPECT_EQ(a.node.counts().keeping, 0u);
}

TEST(NodeKeep, onclose_releases_at_the_close) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.keep = true, .onclose = true}))));
    const auto waiter = a.send(2, lock({.wait_ms = 5'000}));
    a.feed(core::ClientGone{ClientId{1}});
    EXPECT_EQ(got(a, waiter), "granted");
}

TEST(NodeKeep, never_renews_what_was_released) {
    World world;
    Member& a = world.at(0);
    for (int i = 0; i < 1'000; ++i) {
        const auto one = granted(a.outcome(a.send(1, lock({.ttl_ms = 300, .keep = true}))));
        world.advance(milliseconds(i % 150));
        EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "1");
    }
    const std::size_t renewals = a.sent<Renew>();
    world.advance(seconds(10));
    EXPECT_EQ(a.sent<Renew>(), renewals);
    EXPECT_EQ(a.node.counts().keeping, 0u);
    EXPECT_EQ(a.node.next_deadline().has_value(), false);
    EXPECT_EQ(world.table.size(), 0u);
}

TEST(NodeKeep, never_re_takes_a_lock_that_was_lost) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .keep = true}))));
    world.table = core::Table(100, 50);  // gone from the store
    world.advance(milliseconds(1'100));
    ASSERT_EQ(a.happened.size(), 1u);
    EXPECT_EQ(a.happened[0].reason, "gone from the store");
    EXPECT_EQ(a.happened[0].holders, std::vector{ClientId{1}});
    world.advance(seconds(10));
    EXPECT_EQ(world.table.size(), 0u);
}

TEST(NodeKeep, tries_again_within_the_lease) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .keep = true}))));
    a.link = Link::frozen;
    world.advance(milliseconds(1'200));
    a.break_off();
    a.close();
    world.advance(milliseconds(1'000));
    a.link = Link::instant;
    a.open();
    world.advance(milliseconds(2'000));
    EXPECT_EQ(got(a, a.send(2, lock())), "nil");
    EXPECT_TRUE(a.happened.empty() || a.happened.back().kind != core::Happened::Kind::lost);
}

// Each UNLOCK of another hold put the next renewal off as if it had extended the lease.
TEST(NodeKeep, is_renewed_in_time_though_other_holds_are_given_back) {
    World world;
    Member& a = world.at(0);
    const LockWords words{.ttl_ms = 9'000, .owner = "o"};
    granted(a.outcome(a.send(1, lock({.ttl_ms = 9'000, .owner = "o", .keep = true}))));
    std::vector<core::Granted> others;
    for (int i = 0; i < 4; ++i) others.push_back(granted(a.outcome(a.send(2, lock(words)))));
    for (const core::Granted& other : others) {
        world.advance(milliseconds(2'900));
        EXPECT_EQ(got(a, a.send(2, unlock(other.token.str()))), "2");
    }
    EXPECT_EQ(a.node.counts().held, 1u);
    EXPECT_TRUE(a.happened.empty());
}

TEST(NodeKeep, is_taken_over_by_another_connection) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto one = granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .keep = true}))));
    EXPECT_EQ(got(b, b.send(7, renew(one.token.str(), 0, true))), "3000");
    EXPECT_EQ(a.node.counts().keeping, 0u);
    a.feed(core::ClientGone{ClientId{1}});
    world.advance(seconds(20));
    EXPECT_EQ(got(a, a.send(2, lock())), "nil");
    b.feed(core::ClientGone{ClientId{7}});
    world.advance(seconds(4));
    EXPECT_EQ(got(a, a.send(2, lock())), "granted");
}

TEST(NodeKeep, of_two_holds_on_two_nodes_each_lasts_as_long_as_its_own_connection) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .owner = "o", .keep = true}))));
    granted(b.outcome(b.send(2, lock({.ttl_ms = 3'000, .owner = "o", .keep = true}))));
    world.advance(seconds(30));
    EXPECT_LE(a.sent<Renew>() + b.sent<Renew>(), 130u) << "no answer without end";
    b.feed(core::ClientGone{ClientId{2}});
    world.advance(seconds(20));
    EXPECT_EQ(got(b, b.send(3, lock())), "nil") << "the first connection still lives";
    a.feed(core::ClientGone{ClientId{1}});
    world.advance(seconds(4));
    EXPECT_EQ(got(b, b.send(3, lock())), "granted");
}

TEST(NodeKeep, expect_warns_once) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .keep = true, .expect_ms = 1'000}))));
    world.advance(milliseconds(2'999));
    EXPECT_EQ(a.node.counts().over_expected, 0u);
    world.advance(seconds(10));
    EXPECT_EQ(a.node.counts().over_expected, 1u);
}

TEST(NodeCancel, undoes_a_grant_and_bars_the_request_id) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    core::CancelCommand cancel;
    cancel.key = key();
    cancel.request = RequestId("q");
    granted(a.outcome(a.send(1, lock({.req = "q"}))));
    EXPECT_EQ(got(b, b.send(1, cancel)), "1");
    EXPECT_EQ(got(a, a.send(2, lock({.req = "q"}))), "-ERR cancelled: this REQ was cancelled");
    EXPECT_EQ(got(b, b.send(1, cancel)), "0");
    EXPECT_EQ(got(a, a.send(2, lock({.req = "other"}))), "granted");
}

TEST(NodeCancel, reaches_a_waiter_of_another_node) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    core::CancelCommand cancel;
    cancel.key = key();
    cancel.request = RequestId("q");
    granted(a.outcome(a.send(1, lock())));
    const auto waiter = a.send(2, lock({.wait_ms = 9'000, .req = "q"}));
    EXPECT_EQ(got(b, b.send(3, cancel)), "0");
    EXPECT_EQ(got(a, waiter), "-ERR cancelled: this REQ was cancelled");
}

TEST(NodeForce, ends_a_grant_and_tells_its_holder) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto one = granted(a.outcome(a.send(1, lock({.keep = true}))));
    const auto waiter = a.send(2, lock({.wait_ms = 9'000}));
    core::ForceCommand force;
    force.key = key();
    force.fence = one.fence + 1;
    EXPECT_EQ(got(b, b.send(9, force)), "0");
    force.fence = one.fence;
    EXPECT_EQ(got(b, b.send(9, force)), "1");
    ASSERT_FALSE(a.happened.empty());
    EXPECT_EQ(a.happened[0].kind, core::Happened::Kind::revoked);
    EXPECT_EQ(a.happened[0].holders, std::vector{ClientId{1}});
    EXPECT_EQ(got(a, waiter), "granted");
    EXPECT_EQ(got(a, a.send(1, renew(one.token.str()))), "-1");
}

TEST(NodeLimits, more_live_locks_than_expected_warn_once) {
    World world;
    Member& a = world.at(0);
    core::ResourceSettings settings;
    settings.locks_expected = 2;
    a.registry.set(ResourceName("r"), settings);
    const auto warnings = [&a] {
        return std::ranges::count_if(a.notices, [](const core::Notice& notice) {
            return std::string_view(notice.event) == "resource.many_locks" &&
                   notice.level == core::Notice::Level::warning;
        });
    };
    a.send(1, lock({.id = "1"}));
    a.send(1, lock({.id = "2"}));
    EXPECT_EQ(warnings(), 0);
    a.send(1, lock({.id = "3"}));
    a.send(1, lock({.id = "4"}));
    EXPECT_EQ(warnings(), 1);
}

TEST(NodeLimits, nothing_is_sent_that_the_journal_has_no_room_for) {
    World world;
    Member& a = world.at(0);
    const std::string full =
        "-LIMIT journal: there is no room to write a grant down; nothing is held";
    a.feed(core::JournalRoom{2});
    a.link = Link::frozen;
    const auto one = a.send(1, lock({.id = "1"}));
    const auto two = a.send(1, lock({.id = "2"}));
    EXPECT_EQ(got(a, a.send(1, lock({.id = "3"}))), full) << "two are under way";
    EXPECT_EQ(a.sent<Acquire>(), 2u);
    a.thaw();
    const auto first = granted(a.outcome(one));
    EXPECT_EQ(got(a, two), "granted");
    EXPECT_EQ(got(a, a.send(1, lock({.id = "3"}))), full);
    EXPECT_EQ(got(a, a.send(1, unlock(first.token.str()))), "1");
    a.feed(core::JournalRoom{1});
    EXPECT_EQ(got(a, a.send(1, lock({.id = "3"}))), "granted");
}

TEST(NodeLimits, a_lock_that_is_held_needs_no_room) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock({.id = "1"}))));
    a.feed(core::JournalRoom{0});
    EXPECT_EQ(got(a, a.send(2, lock({.id = "1"}))), "nil");
    const auto waits = a.send(2, lock({.wait_ms = 9'000, .id = "1"}));
    EXPECT_EQ(got(a, waits), "pending");
    EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "1");
    a.feed(core::JournalRoom{1});
    EXPECT_EQ(got(a, waits), "granted");
}

TEST(NodeLimits, names_max_locks_where_that_and_the_journal_are_full) {
    core::NodeOptions options;
    options.name = NodeName("a");
    options.locks_max = 1;
    core::Registry registry;
    CountingNames names("n");
    core::Node node(std::move(options), registry, names);
    core::Actions actions;
    const Time now{std::chrono::hours(1)};
    node.step(now, core::JournalRoom{1}, actions);
    const auto send = [&](std::string id) {
        actions.clear();
        core::LockCommand command = lock({.id = std::move(id)});
        command.ticket = {ClientId{1}, {}};
        node.step(now, std::move(command), actions);
        for (core::Action& action : actions) {
            if (auto* const answer = std::get_if<core::Answer>(&action)) {
                return text_of(std::move(answer->outcome));
            }
        }
        return std::string("pending");
    };
    EXPECT_EQ(send("1"), "pending");
    node.step(now, core::JournalRoom{0}, actions);
    EXPECT_EQ(send("2"),
              "-LIMIT journal: 1 locks are held through this node; the limit is max_locks");
}

TEST(NodeLimits, a_waiter_gets_its_lock_when_the_journal_has_room_again) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto theirs = granted(b.outcome(b.send(1, lock())));
    const auto waits = a.send(1, lock({.wait_ms = 9'000}));
    a.feed(core::JournalRoom{0});
    b.send(1, unlock(theirs.token.str()));
    world.advance(seconds(3));
    EXPECT_EQ(got(a, waits), "pending");
    a.feed(core::JournalRoom{5});
    EXPECT_EQ(got(a, waits), "granted");
}

TEST(NodeLimits, waiters_of_all_locks_together_are_limited) {
    World world;
    Member& a = world.at(0);
    for (int i = 0; i < 10; ++i) {
        const std::string id = std::to_string(i);
        a.send(1, lock({.id = id}));
        for (int j = 0; j < 1'000; ++j) a.send(2, lock({.wait_ms = 9'000, .id = id}));
    }
    EXPECT_EQ(a.node.counts().waiting, 10'000u);
    a.send(1, lock({.id = "one"}));
    EXPECT_EQ(got(a, a.send(2, lock({.wait_ms = 9'000, .id = "one"}))),
              "-QUEUEFULL 10000 wait on this node already; the limit is limits.max_waiters");
    EXPECT_EQ(got(a, a.send(2, lock({.id = "one"}))), "nil");
}

}  // namespace
}  // namespace latchd::test
