// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fixture.hpp"

#include <gtest/gtest.h>

#include <string>

namespace latchd::test {
namespace {

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(Session, answers_requests_however_they_are_cut) {
    Fixture node;
    Peer client(node);
    const std::string bytes = "PING\r\n\r\n" + request({"ECHO", "a\r\nb"}) + request({"PING"});
    const std::string wanted = "+PONG\r\n$4\r\na\r\nb\r\n+PONG\r\n";
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        client.send(bytes.substr(0, cut));
        node.turn();
        client.send(bytes.substr(cut));
        ASSERT_EQ(client.read(wanted.size()), wanted) << "cut at " << cut;
    }
    for (const char byte : bytes) {
        client.send(std::string_view(&byte, 1));
        node.turn();
    }
    EXPECT_EQ(client.read(wanted.size()), wanted);
}

TEST(Session, sends_replies_in_the_order_of_the_commands) {
    Fixture node;
    Peer client(node);
    node.store->at_once = false;
    client.send(request({"LOCK", "a", "1"}) + request({"LOCK", "a", "2"}) + request({"PING"}));
    ASSERT_TRUE(node.wait_for([&] { return node.store->waiting() == 2; }));
    node.store->answer(1);
    EXPECT_EQ(client.read_ready(), "");
    node.store->answer(0);
    const std::string replies = client.read_up_to("+PONG\r\n");
    const std::size_t first = replies.find("30064771074");  // epoch 7, counter 2: answered second
    const std::size_t second = replies.find("30064771073");
    ASSERT_NE(first, std::string::npos) << replies;
    ASSERT_NE(second, std::string::npos) << replies;
    EXPECT_LT(first, second);
}

TEST(Session, has_a_grant_in_the_journal_before_it_is_told) {
    Fixture node;
    Peer client(node);
    EXPECT_TRUE(has(client.ask(request({"LOCK", "a", "1"}), "redis\r\n"), "*5"));
    ASSERT_FALSE(node.journal.empty());
    EXPECT_EQ(node.journal.front(), "put a/1#7.1");
}

TEST(Session, refuses_a_lock_that_could_not_be_written_down) {
    Fixture node;
    Peer client(node);
    node.journal_is_full = true;
    EXPECT_EQ(client.ask(request({"LOCK", "a", "1", "KEEP"})),
              "-LIMIT journal: there is no room to write a grant down; nothing is held\r\n");
    node.journal_is_full = false;
    EXPECT_TRUE(has(client.ask(request({"LOCK", "a", "1"}), "redis\r\n"), "*5"));
    EXPECT_TRUE(has(client.ask(request({"INFO", "locks"}), "\r\n"), "locks_kept:0"));
}

// A journal counts its room in records of the largest size: a small one leaves it what it was.
TEST(Session, grants_for_as_long_as_the_journal_shows_room) {
    Fixture node;
    Peer client(node);
    node.journal_room = 1;
    for (const char* const id : {"1", "2", "3"}) {
        EXPECT_TRUE(has(client.ask(request({"LOCK", "a", id}), "\r\n"), "*5")) << id;
    }
}

TEST(Session, lets_a_waiting_lock_hold_up_its_own_connection_only) {
    Fixture node;
    Peer holder(node);
    Peer waiter(node);
    const std::string grant = holder.ask(request({"LOCK", "a", "1"}), "redis\r\n");
    waiter.send(request({"LOCK", "a", "1", "WAIT", "5000"}) + request({"PING"}));
    EXPECT_TRUE(has(holder.ask(request({"INFO", "locks"}), "\r\n"), "locks_waiting:1"));
    EXPECT_EQ(waiter.read_ready(), "");
    EXPECT_EQ(holder.ask(request({"PING"})), "+PONG\r\n");
    const std::string token = grant.substr(grant.find("$22\r\n") + 5, 22);
    EXPECT_EQ(holder.ask(request({"UNLOCK", "a", "1", token})), ":1\r\n");
    const std::string replies = waiter.read_up_to("+PONG\r\n");
    EXPECT_EQ(replies.find("*5"), 0u) << replies;
}

TEST(Session, quit_is_answered_and_closes_behind_earlier_replies) {
    Fixture node;
    Peer client(node);
    client.send(request({"PING"}) + request({"QUIT"}) + request({"PING"}));
    EXPECT_EQ(client.read_all(), "+PONG\r\n+OK\r\n");
}

TEST(Session, a_protocol_error_is_told_behind_earlier_replies_and_closes) {
    Fixture node;
    Peer client(node);
    client.send(request({"PING"}) + "*1\r\n$x\r\n");
    const std::string replies = client.read_all();
    EXPECT_EQ(replies.find("+PONG\r\n-ERR Protocol error"), 0u) << replies;
}

TEST(Session, reply_skip_and_off_leave_exactly_the_others) {
    Fixture node;
    Peer client(node);
    client.send(request({"CLIENT", "REPLY", "SKIP"}) + request({"ECHO", "skipped"}) +
                request({"ECHO", "one"}) + request({"CLIENT", "REPLY", "OFF"}) +
                request({"LOCK", "a", "1"}) + request({"ECHO", "off"}) +
                request({"CLIENT", "REPLY", "ON"}) + request({"ECHO", "two"}));
    EXPECT_EQ(client.read_up_to("two\r\n"), "$3\r\none\r\n+OK\r\n$3\r\ntwo\r\n");
}

TEST(Session, a_half_closed_client_gets_the_replies_of_what_it_sent) {
    Fixture node;
    Peer client(node);
    std::string wanted;
    for (int i = 0; i < 1'000; ++i) wanted += "+PONG\r\n";
    std::string bytes;
    for (int i = 0; i < 1'000; ++i) bytes += request({"PING"});
    client.send(bytes);
    client.end_output();
    EXPECT_EQ(client.read_all(), wanted);
}

TEST(Session, runs_as_many_locks_at_once_as_the_limit_says) {
    Fixture node([](server::Options& options) { options.session.in_flight_max = 10; });
    Peer client(node);
    node.store->at_once = false;
    std::string bytes;
    for (int i = 0; i < 25; ++i) bytes += request({"LOCK", "a", std::to_string(i)});
    client.send(bytes);
    ASSERT_TRUE(node.wait_for([&] { return node.store->waiting() == 10; }));
    node.turn();
    EXPECT_EQ(node.store->waiting(), 10u);
    int answered = 0;
    ASSERT_TRUE(node.wait_for([&] {
        if (node.store->waiting() > 0) node.store->answer(), ++answered;
        return answered == 25;
    }));
}

// ---- the end of a connection ----------------------------------------------------------------

// How many wait for a lock, as another client sees it.
std::string waiting(Peer& observer) {
    const std::string info = observer.ask(request({"INFO", "locks"}));
    const std::size_t at = info.find("locks_waiting:");
    return info.substr(at, info.find('\r', at) - at);
}

struct Queue {
    Fixture node;
    Peer holder{node};
    Peer waiter{node};

    Queue() {
        EXPECT_TRUE(has(holder.ask(request({"LOCK", "a", "1"}), "redis\r\n"), "*5"));
        waiter.send(request({"LOCK", "a", "1", "WAIT", "60000"}));
        EXPECT_TRUE(node.wait_for([&] { return waiting(holder) == "locks_waiting:1"; }));
    }
    bool empties() {
        return node.wait_for([&] { return waiting(holder) == "locks_waiting:0"; });
    }
};

TEST(Session, leaves_the_queue_when_its_client_closes) {
    Queue queue;
    queue.waiter.close();
    EXPECT_TRUE(queue.empties());
}

TEST(Session, leaves_the_queue_when_its_client_resets) {
    Queue queue;
    queue.waiter.reset();
    EXPECT_TRUE(queue.empties());
}

TEST(Session, leaves_the_queue_with_commands_behind_the_lock) {
    Queue queue;
    queue.waiter.send(request({"PING"}) + request({"LOCK", "b", "1"}));
    queue.node.turn();
    queue.waiter.close();
    EXPECT_TRUE(queue.empties());
}

TEST(Session, leaves_the_queue_with_more_behind_the_lock_than_it_reads) {
    Queue queue;
    std::string pings;
    while (pings.size() < 1'400'000) pings += request({"PING"});
    queue.waiter.send(pings);
    queue.waiter.close();
    EXPECT_TRUE(queue.empties());
}

TEST(Session, gives_back_a_grant_that_meets_a_closed_connection) {
    Fixture node;
    Peer client(node);
    Peer other(node);
    node.store->at_once = false;
    client.send(request({"LOCK", "a", "1"}));
    ASSERT_TRUE(node.wait_for([&] { return node.store->waiting() == 1; }));
    client.close();
    ASSERT_TRUE(node.wait_for([&] {
        return has(other.ask(request({"INFO", "clients"})), "connected_clients:1");
    }));
    node.store->at_once = true;
    node.store->answer();
    ASSERT_TRUE(node.wait_for([&] { return node.store->table().size() == 0; }));
    EXPECT_TRUE(has(other.ask(request({"LOCK", "a", "1"}), "redis\r\n"), "*5"));
}

TEST(Session, is_closed_by_client_kill) {
    Fixture node;
    Peer victim(node);
    Peer killer(node);
    const std::string id = victim.ask(request({"CLIENT", "ID"}));
    EXPECT_EQ(killer.ask(request({"CLIENT", "KILL", "ID", id.substr(1, id.size() - 3)})), ":1\r\n");
    EXPECT_EQ(victim.read_all(), "");
    EXPECT_TRUE(victim.is_ended());
}

TEST(Session, is_closed_when_it_is_idle_for_longer_than_allowed) {
    Fixture node([](server::Options& options) {
        options.listeners.front().idle_timeout = std::chrono::seconds(1);
    });
    Peer client(node);
    EXPECT_EQ(client.ask(request({"PING"})), "+PONG\r\n");
    EXPECT_EQ(client.read_all(), "");
    EXPECT_TRUE(client.is_ended());
}

TEST(Session, stays_however_quiet_while_a_lock_is_kept_for_it) {
    Fixture node([](server::Options& options) {
        options.listeners.front().idle_timeout = std::chrono::seconds(1);
    });
    Peer holder(node);
    EXPECT_TRUE(has(
        holder.ask(request({"LOCK", "a", "1", "KEEP", "ONCLOSE", "RELEASE"}), "redis\r\n"), "*5"));
    // Came later and is as quiet: when it is closed, the holder was looked at, too.
    Peer quiet(node);
    EXPECT_EQ(quiet.ask(request({"PING"})), "+PONG\r\n");
    EXPECT_EQ(quiet.read_all(), "");
    EXPECT_TRUE(quiet.is_ended());
    EXPECT_EQ(holder.ask(request({"PING"})), "+PONG\r\n");
    EXPECT_EQ(node.store->table().size(), 1u);
}

}  // namespace
}  // namespace latchd::test
