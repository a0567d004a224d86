// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_world.hpp"

#include <algorithm>
#include <string_view>

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

TEST_F(FleetBasis, why_the_fleet_left_its_store_stays_told) {
    const std::string why = "; in sql because cache fails: no connection";
    world.cache().is_up = false;
    ASSERT_TRUE(is_open_in(first + 1));
    EXPECT_EQ(world.record().placement.reason, "cache fails: no connection");
    for (const char* name : {"pay", "bill"}) {
        const Epoch epoch = world.record().epoch;
        ASSERT_TRUE(world.set(name, of(Safety::strict), epoch));
        ASSERT_TRUE(is_open_in(epoch + 1));
        EXPECT_EQ(world.record().placement.reason,
                  "SAFETY or DEGRADE of resource " + std::string(name) + " changes" + why);
    }
    world.cache().is_up = true;
    ASSERT_TRUE(world.all_serve("redis", seconds(80)));
    EXPECT_EQ(world.record().placement.reason, "cache is healthy again");
}

TEST_F(FleetBasis, who_waits_for_an_epoch_is_told_what_is_wrong_with_the_arbiter) {
    world.load_takes = seconds(3);
    world.cache().is_up = false;
    const FakeNode& node = world.node(0);
    ASSERT_TRUE(world.run_until([&] { return node.closed_settling; }, seconds(4)));
    ASSERT_TRUE(
        world.run_until([&] { return node.closed.starts_with("settling epoch "); }, seconds(4)));
    const std::string before = node.closed;
    world.arbiter_is_up = false;
    world.run(seconds(2));
    EXPECT_EQ(node.closed, before + "; the arbiter: no connection");
    EXPECT_TRUE(node.closed_settling);
    world.arbiter_is_up = true;
    EXPECT_TRUE(world.run_until([&] { return node.closed == before; }, seconds(2))) << node.closed;
    EXPECT_TRUE(world.all_serve("mysql", seconds(20)));
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
    EXPECT_EQ(node.permit.limits->ttl_max, seconds(60));
    EXPECT_EQ(world.record().basis.ttl_max, seconds(60));
}

// ---- ttl_max and delay_max ---------------------------------------------------------------------

class FleetLimits : public FleetBasis {
protected:
    // LATCHD CLUSTER SET TTLMAX.
    void want(std::size_t node, Duration ttl_max) {
        world.tell(world.node(node), BasisWanted{++asked, ttl_max, {}});
    }
    bool is_answered(std::size_t node) {
        return world.run_until([&] { return world.node(node).commanded.size() == 1; }, seconds(2));
    }
    const LeaseLimits& limits(std::size_t node) { return *world.node(node).permit.limits; }
    std::uint64_t asked = 0;
};

TEST_F(FleetLimits, a_smaller_ttl_max_is_granted_at_once_and_the_larger_is_waited_out) {
    want(0, seconds(20));
    ASSERT_TRUE(is_answered(0));
    EXPECT_TRUE(world.node(0).commanded[0].done) << world.node(0).commanded[0].text;
    EXPECT_EQ(limits(0).ttl_max, seconds(20)) << "less is granted before the epoch";
    EXPECT_EQ(limits(0).ttl_longest, seconds(60));
    ASSERT_TRUE(is_open_in(first + 1));
    EXPECT_EQ(world.record().basis.ttl_max, seconds(20));
    EXPECT_EQ(world.record().basis.delay_max, seconds(60));
    EXPECT_EQ(world.record().placement.reason,
              "operator: ttl_max 20000 ms, delay_max 60000 ms, instead of ttl_max 60000 ms, "
              "delay_max 60000 ms");
    for (std::size_t i : {0, 1}) {
        EXPECT_EQ(limits(i).ttl_max, seconds(20));
        EXPECT_EQ(limits(i).ttl_longest, seconds(60)) << "a node that is cut off grants by the old";
    }
    // available_max and the former ttl_max: 90 s.
    world.run(seconds(80));
    EXPECT_EQ(limits(1).ttl_longest, seconds(60));
    auto status = world.node(1).fleet->status(world.now()).basis;
    ASSERT_TRUE(status.pending && status.promised_in);
    EXPECT_EQ(status.pending->from, first + 1);
    EXPECT_GT(*status.promised_in, Duration::zero());
    EXPECT_LE(*status.promised_in, seconds(11));
    world.run(seconds(15));
    EXPECT_EQ(limits(1).ttl_longest, seconds(20));
    status = world.node(1).fleet->status(world.now()).basis;
    EXPECT_FALSE(status.pending);
    EXPECT_EQ(world.record().epoch, first + 1);
}

TEST_F(FleetLimits, a_larger_ttl_max_is_granted_only_in_its_epoch) {
    world.node(1).is_paused = true;  // it will not acknowledge
    want(0, seconds(90));
    ASSERT_TRUE(is_answered(0));
    EXPECT_EQ(limits(0).ttl_max, seconds(60));
    EXPECT_EQ(limits(0).ttl_longest, seconds(90));
    EXPECT_TRUE(world.node(0).fleet->status(world.now()).basis.pending);
    ASSERT_TRUE(
        world.run_until([&] { return world.node(0).opened.epoch == first + 1; }, seconds(4)));
    EXPECT_EQ(limits(0).ttl_max, seconds(90));
    EXPECT_FALSE(world.node(0).fleet->status(world.now()).basis.pending)
        << "nothing was promised that could be broken yet";
}

