// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Commands that are about all loops of a process.
#include "fake_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace latchd::command {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Kind = Disposition::Kind;

// Two loops, of which the test's client is on the first.
class Gather : public testing::Test {
protected:
    Gather() {
        for (Fixture* const loop : {&first, &second}) loop->host.loop_count = 2;
        client.loop = 1;
        client.id = ClientId{1};
        other.loop = 2;
        other.id = ClientId{2};
    }

    static Options options_of_second() {
        Options options;
        options.loop = 2;
        return options;
    }

    // The reply, once the second loop has reported, or not.
    std::string ask(std::vector<std::string_view> args, std::size_t silent = 0) {
        const Disposition disposition = first.run(client, std::move(args));
        EXPECT_EQ(disposition.kind, Kind::gathering);
        if (disposition.kind != Kind::gathering) return first.out;
        EXPECT_EQ(first.out, "");
        Reports reports;
        if (silent == 0) reports.push_back(second.dispatcher.report(*disposition.gathering));
        std::string out;
        closes = first.dispatcher.finish(client, *disposition.gathering, reports, silent, out);
        EXPECT_EQ(client.unanswered, 0u);
        return out;
    }

    Fixture first;
    Fixture second{options_of_second()};
    ClientState& client = first.connect();
    ClientState& other = second.connect();
    bool closes = false;
};

TEST_F(Gather, adds_up_what_each_loop_counts) {
    first.host.node_counts.held = 3;
    second.host.node_counts.held = 4;
    first.host.info.clients = 1;
    second.host.info.clients = 2;
    (void)second.ask(other, {"PING"});
    (void)first.ask(client, {"PING"});
    const std::string info = ask({"INFO", "everything"});
    EXPECT_THAT(info, HasSubstr("locks_held:7\r\n"));
    EXPECT_THAT(info, HasSubstr("connected_clients:3\r\n"));
    EXPECT_THAT(info, HasSubstr("cmdstat_ping:calls=2,"));
    EXPECT_THAT(info, HasSubstr("latchd_loops:2\r\nlatchd_loops_silent:0\r\n"));
    EXPECT_THAT(info, HasSubstr("latchd_loop2:node=n1,state=ok,clients=2,locks_held=4,"));
    EXPECT_EQ(ask({"DBSIZE"}), ":7\r\n");
}

TEST_F(Gather, lists_and_ends_connections_of_all_loops) {
    EXPECT_THAT(ask({"CLIENT", "LIST"}), HasSubstr("id=2 "));
    EXPECT_THAT(ask({"CLIENT", "LIST", "ID", "2"}), Not(HasSubstr("id=1 ")));
    EXPECT_EQ(ask({"CLIENT", "KILL", "ID", "2"}), ":1\r\n");
    EXPECT_EQ(first.host.killed, std::vector{ClientId{2}});
    EXPECT_FALSE(closes);
    EXPECT_EQ(ask({"CLIENT", "KILL", "ID", "1", "SKIPME", "no"}), ":1\r\n");
    EXPECT_TRUE(closes);
}

TEST_F(Gather, says_how_many_loops_are_silent_or_does_nothing) {
    EXPECT_THAT(ask({"INFO", "latchd"}, 1), HasSubstr("latchd_loops_silent:1\r\n"));
    EXPECT_THAT(ask({"LATCHD", "STATUS"}, 1), HasSubstr("loops_silent\r\n:1\r\n"));
    const std::string kill = ask({"CLIENT", "KILL", "ID", "1", "SKIPME", "no"}, 1);
    EXPECT_THAT(kill, StartsWith("-ERR 1 of 2 event loops of the process do not answer"));
    EXPECT_FALSE(closes);
    for (const char* command : {"LIST", "SLOWLOG", "DBSIZE"}) {
        std::vector<std::string_view> args = {command};
        if (args[0] == "LIST") args = {"CLIENT", "LIST"};
        if (args[0] == "SLOWLOG") args = {"SLOWLOG", "GET"};
        EXPECT_THAT(ask(args, 1), StartsWith("-ERR 1 of 2")) << command;
    }
}

TEST_F(Gather, resets_what_each_loop_counts) {
    (void)second.ask(other, {"NOSUCH"});
    EXPECT_EQ(ask({"CONFIG", "RESETSTAT"}), "+OK\r\n");
    EXPECT_EQ(second.dispatcher.error_replies(), 0u);
    second.dispatcher.note_latency("event-loop", std::chrono::milliseconds(70));
    EXPECT_THAT(ask({"LATENCY", "LATEST"}), HasSubstr("event-loop"));
    EXPECT_EQ(ask({"LATENCY", "RESET"}), ":1\r\n");
    EXPECT_EQ(ask({"LATENCY", "LATEST"}), "*0\r\n");
}

TEST_F(Gather, adds_up_channels) {
    (void)second.ask(other, {"SUBSCRIBE", "latchd:events:a"});
    EXPECT_TRUE(second.host.is_listening);
    EXPECT_THAT(ask({"PUBSUB", "CHANNELS"}), HasSubstr("latchd:events:a"));
    EXPECT_THAT(ask({"PUBSUB", "NUMSUB", "latchd:events:a"}), HasSubstr(":1\r\n"));
    (void)second.ask(other, {"UNSUBSCRIBE"});
    EXPECT_FALSE(second.host.is_listening);
    EXPECT_EQ(ask({"PUBSUB", "CHANNELS"}), "*0\r\n");
}

TEST_F(Gather, refuses_what_is_wrong_before_it_asks_anybody) {
    EXPECT_EQ(first.run(client, {"CLIENT", "KILL"}).kind, Kind::done);
    EXPECT_EQ(first.run(client, {"DBSIZE", "x"}).kind, Kind::done);
}

TEST_F(Gather, tells_the_other_loops_of_a_resource) {
    EXPECT_EQ(first.ask(client, {"RESOURCE", "SET", "r", "TTL", "5000"}), "+OK\r\n");
    EXPECT_EQ(first.ask(client, {"RESOURCE", "DEL", "r"}), ":1\r\n");
    EXPECT_EQ(first.ask(client, {"RESOURCE", "DEL", "r"}), ":0\r\n");
    const std::vector<std::pair<ResourceName, bool>> told = {{ResourceName("r"), true},
                                                             {ResourceName("r"), false}};
    EXPECT_EQ(first.host.changed_resources, told);
}

TEST(OneLoop, gathers_nothing) {
    Fixture fixture;
    ClientState& client = fixture.connect();
    EXPECT_EQ(fixture.run(client, {"INFO"}).kind, Kind::done);
    EXPECT_THAT(fixture.ask(client, {"INFO", "latchd"}), HasSubstr("latchd_loops:1\r\n"));
}

}  // namespace
}  // namespace latchd::command
