// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fixture.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <sys/stat.h>

namespace latchd::test {
namespace {

TEST(Listeners, say_the_port_that_the_kernel_chose) {
    Fixture node;
    ASSERT_EQ(node.endpoints.size(), 1u);
    EXPECT_NE(node.endpoints.front().port, 0);
    Peer client(node);
    EXPECT_EQ(client.ask(request({"PING"})), "+PONG\r\n");
}

TEST(Listeners, refuse_an_address_that_is_taken_and_name_it) {
    Fixture node;
    const server::Endpoint taken = node.endpoints.front();
    try {
        Fixture second([&](server::Options& o) { o.listeners.front().endpoint = taken; });
        FAIL() << "a second node listens on " << taken.to_string();
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find(taken.to_string()), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos) << error.what();
    }
}

TEST(Listeners, serve_a_unix_socket_for_owner_and_group_and_remove_it_at_the_end) {
    const SocketFile file;
    {
        Fixture node(file.on_it());
        struct stat info {};
        ASSERT_EQ(::stat(file.path().c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777u, 0660u);
        Peer client(node);
        EXPECT_EQ(client.ask(request({"PING"})), "+PONG\r\n");
    }
    EXPECT_FALSE(std::filesystem::exists(file.path()));
}

TEST(Listeners, replace_a_socket_file_that_nobody_answers_on) {
    const SocketFile file;
    {
        // Left behind as by kill -9: the file stays, the socket is gone.
        Fixture former(file.on_it());
        std::filesystem::rename(file.path(), file.path() + ".kept");
    }
    std::filesystem::rename(file.path() + ".kept", file.path());
    Fixture node(file.on_it());
    Peer client(node);
    EXPECT_EQ(client.ask(request({"PING"})), "+PONG\r\n");
}

TEST(Listeners, leave_a_socket_file_alone_that_somebody_answers_on) {
    const SocketFile file;
    Fixture node(file.on_it());
    EXPECT_THROW(Fixture second(file.on_it()), std::runtime_error);
    Peer client(node);
    EXPECT_EQ(client.ask(request({"PING"})), "+PONG\r\n");
}

TEST(Finish, tells_waiters_flushes_closes_and_reports) {
    Fixture node;
    Peer holder(node);
    Peer waiter(node);
    EXPECT_EQ(holder.ask(request({"LOCK", "a", "1"}), "redis\r\n").find("*5"), 0u);
    waiter.send(request({"LOCK", "a", "1", "WAIT", "60000"}));
    ASSERT_TRUE(node.wait_for([&] {
        return holder.ask(request({"INFO", "locks"})).find("locks_waiting:1") != std::string::npos;
    }));
    node.server->finish();
    EXPECT_EQ(waiter.read_all().find("-NOSTORE draining"), 0u);
    EXPECT_EQ(holder.read_all(), "");
    EXPECT_TRUE(node.wait_for([&] { return node.finished; }));
    EXPECT_THROW(Peer late(node), std::runtime_error);
}

TEST(Finish, does_not_wait_for_a_client_that_does_not_read) {
    Fixture node;
    Peer client(node);
    std::string bytes;
    for (int i = 0; i < 2'000; ++i) bytes += request({"COMMAND", "DOCS"});
    (void)client.send_some(bytes);
    node.turn();
    node.server->finish();
    EXPECT_TRUE(node.wait_for([&] { return node.finished; }));
}

}  // namespace
}  // namespace latchd::test
