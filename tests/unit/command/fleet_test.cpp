// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Commands of a node that belongs to a fleet.
#include "fake_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace latchd::command {
namespace {

namespace authority = core::authority;
using testing::HasSubstr;
using testing::Not;

authority::NodeRow row(const char* name, authority::Incarnation incarnation) {
    authority::NodeRow node;
    node.name = NodeName(name);
    node.incarnation = incarnation;
    node.acked = node.seen_open = 6;
    node.version = "0.1.0";
    node.config_hash = "c0";
    return node;
}

authority::TierSight failing(const char* store) {
    authority::TierSight sight;
    sight.store = store;
    sight.state = authority::TierSight::State::failing;
    sight.reason = "connection refused";
    return sight;
}

// Two nodes, Redis lost, locks in MySQL.
FleetView moved() {
    FleetView view;
    view.status.mode = authority::FleetStatus::Mode::serving;
    auto& record = view.status.record.emplace();
    record.epoch = 6;
    record.placement.store = "mysql";
    record.placement.tier = "mysql";
    record.placement.state = authority::RecordState::open;
    record.placement.reason = "2 of 2 nodes see redis failing";
    view.status.nodes = {row("a", 0x1234), row("b", 0xffffffffffffffff)};
    view.status.nodes[0].sights = {failing("redis")};
    view.status.lost = {0xffffffffffffffff};
    view.status.sights = {failing("redis")};
    view.status.is_confirmed = true;
    view.status.arbiter_reached = true;
    view.status.view_left = std::chrono::seconds(9);
    view.incarnation = 0x1234;
    view.arbiter.name = "mysql";
    view.failovers = 1;
    view.last_failover_from = "redis";
    view.differing = {"order:settle"};
    return view;
}

class FleetCommands : public testing::Test, public Fixture {
protected:
    FleetCommands() : Fixture(strict_options()), client(connect()) {
        host.fleet_view = moved();
        for (const char* name : {"redis", "mysql", "local"}) {
            StoreStatus store;
            store.name = store.type = name;
            store.state = "up";
            host.store_list.push_back(std::move(store));
        }
    }
    static Options strict_options() {
        Options options;
        options.strict_refusal.clear();
        return options;
    }
    std::string finish(Asked&& asked, FleetAnswer answer) {
        std::string reply;
        dispatcher.finish(client, asked.pending, answer, reply);
        return reply;
    }
    ClientState& client;
};

TEST_F(FleetCommands, status_tells_where_the_fleet_is_and_why) {
    const std::string text = ask(client, {"LATCHD", "STATUS"});
    for (const char* part : {"*64\r\n",
                             "mode\r\n$7\r\nserving\r\n",
                             "epoch_reason\r\n$30\r\n2 of 2 nodes see redis failing\r\n",
                             "arbiter\r\n$5\r\nmysql\r\n",
                             "arbiter_state\r\n$7\r\nreached\r\n",
                             "confirmed\r\n:1\r\n",
                             "view_left_ms\r\n:9000\r\n",
                             "nodes_lost\r\n:1\r\n",
                             "failovers\r\n:1\r\n"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
    host.fleet_view.reset();
    EXPECT_THAT(ask(client, {"LATCHD", "STATUS"}), HasSubstr("*38\r\n"));
}

TEST_F(FleetCommands, nodes_are_shown_with_what_they_see) {
    const std::string text = ask(client, {"LATCHD", "NODES"});
    for (const char* part : {"*2\r\n*28\r\n",
                             "$16\r\n0000000000001234\r\n$4\r\nself\r\n:1\r\n",
                             "state\r\n$5\r\nalive\r\n",
                             "sees\r\n$33\r\nredis=failing(connection refused)\r\n",
                             "$16\r\nffffffffffffffff\r\n$4\r\nself\r\n:0\r\n",
                             "state\r\n$4\r\nlost\r\n"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
    host.fleet_view.reset();
    EXPECT_EQ(ask(client, {"LATCHD", "NODES"}), "*0\r\n");
}

TEST_F(FleetCommands, nodes_are_shown_with_what_is_waited_for) {
    authority::FleetStatus& status = host.fleet_view->status;
    authority::Placement& placement = status.record->placement;
    placement.since_epoch = 6;
    const auto pending = [&] {
        const std::string text = ask(client, {"LATCHD", "NODES"});
        const std::string after = text.substr(text.find("pending\r\n$") + 10);
        const std::size_t begin = after.find("\r\n") + 2;
        return after.substr(begin, after.find("\r\n", begin) - begin);
    };
    EXPECT_EQ(pending(), "-");
    status.nodes[0].seen_open = 5;
    EXPECT_EQ(pending(), "vote in epoch 6");
    placement.missing = {0x1234};
    EXPECT_EQ(pending(), "to put back what it kept, in epoch 6");
    status.nodes[0].former = 0x77;
    placement.missing = {0x77};
    EXPECT_EQ(pending(), "to put back what it kept, in epoch 6") << "its former self";
    status.nodes[0].acked = 5;
    EXPECT_EQ(pending(), "hand-over for epoch 6");
    placement.state = authority::RecordState::settling;
    EXPECT_EQ(pending(), "hand-over for epoch 6");
    status.nodes[0].acked = 6;
    EXPECT_EQ(pending(), "-");
}

TEST_F(FleetCommands, failover_asks_the_authority_and_tells_its_answer) {
    Disposition asked = run(client, {"LATCHD", "FAILOVER", "mysql"});
    ASSERT_EQ(asked.kind, Disposition::Kind::asked);
    EXPECT_EQ(std::get<FleetMove>(asked.asked->wish).store, "mysql");
    EXPECT_EQ(client.unanswered, 1u);
    EXPECT_EQ(finish(std::move(*asked.asked), {true, "epoch 7 begins"}), "+epoch 7 begins\r\n");
    EXPECT_EQ(client.unanswered, 0u);
    Disposition back = run(client, {"LATCHD", "FAILBACK"});
    ASSERT_EQ(back.kind, Disposition::Kind::asked);
    EXPECT_TRUE(std::get<FleetMove>(back.asked->wish).back);
    EXPECT_EQ(finish(std::move(*back.asked), {false, "ERR it is there"}), "-ERR it is there\r\n");
    EXPECT_EQ(host.notices.size(), 2u);
    EXPECT_EQ(run(client, {"LATCHD", "FAILOVER"}).kind, Disposition::Kind::asked);
    for (const char* store : {"nosuch", "local"}) {
        EXPECT_THAT(ask(client, {"LATCHD", "FAILOVER", store}), HasSubstr("-ERR no store that"));
    }
    host.fleet_view.reset();
    EXPECT_THAT(ask(client, {"LATCHD", "FAILOVER"}), HasSubstr("-ERR the locks of this node are"));
    EXPECT_THAT(ask(client, {"LATCHD", "FAILBACK"}), HasSubstr("-ERR the locks of this node are"));
}

TEST_F(FleetCommands, resources_are_written_through_the_arbiter) {
    Disposition set =
        run(client, {"RESOURCE", "SET", "r", "TTL", "5000", "SAFETY", "strict", "QUEUE", "7"});
    ASSERT_EQ(set.kind, Disposition::Kind::asked) << out;
    const auto& write = std::get<authority::WriteResource>(set.asked->wish);
    EXPECT_EQ(write.name, ResourceName("r"));
    EXPECT_EQ(write.settings->safety, core::Safety::strict);
    EXPECT_EQ(host.resources.find("r"), nullptr);
    EXPECT_EQ(finish(std::move(*set.asked), {true, "OK"}), "+OK\r\n");
    EXPECT_EQ(ask(client, {"RESOURCE", "DEL", "r"}), ":0\r\n");
    host.resources.set(ResourceName("r"), {});
    EXPECT_THAT(ask(client, {"RESOURCE", "GET", "r"}), HasSubstr("scope\r\n$5\r\nfleet\r\n"));
    Disposition del = run(client, {"RESOURCE", "DEL", "r"});
    ASSERT_EQ(del.kind, Disposition::Kind::asked);
    EXPECT_EQ(std::get<authority::WriteResource>(del.asked->wish).settings, std::nullopt);
    EXPECT_EQ(finish(std::move(*del.asked), {true, "OK"}), ":1\r\n");
    EXPECT_THAT(ask(client, {"RESOURCE", "SET", "r", "SAFETY", "strict", "DEGRADE", "local"}),
                HasSubstr("-ERR a strict resource is never locked on one host alone"));
}

TEST_F(FleetCommands, refuse_more_resources_than_every_node_may_read_again) {
    for (int i = 0; i < 10'000; ++i) host.resources.set(ResourceName(std::to_string(i)), {});
    EXPECT_EQ(ask(client, {"RESOURCE", "SET", "r"}),
              "-LIMIT 10000 resources are registered; RESOURCE DEL one first\r\n");
    EXPECT_EQ(run(client, {"RESOURCE", "SET", "7", "TTL", "5000"}).kind, Disposition::Kind::asked);
}

TEST_F(FleetCommands, leave_out_their_reply_when_it_is_not_wanted) {
    EXPECT_EQ(ask(client, {"CLIENT", "REPLY", "SKIP"}), "");
    Disposition asked = run(client, {"LATCHD", "FAILBACK"});
    EXPECT_EQ(finish(std::move(*asked.asked), {true, "epoch 7 begins"}), "");
}

TEST_F(FleetCommands, info_has_sections_of_the_authority_and_the_fleet) {
    const std::string text = ask(client, {"INFO"});
    for (const char* part : {"\r\nlatchd_failovers:1\r\n",
                             "\r\nlatchd_last_failover_from:redis\r\n",
                             "\r\nlatchd_config_differs:1\r\n",
                             "\r\n# Authority\r\nauthority_mode:serving\r\n",
                             "\r\nauthority_epoch:6\r\nauthority_state:open\r\n",
                             "\r\n# Fleet\r\nnodes:2\r\nnodes_lost:1\r\nnode0:name=a,",
                             ",state=lost,acked=6,"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
    host.fleet_view.reset();
    EXPECT_THAT(ask(client, {"INFO"}), Not(HasSubstr("# Authority")));
}

TEST_F(FleetCommands, doctor_lists_what_is_not_as_it_should_be) {
    host.node.state = "degraded";
    host.node.reason = "locks are in mysql";
    host.store_list[0].state = "down";
    host.store_list[0].last_error = "connection refused";
    std::string text = ask(client, {"LATCHD", "DOCTOR"});
    for (const char* part : {"degraded: locks are in mysql",
                             "store redis is down: connection refused",
                             "this node sees store redis failing",
                             "about order:settle; the registry counts",
                             "node b (ffffffffffffffff) is lost"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
    EXPECT_THAT(text, Not(HasSubstr("the same server")));
    host.fleet_view->status.lost.clear();
    for (authority::NodeRow& row : host.fleet_view->status.nodes) {
        row.sights = {failing("redis")};
        row.sights[0].state = authority::TierSight::State::healthy;
        row.sights[0].run_id = row.name.str();
    }
    EXPECT_THAT(ask(client, {"LATCHD", "DOCTOR"}),
                HasSubstr("not all nodes reach the same server as store redis"));
    host.fleet_view.reset();
    host.node = {};
    host.store_list[0].state = "up";
    EXPECT_THAT(ask(client, {"LATCHD", "DOCTOR"}), HasSubstr("nothing to complain about"));
}

TEST_F(FleetCommands, a_warning_of_a_store_is_one_finding) {
    host.fleet_view.reset();
    host.node = {};
    host.node.store_warning = host.store_list[0].warning = "it evicts";
    host.node.warnings = "no journal";
    host.store_list[0].state = "up";
    EXPECT_EQ(ask(client, {"LATCHD", "DOCTOR"}),
              "*2\r\n$10\r\nno journal\r\n$22\r\nstore redis: it evicts\r\n");
    EXPECT_THAT(ask(client, {"LATCHD", "STATUS"}), HasSubstr("it evicts; no journal"));
    EXPECT_THAT(ask(client, {"INFO"}), HasSubstr("latchd_warnings:it evicts; no journal\r\n"));
}

TEST_F(FleetCommands, changes_are_told_to_all_subscribers_of_events_once) {
    ClientState& plain = connect();
    ClientState& pattern = connect();
    (void)ask(plain, {"SUBSCRIBE", "latchd:events:r", "other"});
    (void)ask(pattern, {"PSUBSCRIBE", "latchd:events:*"});
    dispatcher.publish(authority::Changed{6, authority::RecordState::open, "mysql", "redis fails"});
    ASSERT_EQ(host.pushed.size(), 2u);
    EXPECT_EQ(host.pushed[0].first, plain.id);
    EXPECT_THAT(host.pushed[0].second,
                HasSubstr("failover - epoch=6 state=open tier=mysql redis fails"));
    EXPECT_EQ(host.pushed[1].first, pattern.id);
    EXPECT_THAT(host.pushed[1].second, HasSubstr("latchd:events:_all"));
}

TEST_F(FleetCommands, time_commands_that_are_answered_at_once_by_the_clock) {
    (void)ask(client, {"PING"});
    EXPECT_THAT(ask(client, {"INFO", "commandstats"}),
                HasSubstr("cmdstat_ping:calls=1,usec=3,usec_per_call=3.00"));
}

// ---- what safety rests on ----------------------------------------------------------------------

TEST_F(FleetCommands, cluster_shows_what_was_agreed_on_and_what_is_pending) {
    authority::FleetStatus& status = host.fleet_view->status;
    status.record->basis.stores = {"redis", "mysql"};
    const std::string text = ask(client, {"LATCHD", "CLUSTER"});
    for (const char* part : {"*28\r\n",
                             "ttl_max_ms\r\n:60000\r\n",
                             "stores\r\n$12\r\nredis, mysql\r\n",
                             "granted_ttl_max_ms\r\n:60000\r\n",
                             "pending\r\n$1\r\n-\r\n",
                             "pending_epoch\r\n:0\r\n"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
    authority::BasisChange change;
    change.number = 1;
    change.from = 7;
    change.next.ttl_max = std::chrono::seconds(20);
    status.basis.pending = change;
    status.basis.limits.ttl_max = std::chrono::seconds(20);
    EXPECT_THAT(ask(client, {"LATCHD", "CLUSTER"}),
                HasSubstr("ttl_max 20000 ms, delay_max 60000 ms, from epoch 7\r\n"));
    status.basis.pending->next.stores = {"mysql"};
    EXPECT_THAT(ask(client, {"LATCHD", "CLUSTER"}),
                HasSubstr("delay_max 60000 ms, stores mysql, from epoch 7\r\n"));
    status.basis.pending->next.stores.clear();
    EXPECT_THAT(ask(client, {"LATCHD", "STATUS"}), HasSubstr("from epoch 7\r\n"));
    status.basis.promised_in = std::chrono::seconds(9);
    const std::string held = ask(client, {"LATCHD", "CLUSTER"});
    EXPECT_THAT(held, HasSubstr("from epoch 7, promised in 9000 ms\r\n"));
    EXPECT_THAT(held, HasSubstr("promised_in_ms\r\n:9000\r\n"));
    EXPECT_THAT(held, HasSubstr("granted_ttl_max_ms\r\n:20000\r\n"));
}

TEST_F(FleetCommands, cluster_set_asks_the_fleet) {
    const Disposition set =
        run(client,
            {"LATCHD", "CLUSTER", "SET", "TTLMAX", "20000", "delaymax", "90000", "STORES", "a,b"});
    ASSERT_EQ(set.kind, Disposition::Kind::asked) << out;
    const auto& wish = std::get<authority::BasisWanted>(set.asked->wish);
    EXPECT_EQ(wish.ttl_max, std::chrono::seconds(20));
    EXPECT_EQ(wish.delay_max, std::chrono::seconds(90));
    EXPECT_EQ(wish.stores, (std::vector<std::string>{"a", "b"}));
    ASSERT_FALSE(host.notices.empty());
    EXPECT_THAT(host.notices.back().text,
                HasSubstr("LATCHD CLUSTER SET TTLMAX 20000 DELAYMAX 90000 STORES a, b by "));
}

TEST_F(FleetCommands, cluster_set_names_what_is_wrong) {
    core::ResourceSettings settings;
    settings.ttl = std::chrono::seconds(30);
    settings.delay = std::chrono::seconds(5);
    host.resources.set(ResourceName("pay"), settings);
    settings = {};
    settings.safety = core::Safety::strict;
    host.resources.set(ResourceName("vault"), settings);
    const std::pair<std::vector<std::string_view>, const char*> cases[] = {
        {{"LATCHD", "CLUSTER", "GET"}, "-ERR LATCHD CLUSTER 'GET': SET is needed, or nothing\r\n"},
        {{"LATCHD", "CLUSTER", "SET"},
         "-ERR LATCHD CLUSTER SET: TTLMAX, DELAYMAX or STORES is needed\r\n"},
        {{"LATCHD", "CLUSTER", "SET", "STORES", "a,"},
         "-ERR STORES 'a,': names are needed, with commas between them\r\n"},
        {{"LATCHD", "CLUSTER", "SET", "STORES", ""},
         "-ERR STORES '': names are needed, with commas between them\r\n"},
        {{"LATCHD", "CLUSTER", "SET", "STORES", "a,b,a"},
         "-ERR STORES 'a,b,a': 'a' is there twice\r\n"},
        {{"LATCHD", "CLUSTER", "SET", "TTLMAX", "29999"},
         "-ERR TTLMAX 29999: resource pay has TTL 30000; RESOURCE SET it to less first\r\n"},
        {{"LATCHD", "CLUSTER", "SET", "DELAYMAX", "4999"},
         "-ERR DELAYMAX 4999: resource pay has DELAY 5000; RESOURCE SET it to less first\r\n"},
    };
    for (const auto& [words, answer] : cases) EXPECT_EQ(ask(client, words), answer);
    for (const char* ttl : {"0", "99", "-1", "86400001", "1s", ""}) {
        EXPECT_THAT(ask(client, {"LATCHD", "CLUSTER", "SET", "TTLMAX", ttl}),
                    testing::StartsWith("-ERR TTLMAX"))
            << ttl;
    }
    EXPECT_THAT(ask(client, {"LATCHD", "CLUSTER", "SET", "TTLMAX"}), testing::StartsWith("-ERR"));
    host.resources.erase("pay");
    EXPECT_EQ(
        ask(client, {"LATCHD", "CLUSTER", "SET", "TTLMAX", "1999"}),
        "-ERR TTLMAX 1999: resource vault is strict, and leases of those are of at least 2000 "
        "milliseconds\r\n");
    host.fleet_view.reset();
    EXPECT_THAT(ask(client, {"LATCHD", "CLUSTER"}), testing::StartsWith("-ERR the locks of this"));
}

TEST_F(FleetCommands, limits_are_those_of_the_fleet) {
    core::LeaseLimits& limits = host.fleet_view->status.basis.limits;
    limits.ttl_max = std::chrono::seconds(90);
    limits.delay_max = std::chrono::seconds(7);
    Disposition got = run(client, {"LOCK", "r", "1", "PX", "80000", "DELAY", "7000"});
    ASSERT_EQ(got.kind, Disposition::Kind::started) << out;
    EXPECT_EQ(std::get<core::LockCommand>(got.started->command).ttl, std::chrono::seconds(80));
    EXPECT_THAT(ask(client, {"LOCK", "r", "1", "DELAY", "7001"}),
                testing::StartsWith("-ERR DELAY"));
    EXPECT_EQ(run(client, {"RESOURCE", "SET", "r", "TTL", "90000"}).kind, Disposition::Kind::asked);
    EXPECT_THAT(ask(client, {"RESOURCE", "SET", "r", "TTL", "90001"}),
                testing::StartsWith("-ERR TTL"));
}

TEST_F(FleetCommands, a_configuration_that_says_otherwise_is_shown) {
    EXPECT_THAT(ask(client, {"INFO", "latchd"}), HasSubstr("latchd_config_differs:1\r\n"));
    host.fleet_view->status.basis.configured.ttl_max = std::chrono::seconds(30);
    EXPECT_THAT(ask(client, {"INFO", "latchd"}), HasSubstr("latchd_config_differs:2\r\n"));
    const std::string differs = "ttl_max (here 30000 ms, agreed 60000 ms)";
    EXPECT_THAT(ask(client, {"LATCHD", "DOCTOR"}),
                HasSubstr("the configuration differs from the fleet's record about " + differs +
                          "; the record counts (LATCHD CLUSTER SET changes it)\r\n"));
    EXPECT_THAT(ask(client, {"LATCHD", "CLUSTER"}), HasSubstr(differs + "\r\n"));
    host.fleet_view->status.basis.missing = {"spare"};
    host.fleet_view->status.basis.unlisted = {"old"};
    const std::string found = ask(client, {"LATCHD", "DOCTOR"});
    EXPECT_THAT(found, HasSubstr("store spare of the fleet's list is not in this node's conf"));
    EXPECT_THAT(found, HasSubstr("store old is not in the fleet's list: it is checked"));
    EXPECT_THAT(ask(client, {"LATCHD", "CLUSTER"}), HasSubstr("missing\r\n$5\r\nspare\r\n"));
    EXPECT_THAT(ask(client, {"INFO", "authority"}), HasSubstr("authority_stores_unlisted:old\r\n"));
}

}  // namespace
}  // namespace latchd::command
