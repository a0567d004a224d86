// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "support/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

// Waiting beside other nodes, message by message.
namespace latchd::test {
namespace {

using core::Acquire;
using core::Release;
using core::StepOut;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(NodeQueue, a_release_wakes_the_node_that_waits_longest) {
    World world(3);
    Member& a = world.at(0);
    Member& b = world.at(1);
    Member& c = world.at(2);
    const auto held = granted(a.outcome(a.send(1, lock())));
    const auto second = b.send(1, lock({.wait_ms = 5'000}));
    const auto third = c.send(1, lock({.wait_ms = 5'000}));
    a.send(1, unlock(held.token.str()));
    const auto grant = granted(b.outcome(second));
    EXPECT_EQ(got(c, third), "pending");
    EXPECT_EQ(c.sent<Acquire>(), 1u) << "who is not the next is not woken";
    b.send(1, unlock(grant.token.str()));
    granted(c.outcome(third));
    EXPECT_EQ(b.sent<Acquire>() + c.sent<Acquire>(), 4u);
}

TEST(NodeQueue, a_lock_without_wait_is_nil_while_it_is_reserved) {
    World world(3);
    Member& a = world.at(0);
    Member& b = world.at(1);
    Member& c = world.at(2);
    const auto held = granted(a.outcome(a.send(1, lock())));
    b.hears_messages = false;
    const auto waiting = b.send(1, lock({.wait_ms = 5'000}));
    a.send(1, unlock(held.token.str()));
    EXPECT_EQ(got(c, c.send(1, lock())), "nil");
    EXPECT_EQ(got(a, a.send(1, lock())), "nil");
    world.advance(seconds(1));
    EXPECT_EQ(got(b, waiting), "granted") << "without its message at the latest after wake_check";
}

TEST(NodeQueue, the_last_waiter_takes_its_node_out) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto held = granted(a.outcome(a.send(1, lock())));
    b.send(1, lock({.wait_ms = 500}));
    b.send(2, lock({.wait_ms = 900}));
    world.advance(milliseconds(600));
    EXPECT_EQ(b.sent<StepOut>(), 0u);
    world.advance(milliseconds(400));
    EXPECT_EQ(b.sent<StepOut>(), 1u);
    EXPECT_TRUE(world.table.queue(world.now, key()).nodes.empty());
    a.send(1, unlock(held.token.str()));
    EXPECT_EQ(got(a, a.send(1, lock())), "granted");
}

TEST(NodeQueue, an_offer_without_a_waiter_is_passed_on_at_once) {
    World world(3);
    Member& a = world.at(0);
    Member& b = world.at(1);
    Member& c = world.at(2);
    const auto held = granted(a.outcome(a.send(1, lock())));
    b.send(1, lock({.wait_ms = 500}));
    const auto third = c.send(1, lock({.wait_ms = 5'000}));
    b.link = Link::frozen;  // its word that it left stays under way
    b.feed(core::ClientGone{ClientId{1}});
    ASSERT_EQ(b.sent<StepOut>(), 1u);
    b.break_off(core::Failure::unsent);
    b.link = Link::instant;
    a.send(1, unlock(held.token.str()));
    EXPECT_EQ(b.sent<StepOut>(), 2u);
    EXPECT_EQ(got(c, third), "granted");
}

TEST(NodeQueue, a_dead_node_costs_its_reservation) {
    World world(3);
    Member& a = world.at(0);
    Member& b = world.at(1);
    Member& c = world.at(2);
    const auto held = granted(a.outcome(a.send(1, lock())));
    b.send(1, lock({.wait_ms = 50'000}));
    b.hears_messages = false;
    b.link = Link::frozen;
    const auto third = c.send(1, lock({.wait_ms = 50'000}));
    world.advance(milliseconds(900));
    a.send(1, unlock(held.token.str()));
    world.advance(milliseconds(100));
    EXPECT_EQ(got(c, third), "pending") << "reserved for the dead one";
    world.advance(milliseconds(101));
    EXPECT_EQ(got(c, third), "granted");
}

// Every holder at once gives back to whoever is next, at all nodes.
class NodeTurns : public ::testing::Test {
protected:
    struct Waiter {
        std::size_t node;
        std::uint64_t client;
        core::Ticket ticket;
    };
    void lock_again(std::size_t node, std::uint64_t client) {
        waiters_.push_back({node, client, world_.at(node).send(client, lock({.wait_ms = 60'000}))});
    }
    // Gives the lock back `rounds` times; returns the nodes that had it.
    std::vector<std::size_t> turn(int rounds) {
        std::vector<std::size_t> nodes;
        for (int i = 0; i < rounds; ++i) {
            const auto it = std::ranges::find_if(waiters_, [&](const Waiter& waiter) {
                return world_.at(waiter.node).outcome(waiter.ticket).has_value();
            });
            if (it == waiters_.end()) {
                ADD_FAILURE() << "nobody has the lock after " << i;
                return nodes;
            }
            const Waiter one = *it;
            waiters_.erase(it);
            Member& node = world_.at(one.node);
            const auto grant = granted(node.outcome(one.ticket));
            EXPECT_GT(grant.fence, std::exchange(fence_, grant.fence));
            nodes.push_back(one.node);
            node.send(one.client, unlock(grant.token.str()));
            lock_again(one.node, one.client);
        }
        return nodes;
    }

    World world_{3};
    std::vector<Waiter> waiters_;
    Fence fence_ = 0;
};

TEST_F(NodeTurns, no_node_has_more_than_its_turn_while_others_wait) {
    for (std::uint64_t client = 1; client <= 20; ++client) {
        for (std::size_t node = 0; node < 3; ++node) lock_again(node, client);
    }
    const std::vector<std::size_t> nodes = turn(480);
    std::size_t in_a_row = 0;
    std::vector<std::size_t> last(3, 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        in_a_row = i > 0 && nodes[i] == nodes[i - 1] ? in_a_row + 1 : 1;
        EXPECT_LE(in_a_row, 16u);
        EXPECT_LE(i - last[nodes[i]], 48u);
        last[nodes[i]] = i;
    }
    for (std::size_t node = 0; node < 3; ++node) {
        EXPECT_GE(std::ranges::count(nodes, node), 144) << node;
        EXPECT_LE(world_.at(node).sent<Acquire>(), 40u) << "an offer is one question";
        EXPECT_EQ(world_.at(node).sent<StepOut>(), 0u);
    }
}

TEST_F(NodeTurns, alone_it_goes_on_without_a_question) {
    for (std::uint64_t client = 1; client <= 20; ++client) lock_again(0, client);
    turn(200);
    EXPECT_EQ(world_.at(0).sent<Acquire>(), 1u);
    EXPECT_EQ(world_.at(0).sent<Release>(), 200u);
}

TEST(NodeQueue, an_offer_that_overtakes_the_answer_of_the_question_is_not_lost) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto held = granted(a.outcome(a.send(1, lock())));
    b.link = Link::lose_answers;  // it is carried out, the answer stays under way
    const auto waiting = b.send(1, lock({.wait_ms = 5'000}));
    a.send(1, unlock(held.token.str()));
    ASSERT_EQ(b.under_way(), 1u);
    b.link = Link::instant;
    b.answer_late(core::Reply{core::Status::held, std::nullopt, seconds(10), held.fence});
    EXPECT_EQ(got(b, waiting), "granted");
}

TEST(NodeQueue, on_mysql_the_heads_look_together_every_50_to_200_ms) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    b.open("mysql");
    b.hears_messages = false;
    for (int i = 0; i < 10; ++i) {
        const std::string id = std::to_string(i);
        granted(a.outcome(a.send(1, lock({.ttl_ms = 30'000, .id = id}))));
        b.send(10 + static_cast<std::uint64_t>(i), lock({.wait_ms = 20'000, .id = id}));
        world.advance(milliseconds(7));
    }
    world.advance(seconds(3));
    const std::size_t before = b.sent<Acquire>();
    std::vector<std::size_t> turns;
    for (int i = 0; i < 1'000; ++i) {
        const std::size_t asked = b.sent<Acquire>();
        world.advance(milliseconds(1));
        if (b.sent<Acquire>() != asked) turns.push_back(b.sent<Acquire>() - asked);
    }
    EXPECT_GE(b.sent<Acquire>() - before, 30u);
    EXPECT_LE(b.sent<Acquire>() - before, 50u);
    EXPECT_LE(turns.size(), 5u) << "several in each";
}

TEST(NodeQueue, a_look_says_that_the_lock_hardly_is_free) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto held = granted(a.outcome(a.send(1, lock({.ttl_ms = 10'000}))));
    b.send(1, lock({.wait_ms = 50'000}));
    const auto last = [&] { return std::get<Acquire>(b.submitted.back()).looks; };
    EXPECT_FALSE(last()) << "nothing is known yet";
    world.advance(seconds(2));
    ASSERT_GE(b.sent<Acquire>(), 2u);
    EXPECT_TRUE(last());
    a.send(1, renew(held.token.str()));
    world.advance(seconds(2));
    a.send(1, unlock(held.token.str()));
    EXPECT_FALSE(last()) << "it was offered";
}

TEST(NodeQueue, without_messages_the_heads_look_often) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto held = granted(a.outcome(a.send(1, lock({.ttl_ms = 60'000}))));
    const auto waiting = b.send(1, lock({.wait_ms = 50'000}));
    world.advance(seconds(20));
    const std::size_t asked = b.sent<Acquire>();
    EXPECT_LE(asked, 6u);
    b.hears_messages = false;
    b.feed(core::MessagesLost{});
    world.advance(seconds(2));
    EXPECT_GE(b.sent<Acquire>() - asked, 10u);
    a.send(1, unlock(held.token.str()));
    world.advance(milliseconds(200));
    EXPECT_EQ(got(b, waiting), "granted");
}

core::ResourceSettings with_busy_cache(Duration busy_cache) {
    core::ResourceSettings settings;
    settings.busy_cache = busy_cache;
    return settings;
}

TEST(NodeBusyCache, who_polls_costs_one_question_in_so_long) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    b.registry.set(ResourceName("r"), with_busy_cache(milliseconds(50)));
    const auto held = granted(a.outcome(a.send(1, lock({.ttl_ms = 60'000}))));
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(got(b, b.send(1, lock())), "nil");
        world.advance(milliseconds(10));
    }
    EXPECT_EQ(b.sent<Acquire>(), 20u);
    a.send(1, unlock(held.token.str()));
    world.advance(milliseconds(50));
    EXPECT_EQ(got(b, b.send(1, lock())), "granted");
}

TEST(NodeBusyCache, is_off_by_default) {
    World world(2);
    granted(world.at(0).outcome(world.at(0).send(1, lock())));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(got(world.at(1), world.at(1).send(1, lock())), "nil");
    EXPECT_EQ(world.at(1).sent<Acquire>(), 10u);
}

TEST(NodeBusyCache, ends_with_the_lease_and_with_a_wake_up) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    b.registry.set(ResourceName("r"), with_busy_cache(seconds(1)));
    granted(a.outcome(a.send(1, lock({.ttl_ms = 300}))));
    EXPECT_EQ(got(b, b.send(1, lock())), "nil");
    world.advance(milliseconds(299));
    EXPECT_EQ(got(b, b.send(1, lock())), "nil");
    EXPECT_EQ(b.sent<Acquire>(), 1u);
    world.advance(milliseconds(2));
    const auto second = b.send(1, lock({.ttl_ms = 60'000}));
    EXPECT_EQ(got(b, second), "granted");
    // Held through b, renewed and released through a: b is told.
    const auto token = granted(b.outcome(second)).token.str();
    EXPECT_NE(got(a, a.send(1, renew(token))), "0");
    EXPECT_EQ(got(b, b.send(2, lock())), "nil");
    EXPECT_EQ(got(b, b.send(1, unlock(token))), "1") << "through the node that asked";
    EXPECT_EQ(got(b, b.send(2, lock())), "granted");
}

TEST(NodeBusyCache, does_not_stop_who_waits_owns_or_asks_again) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    b.registry.set(ResourceName("r"), with_busy_cache(seconds(1)));
    granted(a.outcome(a.send(1, lock({.owner = "o", .req = "q"}))));
    EXPECT_EQ(got(b, b.send(1, lock())), "nil");
    EXPECT_EQ(got(b, b.send(1, lock({.req = "q"}))), "granted");
    EXPECT_EQ(got(b, b.send(2, lock({.owner = "o"}))), "granted");
    EXPECT_EQ(got(b, b.send(3, lock({.wait_ms = 100}))), "pending");
}

}  // namespace
}  // namespace latchd::test
