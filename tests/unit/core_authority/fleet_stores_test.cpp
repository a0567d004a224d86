// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_world.hpp"

#include <algorithm>
#include <string_view>

// Which stores the fleet goes to, and in which order: the record says so (design section 5).
namespace latchd::core::authority {
namespace {

void turn_round(FleetOptions& options) {
    std::swap(options.tiers[0], options.tiers[1]);
    std::swap(options.basis.stores[0], options.basis.stores[1]);
}

// Each by its own order the locks would go there and back for as long as the nodes live.
TEST(FleetStores, nodes_of_different_orders_leave_the_locks_where_they_are) {
    FleetWorld world;
    world.add("a");
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    world.add("b", turn_round);
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    const Epoch first = world.record().epoch;
    world.run(seconds(200));
    EXPECT_EQ(world.record().epoch, first) << world.record().placement.reason;
}

TEST(FleetStores, a_node_that_lacks_a_store_moves_nothing) {
    FleetWorld world;
    world.add("a");
    world.add("b");
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    world.add("c", [](FleetOptions& options) {
        options.tiers.erase(options.tiers.begin());
        options.basis.stores = {"sql"};
    });
    const Epoch first = world.record().epoch;
    world.run(seconds(200));
    EXPECT_EQ(world.record().epoch, first) << world.record().placement.reason;
    EXPECT_FALSE(world.node(2).is_open);
}

TEST(FleetStores, where_the_preferred_store_is_lacking_the_locks_do_not_return_to_it) {
    FleetWorld world;
    world.add("a");
    world.add("b");
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    FakeNode& c = world.add("c", [](FleetOptions& options) {
        options.tiers.erase(options.tiers.begin());
        options.basis.stores = {"sql"};
    });
    world.cache().is_up = false;
    ASSERT_TRUE(world.all_serve("mysql", seconds(6)));
    world.restart_cache("redis-2");
    world.run(seconds(100));
    EXPECT_EQ(world.record().placement.store, "sql");
    EXPECT_EQ(c.fleet->status(world.now()).basis.missing, std::vector<std::string>{"cache"});
    EXPECT_TRUE(std::ranges::any_of(c.notices, [](const Notice& notice) {
        return std::string_view(notice.event) == "authority.store_missing";
    }));
    c.is_alive = false;  // and is not known any more after a minute
    EXPECT_TRUE(
        world.run_until([&] { return world.node(0).opened.tier == "redis"; }, seconds(120)));
}

// ---- an operator changes the list --------------------------------------------------------------

void add_spare(FleetOptions& options) { options.tiers.push_back({"spare", "redis", {}}); }

class FleetList : public ::testing::Test {
protected:
    void start(std::function<void(FleetOptions&)> change = {}) {
        for (const char* name : {"a", "b"}) world.add(name, change);
        ASSERT_TRUE(world.all_serve("redis", seconds(2)));
        world.run(seconds(3));
        first = world.record().epoch;
    }
    const Commanded& set(std::vector<std::string> stores, std::size_t node = 0) {
        BasisWanted wish;
        wish.id = ++asked;
        wish.stores = std::move(stores);
        FakeNode& by = world.node(node);
        by.commanded.clear();
        world.tell(by, std::move(wish));
        (void)world.run_until([&] { return !by.commanded.empty(); }, seconds(2));
        return by.commanded.at(0);
    }
    bool is_open_in(Epoch epoch, const std::string& tier) {
        return world.run_until(
            [&] {
                return world.record().epoch == epoch && world.node(0).is_open &&
                       world.node(1).is_open && world.node(0).opened.epoch == epoch &&
                       world.node(0).opened.tier == tier;
            },
            seconds(50));
    }
    FleetWorld world;
    Epoch first = 0;
    std::uint64_t asked = 0;
};

TEST_F(FleetList, another_order_is_one_epoch_and_moves_the_locks_after_the_hold_down) {
    start();
    EXPECT_EQ(world.node(0).permit.preferred, "redis");
    ASSERT_TRUE(set({"sql", "cache"}).done) << world.node(0).commanded[0].text;
    ASSERT_TRUE(is_open_in(first + 1, "redis"));
    EXPECT_EQ(world.record().basis.stores, (std::vector<std::string>{"sql", "cache"}));
    EXPECT_EQ(world.record().placement.reason,
              "operator: stores sql, cache, instead of stores cache, sql");
    EXPECT_FALSE(world.node(1).fleet->status(world.now()).basis.pending);
    ASSERT_TRUE(is_open_in(first + 2, "mysql"));
    EXPECT_EQ(world.record().placement.reason, "sql is healthy again");
    EXPECT_EQ(world.node(1).permit.preferred, "mysql");
    world.run(seconds(200));
    EXPECT_EQ(world.record().epoch, first + 2);
    // A failure moves them down the list, and begins a hold-down.
    world.sql().is_up = false;
    ASSERT_TRUE(world.run_until([&] { return world.node(0).opened.tier == "redis"; }, seconds(6)));
    EXPECT_EQ(world.record().placement.hold_down, seconds(30));
}

TEST_F(FleetList, a_store_that_all_have_is_no_target_before_it_is_in_the_list) {
    start(add_spare);
    world.tell(world.node(0), Command{7, "spare", false, "x"});
    ASSERT_TRUE(world.run_until([&] { return !world.node(0).commanded.empty(); }, seconds(2)));
    EXPECT_EQ(world.node(0).commanded[0].text,
              "spare is not in the fleet's list of stores: LATCHD CLUSTER SET STORES adds it");
    EXPECT_EQ(world.node(0).fleet->status(world.now()).basis.unlisted,
              std::vector<std::string>{"spare"});
    world.cache().is_up = false;
    world.node(0).cut = world.node(1).cut = {"sql"};
    world.run(seconds(10));
    EXPECT_EQ(world.record().epoch, first) << "it went to " << world.record().placement.store;
    world.node(0).cut = world.node(1).cut = {};
    ASSERT_TRUE(world.all_serve("mysql", seconds(12)));
    ASSERT_TRUE(set({"spare", "sql"}).done) << world.node(0).commanded[0].text;
    ASSERT_TRUE(world.all_serve("redis", seconds(80)));
    EXPECT_EQ(world.record().placement.store, "spare");
    world.restart_cache("redis-2");
    world.run(seconds(100));
    EXPECT_EQ(world.record().placement.store, "spare") << "taken out: never gone to";
}

TEST_F(FleetList, with_ttl_max_it_is_one_epoch) {
    start();
    BasisWanted wish{1, seconds(90), {}, std::vector<std::string>{"sql", "cache"}};
    world.tell(world.node(1), std::move(wish));
    ASSERT_TRUE(is_open_in(first + 1, "redis"));
    EXPECT_EQ(world.record().basis.ttl_max, seconds(90));
    EXPECT_EQ(world.record().basis.stores.front(), "sql");
}

TEST_F(FleetList, what_can_not_be_is_refused_by_name_and_with_the_way_out) {
    start(add_spare);
    world.add("c");
    world.run(seconds(3));
    const std::pair<std::vector<std::string>, const char*> cases[] = {
        {{"cache", "sql", "other"},
         "ERR STORES: node a has no shared store named other: it needs it in its configuration, "
         "and a restart, first"},
        {{"cache", "sql", "spare"},
         "ERR STORES: node c has no shared store named spare: it needs it in its configuration, "
         "and a restart, first"},
        {{"sql"},
         "ERR STORES: the locks are in cache: LATCHD FAILOVER to another store has to move them "
         "first"},
        {{"cache"}, "ERR STORES: sql is the arbiter, and stays in the list"},
    };
    for (const auto& [stores, text] : cases) {
        EXPECT_FALSE(set(stores).done);
        EXPECT_EQ(world.node(0).commanded[0].text, text);
    }
    EXPECT_EQ(set({"cache", "sql"}).text, "OK") << "as it is";
    EXPECT_EQ(world.record().epoch, first);
    world.node(2).is_alive = false;
    world.run(seconds(15));  // it is lost
    EXPECT_TRUE(set({"cache", "sql", "spare"}).done) << world.node(0).commanded[0].text;
}

// A FAILOVER that is under way at that moment.
TEST_F(FleetList, a_store_that_is_taken_out_as_the_locks_go_there_is_left_again) {
    start(add_spare);
    ASSERT_TRUE(set({"cache", "sql", "spare"}).done);
    ASSERT_TRUE(is_open_in(first + 1, "redis"));
    BasisChange change;
    change.number = 2;
    change.now = change.next = world.record().basis;
    change.next.stores = {"cache", "sql"};
    change.from = first + 2;
    change.ttl_before = change.delay_before = seconds(60);
    world.node(1).is_paused = true;
    world.tell(world.node(0), Command{7, "spare", false, "x"});
    ASSERT_TRUE(world.run_until([&] { return world.record().epoch == first + 2; }, seconds(1)));
    world.node(1).is_paused = false;
    EXPECT_FALSE(world.arbiter.apply(world.clock_now(), WriteBasis{change, first + 1}).done)
        << "written by what was seen before";
    ASSERT_TRUE(is_open_in(first + 2, "redis"));
    EXPECT_EQ(world.record().placement.store, "spare");
    // Of an arbiter that lost that comparison: it serves, and is left.
    change.from = first + 2;
    ASSERT_TRUE(world.arbiter.apply(world.clock_now(), WriteBasis{change, first + 2}).done);
    world.run(seconds(2));
    EXPECT_TRUE(world.node(0).is_open);
    world.run(seconds(40));
    EXPECT_EQ(world.record().placement.store, "cache");
    EXPECT_EQ(world.record().placement.reason, "spare is not in the fleet's list of stores");
}

// ---- what was there before ---------------------------------------------------------------------

TEST_F(FleetList, while_a_node_of_an_older_version_is_there_each_goes_by_its_own) {
    start();
    NodeRow older = world.arbiter.apply(world.clock_now(), ReadView{}).view.nodes.front();
    older.name = NodeName("old");
    older.incarnation = 7;
    older.protocol = 1;
    older.version = "0.0.9";
    ASSERT_TRUE(world.arbiter.apply(world.clock_now(), Beat{older, {}}).done);
    EXPECT_EQ(set({"sql", "cache"}).text,
              "ERR STORES: node old (0.0.9) goes by its own list of stores: it needs this version "
              "first");
    EXPECT_EQ(world.node(0).permit.preferred, "");
    world.run(seconds(15));
    ASSERT_TRUE(world.arbiter.apply(world.clock_now(), Forget{7}).done);
    world.run(seconds(2));
    EXPECT_EQ(world.node(0).permit.preferred, "redis");
    EXPECT_TRUE(set({"sql", "cache"}).done) << world.node(0).commanded[0].text;
}

TEST(FleetStores, a_record_without_a_list_leaves_each_node_its_own) {
    FleetWorld world;
    for (const char* name : {"a", "b"}) {
        world.add(name, [](FleetOptions& options) { options.basis.stores.clear(); });
    }
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    EXPECT_TRUE(world.record().basis.stores.empty());
    world.cache().is_up = false;
    ASSERT_TRUE(world.all_serve("mysql", seconds(6)));
    world.restart_cache("redis-2");
    EXPECT_TRUE(world.all_serve("redis", seconds(100)));
}

// Every store has another name in every configuration by now.
TEST(FleetStores, a_list_that_nobody_knows_a_store_of_is_not_gone_by_and_can_be_replaced) {
    FleetWorld world;
    for (const char* name : {"a", "b"}) {
        world.add(name, [](FleetOptions& options) { options.basis.stores = {"x", "y"}; });
    }
    ASSERT_TRUE(world.all_serve("redis", seconds(2)));
    world.cache().is_up = false;
    ASSERT_TRUE(world.all_serve("mysql", seconds(6)));
    BasisWanted wish;
    wish.stores = {"sql", "cache"};
    world.tell(world.node(0), std::move(wish));
    world.run(seconds(3));
    EXPECT_EQ(world.record().basis.stores, (std::vector<std::string>{"sql", "cache"}));
}

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
