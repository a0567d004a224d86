// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_world.hpp"

// What safety rests on changes with an epoch (design section 5, the record).
namespace latchd::core::authority {
namespace {

ResourceSettings of(Safety safety) {
    ResourceSettings settings;
    settings.safety = safety;
    return settings;
}

class FleetBasis : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* name : {"a", "b"}) {
            world.add(name, [](FleetOptions& options) { options.available_max = seconds(30); });
        }
        ASSERT_TRUE(world.all_serve("redis", seconds(2)));
        world.run(seconds(3));
        first = world.record().epoch;
    }
    bool is_open_in(Epoch epoch) {
        return world.run_until(
            [&] {
                return world.record().epoch == epoch && world.node(0).is_open &&
                       world.node(1).is_open && world.node(0).opened.epoch == epoch &&
                       world.node(1).opened.epoch == epoch;
            },
            seconds(4));
    }
    FleetWorld world;
    Epoch first = 0;
};

TEST_F(FleetBasis, a_change_of_safety_holds_from_an_epoch_on_and_is_promised_later) {
    ASSERT_TRUE(world.set("pay", of(Safety::strict), first));
    ASSERT_TRUE(is_open_in(first + 1));
    EXPECT_EQ(world.record().placement.reason, "SAFETY or DEGRADE of resource pay changes");
    for (std::size_t i : {0, 1}) {
        const FakeNode& node = world.node(i);
        EXPECT_EQ(node.registry_when_opened.at("pay").safety, Safety::strict);
        EXPECT_TRUE(node.registry.at("pay").pending) << "a node that is cut off grants by the old";
    }
    world.run(seconds(80));
    EXPECT_TRUE(world.node(0).registry.at("pay").pending);
    world.run(seconds(15));
    EXPECT_FALSE(world.node(0).registry.at("pay").pending);
    EXPECT_EQ(world.node(0).registry.at("pay").safety, Safety::strict);
    EXPECT_EQ(world.record().epoch, first + 1);
}

TEST_F(FleetBasis, a_change_away_from_safety_is_whole_with_its_epoch) {
    ASSERT_TRUE(world.set("pay", of(Safety::strict), first));
    ASSERT_TRUE(is_open_in(first + 1));
    world.run(seconds(2));
    ASSERT_TRUE(world.set("pay", of(Safety::available), first + 1));
    ASSERT_TRUE(is_open_in(first + 2));
    EXPECT_EQ(world.node(1).registry_when_opened.at("pay").safety, Safety::available);
    EXPECT_FALSE(world.node(1).registry.at("pay").pending);
}

// Of two lanes the older answer may come later: it is what it was, not what was shown meanwhile.
TEST_F(FleetBasis, a_registry_that_was_read_before_a_change_does_not_pass_for_the_changed_one) {
    ResourceSettings queue = of(Safety::available);
    queue.queue_max = 7;
    FakeNode& node = world.node(0);
    node.holds_registry = true;
    ASSERT_TRUE(world.set("order", queue, first));
    ASSERT_TRUE(world.run_until([&] { return node.held.has_value(); }, seconds(2)));
    queue.queue_max = 8;
    ASSERT_TRUE(world.set("order", queue, first));
    world.run(seconds(1));
    node.holds_registry = false;
    world.tell(node, std::move(*node.held));
    world.run(seconds(1));
    EXPECT_EQ(node.registry.at("order").queue_max, 8u);
}

TEST_F(FleetBasis, many_changes_at_once_are_one_epoch_and_others_none) {
    ResourceSettings queue = of(Safety::available);
    queue.queue_max = 7;
    ASSERT_TRUE(world.set("order", queue, first));
    world.run(seconds(2));
    EXPECT_EQ(world.record().epoch, first);
    EXPECT_EQ(world.node(0).registry.at("order").queue_max, 7u);
    ResourceSettings degrade = queue;
    degrade.degrade = Degrade::none;
    ASSERT_TRUE(world.set("order", degrade, first));
    ASSERT_TRUE(world.set("pay", of(Safety::strict), first));
    ASSERT_TRUE(world.set("bill", of(Safety::strict), first));
    ASSERT_TRUE(is_open_in(first + 1));
    world.run(seconds(5));
    EXPECT_EQ(world.record().epoch, first + 1);
    EXPECT_EQ(world.node(0).registry.at("order").degrade, Degrade::none);
    EXPECT_EQ(world.node(0).registry.at("bill").safety, Safety::strict);
}

TEST_F(FleetBasis, a_change_for_an_epoch_that_has_begun_is_refused) {
    world.tell(world.node(0), Command{1, "sql", false, "x"});
    ASSERT_TRUE(world.run_until([&] { return world.record().epoch == first + 1; }, seconds(1)));
    EXPECT_FALSE(world.set("pay", of(Safety::strict), first));
    EXPECT_TRUE(world.set("pay", of(Safety::strict), first + 1));
    EXPECT_TRUE(is_open_in(first + 2));
}

TEST_F(FleetBasis, a_node_that_was_away_serves_no_new_epoch_by_the_old_registry) {
    world.node(1).is_paused = true;
    ASSERT_TRUE(world.set("pay", of(Safety::strict), first));
    ASSERT_TRUE(world.run_until([&] { return world.record().epoch == first + 1; }, seconds(2)));
    world.run(seconds(2));
    world.node(1).is_paused = false;
    ASSERT_TRUE(is_open_in(first + 1));
    EXPECT_EQ(world.node(1).registry_when_opened.at("pay").safety, Safety::strict);
}

TEST_F(FleetBasis, the_record_counts_whatever_a_configuration_says) {
    FakeNode& node = world.add("c", [](FleetOptions& options) {
        options.basis.ttl_max = seconds(90);
        options.basis.stores = {"sql", "cache"};
    });
    ASSERT_TRUE(world.run_until([&] { return node.is_open; }, seconds(2)));
    EXPECT_EQ(node.permit.ttl_max, seconds(60));
    EXPECT_EQ(world.record().basis.ttl_max, seconds(60));
}

TEST(NextEpoch, takes_safety_and_degrade_and_nothing_else) {
    ResourceSettings wished = of(Safety::strict);
    wished.queue_max = 5;
    const ResourceSettings is = with_next_epoch(nullptr, wished, 8);
    EXPECT_EQ(is.safety, Safety::available);
    EXPECT_EQ(is.queue_max, 5u);
    EXPECT_EQ(is.pending, (PendingSettings{Safety::strict, {}, 9}));
    EXPECT_FALSE(with_next_epoch(&wished, wished, 9).pending);
    // Taken back before it held.
    EXPECT_FALSE(with_next_epoch(&is, of(Safety::available), 8).pending);
}

}  // namespace
}  // namespace latchd::core::authority
