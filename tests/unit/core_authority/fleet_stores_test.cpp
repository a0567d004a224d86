// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_world.hpp"

#include <algorithm>
#include <string_view>

// Which stores the fleet goes to, and in which order: the record says so (design section 5).
namespace latchd::core::authority {
namespace {

// ---- nodes that ask different arbiters ---------------------------------------------------------

// One has no MySQL in its configuration: Redis about itself is its arbiter.
class TwoArbiters : public ::testing::Test {
protected:
    TwoArbiters() { redis.identity = world.cache().identity; }
    FakeNode& add_without_sql() {
        return world.add(
            "a",
            [](FleetOptions& options) {
                options.tiers = {{"cache", "redis", {}, true}};
                options.basis.stores = {"cache"};
                options.outlives = false;
            },
            &redis);
    }
    FleetWorld world;
    ArbiterTable redis;
};

TEST_F(TwoArbiters, a_node_takes_no_store_from_those_who_serve_from_it) {
    FakeNode& first = add_without_sql();
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    const Epoch epoch = redis.record()->epoch;
    FakeNode& second = world.add("b");
    world.run(seconds(60));
    EXPECT_TRUE(first.is_open);
    EXPECT_EQ(redis.record()->epoch, epoch);
    EXPECT_FALSE(second.is_open) << "it would grant what the other one has granted";
    EXPECT_FALSE(world.arbiter.record());
    EXPECT_NE(second.closed.find("need the same authority.arbiter"), std::string::npos)
        << second.closed;
}

TEST_F(TwoArbiters, the_other_way_round_neither) {
    FakeNode& first = world.add("b");
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    const Epoch epoch = world.record().epoch;
    FakeNode& second = add_without_sql();
    world.run(seconds(60));
    EXPECT_TRUE(first.is_open);
    EXPECT_EQ(world.record().epoch, epoch);
    EXPECT_FALSE(second.is_open);
    EXPECT_FALSE(redis.record());
}

// As where a node of a version that does not look takes it.
TEST_F(TwoArbiters, whose_store_was_taken_leaves_it_alone_while_it_is_used) {
    FakeNode& first = world.add("b");
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    const Epoch epoch = world.record().epoch;
    world.cache().marker->epoch = epoch + 1;
    world.cache().marker->nonce = Nonce("another");
    world.cache().is_used_by_others = true;
    world.run(seconds(30));
    EXPECT_FALSE(first.is_open);
    EXPECT_EQ(world.record().epoch, epoch);
    world.cache().is_used_by_others = false;
    EXPECT_TRUE(world.run_until([&] { return first.is_open; }, seconds(12)));
    EXPECT_EQ(world.record().epoch, epoch + 2);
}

TEST_F(TwoArbiters, a_store_that_nobody_uses_any_more_is_taken) {
    FakeNode& first = add_without_sql();
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    const Epoch epoch = redis.record()->epoch;
    first.is_alive = false;
    FakeNode& second = world.add("b");
    EXPECT_TRUE(world.run_until([&] { return second.is_open; }, seconds(10)));
    EXPECT_EQ(world.record().epoch, epoch + 1);
}

}  // namespace
}  // namespace latchd::core::authority
