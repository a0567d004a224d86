// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Clients that don't read, and too many of them.

#include "fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace latchd::test {
namespace {

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::size_t memory_of_clients(Peer& observer) {
    const std::string info = observer.ask(request({"INFO", "memory"}));
    const std::string name = "mem_clients_normal:";
    const std::size_t at = info.find(name);
    EXPECT_NE(at, std::string::npos) << info;
    return std::stoul(info.substr(at + name.size()));
}

TEST(Pressure, a_client_that_never_reads_costs_no_more_than_its_limits) {
    Fixture node;
    Peer greedy(node, node.endpoints.front(), 4096);
    Peer other(node);
    constexpr std::size_t commands = 1'000'000;
    const std::string one = request({"PING"});
    std::string block;
    while (block.size() + one.size() <= 64 * 1024) block += one;

    // Until neither kernel nor node take more: nothing moves over many turns.
    std::size_t sent = 0;
    std::size_t most = 0;
    int idle_turns = 0;
    while (idle_turns < 50 && sent < commands * one.size()) {
        const std::size_t offset = sent % one.size();
        const std::size_t count = greedy.send_some(std::string_view(block).substr(offset));
        sent += count;
        idle_turns = count == 0 ? idle_turns + 1 : 0;
        node.turn();
        if (idle_turns % 10 == 0) most = std::max(most, memory_of_clients(other));
    }
    EXPECT_LT(most, 5u * 1024 * 1024);
    EXPECT_EQ(other.ask(request({"PING"})), "+PONG\r\n");

    // Once it reads, each command has had its one reply.
    const std::size_t whole = (sent + one.size() - 1) / one.size();
    const std::string rest = sent % one.size() == 0 ? "" : one.substr(sent % one.size());
    std::size_t rest_sent = 0;
    std::size_t replies = 0;
    ASSERT_TRUE(node.wait_for([&] {
        replies += greedy.read_ready().size();
        rest_sent += greedy.send_some(std::string_view(rest).substr(rest_sent));
        return replies == whole * 7;
    })) << replies
        << " of " << whole * 7;
    ASSERT_TRUE(node.wait_for([&] { return memory_of_clients(other) < 256u * 1024; }))
        << other.ask(request({"INFO", "memory"})) << other.ask(request({"CLIENT", "LIST"}));
}

TEST(Pressure, a_subscriber_that_does_not_read_is_closed_and_the_others_are_served) {
    // A Unix socket, because TCP's kernel buffers grow to megabytes.
    const SocketFile file;
    Fixture node([&](server::Options& options) {
        file.on_it()(options);
        options.session.output_bytes_max = 64 * 1024;
    });
    Peer slow(node);
    Peer quick(node);
    Peer holder(node);
    const std::string subscribe = request({"SUBSCRIBE", "latchd:events:a"});
    EXPECT_TRUE(contains(slow.ask(subscribe), "subscribe"));
    EXPECT_TRUE(contains(quick.ask(subscribe), "subscribe"));
    // Each FORCEUNLOCK is an event.
    const std::string id(100, 'x');
    std::size_t events = 0;
    const bool closed = node.wait_for([&] {
        EXPECT_TRUE(contains(holder.ask(request({"LOCK", "a", id}), "redis\r\n"), "*5"));
        EXPECT_EQ(holder.ask(request({"FORCEUNLOCK", "a", id})), ":1\r\n");
        const std::string got = quick.read_ready();
        for (std::size_t at = 0; (at = got.find("$7\r\nmessage", at)) != std::string::npos; ++at) {
            ++events;
        }
        return contains(holder.ask(request({"INFO", "clients"})), "connected_clients:2");
    });
    EXPECT_TRUE(closed) << events << " events\n" << holder.ask(request({"CLIENT", "LIST"}));
    EXPECT_GT(events, 100u);
    EXPECT_FALSE(quick.is_ended());
}

TEST(Pressure, a_client_over_the_limit_is_told_so_and_room_is_used_again) {
    Fixture node([](server::Options& options) { options.listeners.front().clients_max = 2; });
    Peer first(node);
    auto second = std::make_unique<Peer>(node);
    EXPECT_EQ(first.ask(request({"PING"})), "+PONG\r\n");
    EXPECT_EQ(second->ask(request({"PING"})), "+PONG\r\n");
    Peer third(node);
    EXPECT_EQ(third.read_all(), "-ERR max number of clients reached\r\n");
    second.reset();
    ASSERT_TRUE(node.wait_for([&] {
        return contains(first.ask(request({"INFO", "clients"})), "connected_clients:1");
    }));
    Peer fourth(node);
    EXPECT_EQ(fourth.ask(request({"PING"})), "+PONG\r\n");
    EXPECT_TRUE(contains(first.ask(request({"INFO", "stats"})), "rejected_connections:1"));
}

// Takes every descriptor up to a limit, as long as it lives.
class NoDescriptors {
public:
    explicit NoDescriptors(rlim_t limit) {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        rlimit lower = before_;
        lower.rlim_cur = limit;
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
        for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken_.push_back(fd);
    }
    ~NoDescriptors() {
        for (const int fd : taken_) ::close(fd);
        (void)::setrlimit(RLIMIT_NOFILE, &before_);
    }

private:
    rlimit before_{};
    std::vector<int> taken_;
};

TEST(Pressure, lack_of_descriptors_refuses_by_word_and_others_are_served) {
    Fixture node;
    Peer first(node);
    EXPECT_EQ(first.ask(request({"PING"})), "+PONG\r\n");
    // Connected before the lack, so that only the node needs a descriptor for it.
    Peer refused(node);
    {
        const NoDescriptors lack(100);
        EXPECT_EQ(refused.read_all(), "-ERR max number of clients reached\r\n");
        EXPECT_EQ(first.ask(request({"PING"})), "+PONG\r\n");
    }
    Peer later(node);
    EXPECT_EQ(later.ask(request({"PING"})), "+PONG\r\n");
}

TEST(Pressure, a_lack_that_leaves_no_spare_descriptor_is_waited_for) {
    Fixture node;
    Peer first(node);
    EXPECT_EQ(first.ask(request({"PING"})), "+PONG\r\n");
    Peer waiting(node);
    {
        const NoDescriptors lack(3);  // even the spare one is over the limit
        node.turn();
        EXPECT_EQ(first.ask(request({"PING"})), "+PONG\r\n");
    }
    EXPECT_EQ(waiting.ask(request({"PING"})), "+PONG\r\n");
}

}  // namespace
}  // namespace latchd::test
