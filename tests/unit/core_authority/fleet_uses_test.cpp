// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_world.hpp"

// Resources that nobody uses any more are retired (rule A10 of the arbiter).
namespace latchd::core::authority {
namespace {

class FleetUses : public ::testing::Test {
protected:
    static constexpr Duration after = seconds(70);  // so a period is 10 s

    void SetUp() override {
        for (const char* name : {"a", "b"}) {
            world.add(name, [](FleetOptions& options) { options.retire_after = after; });
        }
        ASSERT_TRUE(world.all_serve("redis", seconds(2)));
        world.run(seconds(3));
        ASSERT_TRUE(world.set("used", {}, world.record().epoch));
        ASSERT_TRUE(world.set("unused", {}, world.record().epoch));
        world.run(seconds(1));
    }
    bool is_retired(std::size_t node, const char* name) {
        return world.node(node).registry.at(name).retired;
    }
    bool is_retired_on_all(const char* name, Duration limit) {
        return world.run_until([&] { return is_retired(0, name) && is_retired(1, name); }, limit);
    }
    std::uint64_t version() { return world.arbiter.apply({}, ReadView{}).view.registry_version; }

    FleetWorld world;
};

TEST_F(FleetUses, what_no_node_uses_is_retired_on_all_and_nothing_else) {
    world.node(1).used = {ResourceName("used")};
    const Time since = world.now();
    ASSERT_TRUE(is_retired_on_all("unused", after + seconds(30)));
    EXPECT_GE(world.now() - since, after);
    const auto& notices = world.node(0).notices;
    EXPECT_EQ(std::ranges::count(notices, std::string("resource.retired"), &Notice::event), 1);
    world.run(3 * after);
    EXPECT_FALSE(is_retired(0, "used")) << "by the other node";
}

TEST_F(FleetUses, a_use_that_was_not_noted_in_time_takes_it_into_use_again) {
    ASSERT_TRUE(is_retired_on_all("used", after + seconds(30)));
    world.node(1).used = {ResourceName("used")};  // before it heard of that
    const std::uint64_t before = version();
    world.run(seconds(12));  // more than a period, in which it notes what it used
    EXPECT_FALSE(is_retired(0, "used") || is_retired(1, "used"));
    EXPECT_EQ(version(), before + 1);
}

// With long periods: it is not the next note that is due anyway.
TEST(FleetUsesLate, whoever_sees_a_resource_retired_looks_whether_it_uses_it) {
    FleetWorld world;
    FakeNode& node = world.add(
        "a", [](FleetOptions& options) { options.retire_after = std::chrono::hours(7 * 24); });
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    world.run(seconds(3));
    ASSERT_TRUE(world.set("used", {}, world.record().epoch));
    world.run(seconds(1));
    node.used = {ResourceName("used")};
    for (std::uint64_t i = 0; i <= unused_periods_max + 1; ++i) {
        (void)world.arbiter.apply(world.clock_now(), NoteUses{{}, seconds(1)});  // of other nodes
        world.run(seconds(1));
    }
    ASSERT_EQ(world.named, 1u) << "once it is told that nobody uses it";
    EXPECT_FALSE(node.registry.at("used").retired) << "within a read and a call";
}

TEST_F(FleetUses, a_use_is_noted_once_in_a_period) {
    world.node(0).used = {ResourceName("used")};
    world.run(seconds(30));
    world.named = 0;
    world.run(seconds(100));
    EXPECT_GE(world.named, 9u);
    EXPECT_LE(world.named, 11u);
}

TEST_F(FleetUses, many_names_are_noted_in_several_calls) {
    for (std::size_t i = 0; i < claims_per_call_max + 1; ++i) {
        world.node(0).used.emplace_back("r" + std::to_string(i));
    }
    world.named = 0;
    world.run(seconds(2));
    EXPECT_EQ(world.named, claims_per_call_max + 1);
}

TEST_F(FleetUses, what_the_arbiter_did_not_hear_is_noted_later) {
    world.node(0).used = {ResourceName("used")};
    world.node(0).cut.insert("arbiter");
    world.run(seconds(12));
    world.named = 0;
    world.node(0).used.clear();
    world.node(0).cut.clear();
    world.run(seconds(2));
    EXPECT_EQ(world.named, 1u);
}

TEST(FleetUsesOff, a_node_that_retires_nothing_notes_its_uses_all_the_same) {
    FleetWorld world;
    world.add("a", [](FleetOptions& options) { options.retire_after = {}; });
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    ASSERT_TRUE(world.set("used", {}, world.record().epoch));
    world.node(0).used = {ResourceName("used")};
    world.run(seconds(2));
    EXPECT_EQ(world.named, 1u);
    world.run(seconds(60));
    EXPECT_EQ(world.named, 1u) << "once an hour";
}

}  // namespace
}  // namespace latchd::core::authority
