// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_world.hpp"

#include <ostream>

// Rule 2: what makes a recorded, open epoch unfit, and what doesn't; and what a node may know that
// neither store nor arbiter does.
namespace latchd::core::authority {
namespace {

void begin(FleetWorld& world) {
    for (const char* name : {"a", "b", "c"}) world.add(name);
    ASSERT_TRUE(world.all_serve("redis", seconds(3)));
    world.run(seconds(6));
}

struct Change {
    const char* what;
    void (*change)(FakeTier&);
    bool is_lost;

    friend void PrintTo(const Change& change, std::ostream* out) { *out << change.what; }
};

class FleetsStore : public ::testing::TestWithParam<Change> {};

TEST_P(FleetsStore, ends_its_epoch_only_when_it_lost_its_right) {
    FleetWorld world;
    begin(world);
    const Epoch first = world.record().epoch;
    const std::uint32_t counter = world.cache().marker->counter += 7;
    for (std::size_t i = 0; i < 3; ++i) world.tell(world.node(i), TierCounter{0, counter});
    GetParam().change(world.cache());
    world.run(seconds(4));
    EXPECT_EQ(world.record().epoch > first, GetParam().is_lost);
    EXPECT_TRUE(world.all_serve("redis", seconds(4)));
}

INSTANTIATE_TEST_SUITE_P(
    Fleet,
    FleetsStore,
    ::testing::Values(
        Change{"nothing", [](FakeTier&) {}, false},
        Change{"first_replica_attached", [](FakeTier& t) { t.identity.replid = "other"; }, false},
        Change{"restarted", [](FakeTier& t) { t.identity.run_id = "redis-2"; }, true},
        Change{"replicaof_away_and_back", [](FakeTier& t) { t.identity.replid2 = "x"; }, true},
        Change{"marker_gone", [](FakeTier& t) { t.marker.reset(); }, true},
        Change{"marker_of_another_epoch", [](FakeTier& t) { --t.marker->epoch; }, true},
        Change{
            "marker_with_another_nonce", [](FakeTier& t) { t.marker->nonce = Nonce("x"); }, true},
        Change{"counter_went_back", [](FakeTier& t) { --t.marker->counter; }, true},
        Change{"counter_went_on", [](FakeTier& t) { ++t.marker->counter; }, false}),
    [](const auto& test) { return std::string(test.param.what); });

TEST(Fleet, keeps_a_second_replication_id_that_was_recorded) {
    FleetWorld world;
    world.cache().identity.replid2 = "of-long-ago";
    begin(world);
    const Epoch first = world.record().epoch;
    world.node(0).connected.clear();
    world.run(seconds(3));
    EXPECT_EQ(world.record().epoch, first);
    EXPECT_TRUE(world.node(0).is_open);
}

TEST(Fleet, leaves_a_store_that_became_a_replica) {
    FleetWorld world;
    begin(world);
    world.cache().identity.role = Role::replica;
    for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(world.run_until([&] { return !world.node(i).is_open; }, seconds(2)));
    }
    world.cache().is_up = false;  // as the tier tells it: it leaves such a server
    EXPECT_TRUE(world.all_serve("mysql", seconds(6)));
}

TEST(Fleet, comes_back_to_the_same_epoch_over_a_lost_connection) {
    FleetWorld world;
    begin(world);
    const Epoch first = world.record().epoch;
    world.tell(world.node(0), TierFailed{0, TierFailed::Evidence::failed, false, "reset"});
    EXPECT_FALSE(world.node(0).is_open);
    EXPECT_FALSE(world.node(0).closed_settling);
    EXPECT_TRUE(world.all_serve("redis", seconds(2)));
    EXPECT_EQ(world.record().epoch, first);
}

TEST(Fleet, takes_the_next_epoch_before_the_counter_is_full) {
    FleetWorld world;
    begin(world);
    const Epoch first = world.record().epoch;
    world.cache().marker->counter = counter_full - 1;
    world.tell(world.node(0), TierCounter{0, counter_full - 1});
    world.run(seconds(3));
    EXPECT_EQ(world.record().epoch, first);
    world.cache().marker->counter = counter_full;
    world.tell(world.node(0), TierCounter{0, counter_full});
    ASSERT_TRUE(world.run_until([&] { return world.record().epoch == first + 1; }, seconds(2)));
    EXPECT_NE(world.record().placement.reason.find("counter"), std::string::npos);
}

TEST(Fleet, never_takes_over_a_store_of_another_cluster) {
    FleetWorld world;
    const Marker theirs{ClusterUuid("theirs"), 9, Nonce("n"), "redis-1", 1};
    world.cache().marker = theirs;
    world.known = {ClusterUuid("ours"), 5};
    world.add("a");
    EXPECT_FALSE(world.all_serve("redis", seconds(6)));
    EXPECT_EQ(world.cache().marker, theirs);
}

TEST(Fleet, takes_the_recorded_uuid_over_with_an_alarm) {
    FleetWorld world;
    world.add("a");
    ASSERT_TRUE(world.all_serve("redis", seconds(1)));
    world.known = {ClusterUuid("another"), 5};
    FakeNode& late = world.add("b");
    ASSERT_TRUE(world.run_until([&] { return late.is_open; }, seconds(3)));
    ASSERT_FALSE(late.notices.empty());
    EXPECT_EQ(late.notices[0].level, Notice::Level::error);
    EXPECT_NE(late.notices[0].text.find("another"), std::string::npos);
    EXPECT_EQ(late.saved.uuid, world.record().uuid);
}

TEST(Fleet, needs_an_operator_for_a_state_directory_far_ahead) {
    FleetWorld world;
    world.known = {ClusterUuid("u"), 500'000};
    FakeNode& node = world.add("a");
    EXPECT_FALSE(world.all_serve("redis", seconds(6)));
    EXPECT_NE(node.closed.find("500000"), std::string::npos) << node.closed;
    EXPECT_FALSE(world.arbiter.record().has_value());
}

// Who settles first may have never heard of the last epoch: the store and the record are gone.
TEST(Fleet, raises_a_record_that_is_older_than_what_it_knows) {
    FleetWorld world;
    begin(world);
    const Epoch served = world.record().epoch;
    const Identity identity = world.arbiter.identity;
    world.arbiter = ArbiterTable();
    world.arbiter.identity = identity;
    world.cache().marker.reset();
    ASSERT_TRUE(world.run_until(
        [&] { return world.arbiter.record() && world.record().epoch > served; }, seconds(5)));
    EXPECT_TRUE(world.all_serve("redis", seconds(5)));
}

}  // namespace
}  // namespace latchd::core::authority
