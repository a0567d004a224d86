// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_world.hpp"

// Without the arbiter, and what a node keeps for that: rules 1 and 9.
namespace latchd::core::authority {
namespace {

class FleetAlone : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* name : {"a", "b"}) {
            world.add(name, [](FleetOptions& options) { options.available_max = seconds(30); });
        }
        ASSERT_TRUE(world.all_serve("redis", seconds(2)));
        world.run(seconds(6));
        first = world.record().epoch;
    }
    FakeNode& restart(std::size_t former, std::function<void(FleetOptions&)> change = {}) {
        FakeNode& node = world.node(former);
        node.is_alive = false;
        world.known = {world.record().uuid, world.record().epoch};
        return world.add(node.name, [&](FleetOptions& options) {
            options.former = 100 + former;
            options.has_journal = true;
            options.kept_record = node.kept;
            options.arbiter_clock = node.offset;
            options.available_max = seconds(30);
            if (change) change(options);
        });
    }
    [[nodiscard]] bool may_grant(const FakeNode& node) const {
        return node.is_open && world.now() < node.permit.available_until;
    }
    FleetWorld world;
    Epoch first = 0;
};

TEST_F(FleetAlone, a_node_that_starts_goes_by_the_record_that_it_kept) {
    world.arbiter_is_up = false;
    FakeNode& node = restart(0);
    ASSERT_TRUE(world.run_until([&] { return node.is_open; }, seconds(4)));
    EXPECT_EQ(node.opened.epoch, first);
    EXPECT_FALSE(node.opened.carried);
    EXPECT_FALSE(node.permit.is_confirmed);
    EXPECT_LT(node.permit.strict_until, world.now());
    EXPECT_TRUE(may_grant(node));
    // It registers with the arbiter once that is back, and nothing is disturbed.
    world.arbiter_is_up = true;
    EXPECT_TRUE(world.run_until([&] { return node.permit.is_confirmed; }, seconds(3)));
    EXPECT_TRUE(node.is_open);
    EXPECT_EQ(node.epochs.size(), 2u) << "again, once the clocks are known";
    EXPECT_EQ(world.record().epoch, first);
}

TEST_F(FleetAlone, such_a_node_goes_on_for_available_max_only) {
    world.arbiter_is_up = false;
    FakeNode& node = restart(0);
    world.node(1).is_alive = false;
    ASSERT_TRUE(world.run_until([&] { return node.is_open; }, seconds(4)));
    world.run(seconds(30));
    EXPECT_FALSE(may_grant(node));
}

TEST_F(FleetAlone, a_kept_record_counts_only_if_the_marker_says_the_same) {
    world.arbiter_is_up = false;
    world.cache().marker->nonce = Nonce("another");
    FakeNode& node = restart(0);
    world.run(seconds(10));
    EXPECT_FALSE(node.is_open);
    EXPECT_NE(node.closed.find("arbiter sql unreachable"), std::string::npos) << node.closed;
}

TEST_F(FleetAlone, a_kept_record_of_another_process_is_none) {
    world.arbiter_is_up = false;
    world.cache().identity.run_id = "redis-2";
    FakeNode& node = restart(0);
    world.run(seconds(10));
    EXPECT_FALSE(node.is_open);
}

TEST_F(FleetAlone, what_the_arbiter_says_later_overrules_the_kept_record) {
    const auto kept = world.node(0).kept;
    world.tell(world.node(1), Command{1, "sql", false, "x"});
    ASSERT_TRUE(world.all_serve("mysql", seconds(3)));
    // A Redis that nobody could reach when its epoch ended.
    world.cache().marker = Marker{kept->uuid, first, kept->placement.nonce, "redis-1", 1};
    world.arbiter_is_up = false;
    FakeNode& node = restart(0, [&](FleetOptions& options) { options.kept_record = kept; });
    world.run(seconds(5));
    EXPECT_FALSE(node.is_open) << "its state directory has seen a later epoch";
}

TEST_F(FleetAlone, goes_on_while_every_node_says_that_it_has_lost_the_arbiter) {
    world.arbiter_is_up = false;
    world.run(seconds(120));
    EXPECT_TRUE(may_grant(world.node(0)));
    EXPECT_TRUE(may_grant(world.node(1)));
    EXPECT_FALSE(world.node(0).permit.is_confirmed);
    // One that says nothing may have moved the fleet.
    world.node(1).is_alive = false;
    world.run(seconds(10));
    EXPECT_TRUE(may_grant(world.node(0)));
    world.run(seconds(15));
    EXPECT_FALSE(may_grant(world.node(0)));
}

TEST_F(FleetAlone, a_node_that_alone_lost_the_arbiter_stops_after_available_max) {
    world.node(0).cut.insert("arbiter");
    world.run(seconds(29));
    EXPECT_TRUE(may_grant(world.node(0)));
    world.run(seconds(4));
    EXPECT_FALSE(may_grant(world.node(0)));
    EXPECT_TRUE(world.node(1).permit.is_confirmed);
}

// ---- the arbiter's clock -----------------------------------------------------------------------

TEST_F(FleetAlone, strict_waits_for_three_readings_of_the_arbiter_s_clock) {
    FakeNode& node = restart(0, [](FleetOptions& options) { options.arbiter_clock.reset(); });
    ASSERT_TRUE(world.run_until([&] { return node.is_open; }, seconds(2)));
    world.run(milliseconds(700));
    EXPECT_FALSE(node.permit.strict_fresh);
    EXPECT_TRUE(world.run_until([&] { return node.permit.strict_fresh; }, seconds(1)));
    EXPECT_TRUE(node.offset.has_value());
}

TEST_F(FleetAlone, a_kept_offset_that_agrees_saves_two_of_them) {
    ASSERT_TRUE(world.node(0).offset.has_value());
    FakeNode& node = restart(0);
    EXPECT_TRUE(world.run_until([&] { return node.is_open && node.permit.strict_fresh; },
                                milliseconds(300)));
}

TEST_F(FleetAlone, a_kept_offset_that_is_stale_is_no_evidence) {
    FakeNode& node =
        restart(0, [](FleetOptions& options) { *options.arbiter_clock -= seconds(5); });
    ASSERT_TRUE(world.run_until([&] { return node.is_open; }, seconds(2)));
    world.run(milliseconds(500));
    EXPECT_FALSE(node.permit.strict_fresh);
    EXPECT_TRUE(world.run_until([&] { return node.permit.strict_fresh; }, seconds(2)));
    world.run(seconds(5));
    EXPECT_EQ(world.record().epoch, first);
}

}  // namespace
}  // namespace latchd::core::authority
