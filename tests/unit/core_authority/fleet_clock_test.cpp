// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_world.hpp"

#include <algorithm>

// Rule 9: what is handed over when the arbiter's clock is ahead of the nodes'.
namespace latchd::core::authority {
namespace {

class FleetClock : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* name : {"a", "b", "c"}) world.add(name);
        ASSERT_TRUE(world.all_serve("redis", seconds(2)));
        world.run(seconds(6));
        first = world.record().epoch;
        const char* const ids[] = {"1", "2", "3"};
        for (std::size_t i = 0; i < 3; ++i) {
            GrantRecord record;
            record.key = {ResourceName("order"), LockId(ids[i])};
            record.holds.push_back({Token(ids[i]), RequestId("r"), {{1, 1}}, {}});
            record.fence = make_fence(first, 1);
            record.version = 1;
            record.left = seconds(20);
            record.ttl = seconds(30);
            world.node(i).claims.records = {record};
        }
    }
    // The clock of the server that is the arbiter, and the second tier.
    void step_arbiter() { world.arbiter_ahead = world.sql().clock_ahead = seconds(2); }
    // How many locks were carried under a fence of the new epoch.
    std::size_t refenced() {
        const bool is_opened =
            world.run_until([&] { return world.record().epoch > first; }, seconds(4)) &&
            world.all_serve("redis", seconds(4));
        EXPECT_TRUE(is_opened);
        EXPECT_EQ(world.record().epoch, first + 1);
        const auto& loaded = world.cache().loaded.records;
        EXPECT_FALSE(loaded.empty());
        return static_cast<std::size_t>(std::ranges::count_if(
            loaded, [this](const GrantRecord& r) { return r.fence != make_fence(first, 1); }));
    }
    FleetWorld world;
    Epoch first = 0;
};

TEST_F(FleetClock, a_step_of_the_arbiter_s_is_told_by_the_other_store_and_changes_no_fence) {
    step_arbiter();
    EXPECT_EQ(refenced(), 0u);
    EXPECT_EQ(world.cache().loaded.records.size(), 3u);
}

TEST_F(FleetClock, where_every_server_is_ahead_the_hosts_may_have_stood_still) {
    step_arbiter();
    world.cache().clock_ahead = seconds(2);
    EXPECT_EQ(refenced(), 3u);
}

TEST_F(FleetClock, who_is_missing_may_have_granted_what_the_others_slept_through) {
    world.node(2).is_paused = true;
    step_arbiter();
    EXPECT_EQ(refenced(), 2u);
}

TEST_F(FleetClock, who_saw_no_step_says_that_the_others_stood_still) {
    step_arbiter();
    world.add("d");
    EXPECT_EQ(refenced(), 3u);
}

// Simulator, seed 1762: one was slow to acknowledge, and by then the opener believed the arbiter's
// clock again, which had passed the ends of these locks in one step. The lock is held, and nobody
// else hands it over.
TEST_F(FleetClock, a_step_of_the_arbiter_s_ends_no_lock_of_a_leaver) {
    FakeNode& leaver = world.node(2);
    world.tell(leaver, LeaveWanted{leaver.claims});
    world.run(milliseconds(100));
    ASSERT_TRUE(leaver.is_handed_over);
    leaver.is_alive = false;
    world.arbiter_ahead = world.sql().clock_ahead = seconds(25);
    ASSERT_TRUE(world.run_until([&] { return world.record().epoch > first; }, seconds(4)));
    world.node(1).is_paused = true;
    world.run(milliseconds(700));
    ASSERT_EQ(world.record().placement.state, RecordState::settling);
    world.node(1).is_paused = false;
    ASSERT_TRUE(world.all_serve("redis", seconds(4)));
    const auto& loaded = world.cache().loaded.records;
    ASSERT_EQ(loaded.size(), 3u);
    EXPECT_EQ(loaded[2].key.id, LockId("3"));
    EXPECT_GT(loaded[2].fence, make_fence(first + 1, 0)) << "it may have ended, and a later one";
}

// Simulator, seed 2152: a node that started meanwhile took the clock as it was, and granted what
// another had. The reads are 500 ms apart.
TEST(FleetClockAlone, a_step_of_redis_about_itself_is_an_epoch_at_once) {
    FleetWorld world;
    world.arbiter.identity = world.cache().identity;
    for (const char* name : {"a", "b"}) {
        world.add(name, [](FleetOptions& options) {
            options.tiers = {{"cache", "redis", {}, true}, {"sql", "mysql", {}}};
            options.outlives = false;
        });
    }
    world.sql().is_up = false;
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    world.run(seconds(3));
    const Epoch first = world.record().epoch;
    world.arbiter_ahead = world.cache().clock_ahead = seconds(3);
    EXPECT_TRUE(world.run_until([&] { return world.record().epoch > first; }, milliseconds(620)));
}

}  // namespace
}  // namespace latchd::core::authority