TEST_F(FleetLimits, what_a_former_store_holds_is_carried_for_what_it_was_granted) {
    GrantRecord record;
    record.key = {ResourceName("r"), LockId("1")};
    record.holds.resize(1);
    record.fence = 7;
    record.version = 1;
    record.left = record.ttl = seconds(50);
    world.cache().loaded.records.push_back(record);  // granted by a process that is gone
    want(0, seconds(5));
    ASSERT_TRUE(is_open_in(first + 1));
    ASSERT_EQ(world.cache().loaded.records.size(), 1u);
    EXPECT_GT(world.cache().loaded.records[0].left, seconds(45));
}

TEST_F(FleetLimits, a_change_on_a_change_waits_out_what_the_first_one_had_to) {
    want(0, seconds(20));
    ASSERT_TRUE(is_open_in(first + 1));
    want(0, seconds(10));
    ASSERT_TRUE(is_open_in(first + 2));
    EXPECT_EQ(limits(1).ttl_max, seconds(10));
    EXPECT_EQ(limits(1).ttl_longest, seconds(60));
}

TEST_F(FleetLimits, what_is_taken_back_before_it_held_begins_no_epoch) {
    BasisChange change;
    change.number = 1;
    change.now = change.next = world.record().basis;
    change.next.ttl_max = seconds(20);
    change.from = first + 1;
    change.ttl_before = change.delay_before = seconds(60);
    // No epoch can begin: this node does not reach the store, the other one does not vote.
    world.node(0).is_paused = true;
    world.node(1).cut = {"cache"};
    world.run(seconds(2));
    ASSERT_TRUE(world.arbiter.apply(world.clock_now(), WriteBasis{change, first}).done);
    world.run(seconds(1));
    want(1, seconds(60));
    ASSERT_TRUE(is_answered(1));
    EXPECT_TRUE(world.node(1).commanded[0].done) << world.node(1).commanded[0].text;
    world.node(0).is_paused = false;
    world.node(1).cut = {};
    ASSERT_TRUE(world.all_serve("redis", seconds(4)));
    world.run(seconds(2));
    EXPECT_EQ(world.record().epoch, first);
    for (std::size_t i : {0, 1}) EXPECT_EQ(limits(i).ttl_max, seconds(60));
}

TEST_F(FleetLimits, two_who_change_it_at_once_are_both_heard) {
    want(0, seconds(20));
    world.tell(world.node(1), BasisWanted{9, {}, seconds(5)});
    ASSERT_TRUE(is_answered(0));
    ASSERT_TRUE(is_answered(1));
    world.run(seconds(6));
    EXPECT_EQ(world.record().basis.ttl_max, seconds(20));
    EXPECT_EQ(world.record().basis.delay_max, seconds(5));
    EXPECT_LE(world.record().epoch, first + 2);
}

TEST_F(FleetLimits, without_the_arbiter_nothing_is_changed_and_that_is_said) {
    world.arbiter_is_up = false;
    want(0, seconds(20));
    EXPECT_TRUE(world.node(0).commanded.empty());
    ASSERT_TRUE(is_answered(0));
    EXPECT_FALSE(world.node(0).commanded[0].done);
    EXPECT_EQ(world.node(0).commanded[0].text, "no connection; nothing was changed");
    EXPECT_EQ(limits(0).ttl_max, seconds(60));
}

TEST_F(FleetLimits, an_arbiter_that_lost_its_record_is_given_the_one_that_was_agreed_on) {
    want(0, seconds(20));
    ASSERT_TRUE(is_open_in(first + 1));
    const Identity identity = world.arbiter.identity;
    world.arbiter = {};
    world.arbiter.identity = identity;
    ASSERT_TRUE(world.run_until(
        [&] { return world.arbiter.record() && world.record().epoch > first + 1; }, seconds(5)));
    EXPECT_EQ(world.record().basis.ttl_max, seconds(20));
    EXPECT_GE(world.record().placement.strict_wait, seconds(120))
        << "somebody may not have heard of it";
}

TEST_F(FleetLimits, a_node_shows_once_each_time_that_its_configuration_says_otherwise) {
    const auto told = [&] {
        return std::ranges::count_if(world.node(0).notices, [](const Notice& notice) {
            return std::string_view(notice.event) == "authority.basis_differs";
        });
    };
    EXPECT_EQ(told(), 0);
    want(0, seconds(20));
    ASSERT_TRUE(is_open_in(first + 1));
    EXPECT_EQ(told(), 1);
    world.tell(world.node(0), Command{1, "sql", false, "x"});
    ASSERT_TRUE(is_open_in(first + 2));
    EXPECT_EQ(told(), 1);
    EXPECT_EQ(world.node(0).fleet->status(world.now()).basis.configured.ttl_max, seconds(60));
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
