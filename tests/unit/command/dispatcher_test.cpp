// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "../../compat/answers.hpp"
#include "fake_host.hpp"

#include <gtest/gtest.h>

namespace latchd::command {
namespace {

using std::chrono::milliseconds;

class DispatcherTest : public testing::Test, public Fixture {
protected:
    Started start(ClientState& client, std::vector<std::string_view> args) {
        Disposition disposition = run(client, std::move(args));
        EXPECT_EQ(disposition.kind, Disposition::Kind::started) << out;
        EXPECT_EQ(out, "");
        return disposition.started ? std::move(*disposition.started) : Started{};
    }
    std::string finish(ClientState& client, const Started& started, const core::Outcome& outcome) {
        std::string reply;
        dispatcher.finish(client, started.pending, outcome, reply);
        return compat::shown(reply);
    }
};

TEST_F(DispatcherTest, hands_commands_to_the_core_with_ticket_and_client) {
    ClientState& client = connect();
    client.name = "worker";
    const Started started = start(client, {"lock", "r", "1", "px", "500"});
    const auto& command = std::get<core::LockCommand>(started.command);
    EXPECT_EQ(command.ticket, (core::Ticket{client.id, slot}));
    EXPECT_EQ(command.client, ClientName("127.0.0.1:40000 worker"));
    EXPECT_EQ(command.ttl, milliseconds(500));
    EXPECT_TRUE(started.may_overlap);
    EXPECT_EQ(client.unanswered, 1u);
    EXPECT_EQ(finish(client, started, core::Refused{}), "$-1\\n");
    EXPECT_EQ(client.unanswered, 0u);
}

TEST_F(DispatcherTest, lets_only_waiting_locks_and_lists_hold_up_what_follows) {
    ClientState& client = connect();
    EXPECT_FALSE(start(client, {"LOCK", "r", "1", "WAIT", "5"}).may_overlap);
    EXPECT_EQ(client.waiting, 1u);
    EXPECT_FALSE(start(client, {"LOCKS"}).may_overlap);
    EXPECT_TRUE(start(client, {"UNLOCK", "r", "1", "t"}).may_overlap);
    EXPECT_TRUE(start(client, {"RENEW", "r", "1", "t"}).may_overlap);
    EXPECT_TRUE(start(client, {"CANCEL", "r", "1", "q"}).may_overlap);
    EXPECT_TRUE(start(client, {"LOCKINFO", "r", "1", "explain"}).pending.explain);
    EXPECT_EQ(std::get<core::FenceCommand>(start(client, {"FENCE", "r", "1", "9"}).command).fence,
              9u);
    EXPECT_EQ(std::get<core::ForceCommand>(start(client, {"FORCEUNLOCK", "r", "1"}).command).fence,
              std::nullopt);
    EXPECT_EQ(
        std::get<core::ForceCommand>(start(client, {"FORCEUNLOCK", "r", "1", "fence", "9"}).command)
            .fence,
        9u);
}

TEST_F(DispatcherTest, closes_on_what_a_browser_sends) {
    for (const char* const name : {"POST", "host:"}) {
        ClientState& client = connect();
        std::string out;
        const std::vector<std::string_view> args = {name, "/"};
        const Disposition disposition = dispatcher.run(client, args, 1, out);
        EXPECT_EQ(disposition.kind, Disposition::Kind::close_after_flush);
        EXPECT_EQ(out, "");
    }
}

TEST_F(DispatcherTest, answers_in_the_protocol_that_was_spoken_when_the_command_came) {
    ClientState& client = connect();
    const Started started = start(client, {"LOCK", "r", "1"});
    client.proto = 3;
    EXPECT_EQ(finish(client, started, core::Refused{}), "$-1\\n");
    EXPECT_EQ(finish(client, start(client, {"LOCK", "r", "1"}), core::Refused{}), "_\\n");
}

TEST_F(DispatcherTest, postpones_what_changes_the_connection_until_all_is_answered) {
    ClientState& client = connect();
    const Started started = start(client, {"LOCK", "r", "1"});
    for (const auto& args : std::vector<std::vector<std::string_view>>{
             {"SUBSCRIBE", "x"}, {"HELLO", "3"}, {"RESET"}, {"LATCHD", "EVENTS", "OFF"}}) {
        EXPECT_EQ(run(client, args).kind, Disposition::Kind::postponed) << args[0];
        EXPECT_EQ(out, "");
    }
    EXPECT_EQ(client.proto, 2);
    EXPECT_EQ(ask(client, {"PING"}), "+PONG\r\n");
    (void)finish(client, started, core::Refused{});
    EXPECT_EQ(run(client, {"HELLO", "3"}).kind, Disposition::Kind::done);
    EXPECT_EQ(client.proto, 3);
}

TEST_F(DispatcherTest, leaves_out_the_reply_of_a_started_command_after_reply_off) {
    ClientState& client = connect();
    EXPECT_EQ(ask(client, {"CLIENT", "REPLY", "SKIP"}), "");
    const Started skipped = start(client, {"LOCK", "r", "1"});
    const Started answered = start(client, {"LOCK", "r", "1"});
    EXPECT_EQ(finish(client, skipped, core::Refused{}), "");
    EXPECT_EQ(finish(client, answered, core::Refused{}), "$-1\\n");
}

TEST_F(DispatcherTest, refuses_unregistered_resources_where_registration_is_required) {
    ClientState& client = connect();
    host.resources.require_registered = true;
    EXPECT_EQ(ask(client, {"LOCK", "r", "1"}),
              "-ERR resource 'r' is not registered; RESOURCE SET r registers it\r\n");
    EXPECT_EQ(ask(client, {"RESOURCE", "SET", "r"}), "+OK\r\n");
    (void)start(client, {"LOCK", "r", "1"});
    (void)start(client, {"UNLOCK", "other", "1", "t"});
}

TEST_F(DispatcherTest, registers_a_hundred_thousand_resources_and_refuses_more) {
    ClientState& client = connect();
    for (int i = 1; i < 100'000; ++i) host.resources.set(ResourceName(std::to_string(i)), {});
    EXPECT_EQ(ask(client, {"RESOURCE", "SET", "r"}), "+OK\r\n");
    EXPECT_EQ(ask(client, {"RESOURCE", "SET", "s"}),
              "-LIMIT 100000 resources are registered; RESOURCE DEL one first\r\n");
    EXPECT_EQ(ask(client, {"RESOURCE", "SET", "r", "TTL", "5000"}), "+OK\r\n");
    EXPECT_EQ(ask(client, {"RESOURCE", "DEL", "r"}), ":1\r\n");
    EXPECT_EQ(ask(client, {"RESOURCE", "SET", "s"}), "+OK\r\n");
}

// Found by a newcomer: a DELAY set by mistake could be taken back by RESOURCE DEL only, which a
// strict resource doesn't allow.
TEST_F(DispatcherTest, settings_of_a_resource_are_taken_back_by_0_and_default) {
    ClientState& client = connect();
    EXPECT_EQ(ask(client,
                  {"RESOURCE",
                   "SET",
                   "r",
                   "TTL",
                   "5000",
                   "MAXHOLD",
                   "9000",
                   "EXPECT",
                   "10",
                   "DELAY",
                   "60000",
                   "DEGRADE",
                   "none",
                   "QUEUE",
                   "7"}),
              "+OK\r\n");
    ASSERT_NE(host.resources.find("r"), nullptr);
    EXPECT_TRUE(host.resources.find("r")->delay);
    EXPECT_EQ(ask(client,
                  {"RESOURCE",
                   "SET",
                   "r",
                   "TTL",
                   "0",
                   "MAXHOLD",
                   "0",
                   "EXPECT",
                   "0",
                   "DELAY",
                   "0",
                   "DEGRADE",
                   "default"}),
              "+OK\r\n");
    core::ResourceSettings left;
    left.queue_max = 7;
    EXPECT_EQ(*host.resources.find("r"), left);
}

TEST_F(DispatcherTest, tells_subscribers_what_happened) {
    ClientState& plain = connect();
    ClientState& pattern = connect();
    ClientState& both = connect();
    pattern.proto = 3;
    (void)ask(plain, {"SUBSCRIBE", "latchd:events:r", "other"});
    (void)ask(pattern, {"PSUBSCRIBE", "latchd:events:*"});
    (void)ask(both, {"SUBSCRIBE", "latchd:events:x"});
    core::Happened happened;
    happened.key = {ResourceName("r"), LockId("1")};
    happened.fence = 5;
    happened.reason = "lease over";
    dispatcher.publish(happened);
    ASSERT_EQ(host.pushed.size(), 2u);
    EXPECT_EQ(host.pushed[0].first, plain.id);
    EXPECT_EQ(compat::shown(host.pushed[0].second),
              "*3\\n$7\\nmessage\\n$15\\nlatchd:events:r\\n$29\\nlost r/1#5 owner=- lease over\\n");
    EXPECT_EQ(host.pushed[1].first, pattern.id);
    EXPECT_EQ(compat::shown(host.pushed[1].second).substr(0, 21), ">4\\n$8\\npmessage\\n$15");
    host.pushed.clear();
    dispatcher.gone(plain);
    (void)ask(pattern, {"PUNSUBSCRIBE"});
    dispatcher.publish(happened);
    EXPECT_TRUE(host.pushed.empty());
}

TEST_F(DispatcherTest, pushes_events_to_the_holder_only_when_asked) {
    ClientState& client = connect();
    core::Happened happened;
    happened.kind = core::Happened::Kind::expiring;
    happened.key = {ResourceName("r"), LockId("1")};
    happened.holders = {client.id};
    dispatcher.publish(happened);
    (void)ask(client, {"HELLO", "3"});
    dispatcher.publish(happened);
    EXPECT_TRUE(host.pushed.empty());
    EXPECT_EQ(ask(client, {"LATCHD", "EVENTS", "ON"}), "+OK\r\n");
    dispatcher.publish(happened);
    ASSERT_EQ(host.pushed.size(), 1u);
    EXPECT_EQ(compat::shown(host.pushed[0].second),
              ">7\\n$6\\nlatchd\\n$8\\nexpiring\\n$1\\nr\\n$1\\n1\\n:0\\n$0\\n\\n$0\\n\\n");
    host.pushed.clear();
    (void)ask(client, {"HELLO", "2"});
    (void)ask(client, {"HELLO", "3"});
    dispatcher.publish(happened);
    EXPECT_TRUE(host.pushed.empty());
}

TEST_F(DispatcherTest, limits_the_subscriptions_of_a_connection) {
    ClientState& client = connect();
    std::vector<std::string> names;
    for (int i = 0; i < 1025; ++i) names.push_back(std::to_string(i));
    std::vector<std::string_view> args = {"SUBSCRIBE"};
    args.insert(args.end(), names.begin(), names.end());
    EXPECT_EQ(ask(client, args).substr(0, 11), "-LIMIT 1024");
    EXPECT_EQ(client.subscriptions(), 0u);
}

TEST_F(DispatcherTest, kills_other_connections_by_filter_and_itself_last) {
    ClientState& first = connect();
    ClientState& second = connect();
    ClientState& third = connect();
    EXPECT_EQ(ask(first, {"CLIENT", "KILL", "TYPE", "normal"}), ":2\r\n");
    EXPECT_EQ(host.killed, (std::vector<ClientId>{second.id, third.id}));
    host.killed.clear();
    EXPECT_EQ(ask(first, {"CLIENT", "KILL", second.peer}), "+OK\r\n");
    EXPECT_EQ(host.killed, (std::vector<ClientId>{second.id}));
    const std::string me = std::to_string(static_cast<std::uint64_t>(first.id));
    EXPECT_EQ(ask(first, {"CLIENT", "KILL", "ID", me}), ":0\r\n");
    EXPECT_EQ(run(first, {"CLIENT", "KILL", "ID", me, "SKIPME", "no"}).kind,
              Disposition::Kind::close_after_flush);
    EXPECT_EQ(out, ":1\r\n");
}

TEST_F(DispatcherTest, lists_clients_with_their_library_and_last_command) {
    ClientState& client = connect();
    (void)ask(client, {"CLIENT", "SETINFO", "lib-name", "redis-py"});
    host.time += std::chrono::seconds(3);
    (void)start(client, {"LOCK", "r", "1", "WAIT", "5"});
    const std::string line = ask(client, {"CLIENT", "LIST"});
    for (const std::string_view part : {"id=7 addr=127.0.0.1:40000 laddr=127.0.0.1:6385 ",
                                        " age=3 idle=0 flags=b db=0 ",
                                        " cmd=client|list user=default ",
                                        " resp=2 lib-name=redis-py lib-ver= "}) {
        EXPECT_NE(line.find(part), std::string::npos) << part << "\n" << line;
    }
}

TEST_F(DispatcherTest, masks_secrets_in_the_slow_log) {
    Options options;
    options.password = "hunter2";
    options.slower_than = milliseconds(0);
    Fixture all(options);
    ClientState& client = all.connect();
    (void)all.ask(client, {"AUTH", "hunter2"});
    (void)all.ask(client, {"HELLO", "2", "AUTH", "default", "hunter2"});
    (void)all.ask(client, {"UNLOCK", "a b", "1", "secret-token"});
    (void)all.ask(client, {"LOCK", "r", "1", "REQ", "secret-request", "PX", "0"});
    Disposition unlock = all.run(client, {"UNLOCK", "r", "1", "secret-token"});
    std::string reply;
    all.dispatcher.finish(client, unlock.started->pending, core::Number{1}, reply);
    const std::string log = all.ask(client, {"SLOWLOG", "GET", "-1"});
    EXPECT_EQ(log.find("hunter2"), std::string::npos) << log;
    EXPECT_EQ(log.find("secret-"), std::string::npos) << log;
    EXPECT_NE(log.find("UNLOCK\r\n$1\r\nr\r\n$1\r\n1\r\n"), std::string::npos) << log;
    EXPECT_EQ(all.ask(client, {"SLOWLOG", "LEN"}), ":6\r\n");
}

TEST_F(DispatcherTest, counts_the_time_of_a_waiting_lock_as_nobodys_slowness) {
    ClientState& client = connect();
    const Started waiting = start(client, {"LOCK", "r", "1", "WAIT", "5000"});
    const Started slow = start(client, {"UNLOCK", "r", "1", "t"});
    host.time += std::chrono::seconds(5);
    (void)finish(client, waiting, core::Refused{});
    EXPECT_EQ(ask(client, {"SLOWLOG", "LEN"}), ":0\r\n");
    (void)finish(client, slow, core::Number{0});
    EXPECT_EQ(ask(client, {"SLOWLOG", "LEN"}), ":1\r\n");
    EXPECT_EQ(client.waiting, 0u);
}

TEST_F(DispatcherTest, drains_and_shuts_down_through_the_host_or_says_why_not) {
    ClientState& client = connect();
    EXPECT_EQ(ask(client, {"LATCHD", "DRAIN"}), "+OK\r\n");
    EXPECT_EQ(host.drains, 1);
    host.drain_refusal = "the node is starting";
    EXPECT_EQ(ask(client, {"LATCHD", "DRAIN"}), "-ERR the node is starting\r\n");
    EXPECT_EQ(ask(client, {"SHUTDOWN", "NOSAVE"}),
              "-ERR SHUTDOWN is refused: systemctl stop latchd\r\n");
    host.shutdown_refusal.reset();
    EXPECT_EQ(run(client, {"SHUTDOWN"}).kind, Disposition::Kind::close_after_flush);
    EXPECT_EQ(out, "");
    EXPECT_EQ(host.notices.size(), 2u);
}

TEST_F(DispatcherTest, keeps_latency_samples_for_latency) {
    dispatcher.note_latency("store-check", milliseconds(12));
    dispatcher.note_latency("store-check", milliseconds(7));
    ClientState& client = connect();
    EXPECT_EQ(compat::shown(ask(client, {"LATENCY", "LATEST"})),
              "*1\\n*4\\n$11\\nstore-check\\n:1767225600\\n:12\\n:12\\n");
    EXPECT_EQ(ask(client, {"LATENCY", "RESET", "store-check", "dns"}), ":1\r\n");
}

// Redis's own limits: what a stranger sends must not fill an error reply.
TEST_F(DispatcherTest, cuts_the_echo_of_unknown_commands) {
    ClientState& client = connect();
    const std::string big(1'000, 'x');
    const std::string text = ask(client, {big, big, big});
    EXPECT_EQ(text,
              "-ERR unknown command '" + std::string(128, 'x') + "', with args beginning with: '" +
                  std::string(128, 'x') + "' \r\n");
    EXPECT_EQ(ask(client, {"foo", std::string_view(big).substr(0, 124), "bb", "c"}),
              "-ERR unknown command 'foo', with args beginning with: '" + std::string(124, 'x') +
                  "' 'b' \r\n");
}

TEST_F(DispatcherTest, writes_errors_outside_commands_and_counts_them) {
    std::string reply;
    dispatcher.write_error("ERR max number of clients reached", reply);
    EXPECT_EQ(reply, "-ERR max number of clients reached\r\n");
    EXPECT_EQ(dispatcher.error_replies(), 1u);
}

}  // namespace
}  // namespace latchd::command
