// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_tier_fixture.hpp"

#include <chrono>
#include <string>
#include <unistd.h>
#include <vector>

// wait_replicas, with a replica that is a process of its own.
namespace latchd::testing {
namespace {

using core::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

LockKey lock_number(int number) {
    return {ResourceName("order:settle"), LockId(std::to_string(number))};
}

class RedisReplicas : public RedisTierOn {
protected:
    void SetUp() override {
        RedisTierOn::SetUp();
        if (IsSkipped()) return;
        int port = 40'000 + static_cast<int>(::getpid() % 20'000);
        while (command({"CONFIG", "SET", "port", std::to_string(port)}).type !=
               resp::Value::Type::simple_string) {
            ++port;
        }
        port_ = std::to_string(port);
    }

    void attach_replica() {
        replica_.start();
        on_replica({"REPLICAOF", "127.0.0.1", port_});
        TierRun idle(server_, "idle");
        ASSERT_TRUE(idle.run_until([this] {
            return command({"INFO", "replication"}).string.find("state=online") !=
                   std::string::npos;
        }));
    }
    resp::Value on_replica(std::initializer_list<std::string_view> arguments) {
        return RedisClient(replica_.socket_path()).command(arguments);
    }
    int waits() {
        const std::string stats = command({"INFO", "commandstats"}).string;
        const std::string field = "cmdstat_wait:calls=";
        const auto at = stats.find(field);
        return at == std::string::npos ? 0 : std::stoi(stats.substr(at + field.size()));
    }
    static void wait_for_one(store::redis::Options& options) { options.wait_replicas = 1; }

    RedisProcess replica_;
    std::string port_;
};

TEST_F(RedisReplicas, have_what_was_answered) {
    attach_replica();
    TierRun a(server_, "a", [](auto& options) {
        options.wait_replicas = 1;
        options.operation_timeout = seconds(10);  // on a busy machine it is not answered without
    });
    a.open();
    for (int i = 0; i < 50; ++i) {
        const auto wish = a.acquire(lock_number(i));
        ASSERT_EQ(a.status(wish), Status::granted);
        ASSERT_EQ(on_replica({"EXISTS", "lock:order:settle:" + std::to_string(i)}).integer, 1);
        ASSERT_EQ(a.status(a.release(wish)), Status::released);
        ASSERT_EQ(on_replica({"EXISTS", "lock:order:settle:" + std::to_string(i)}).integer, 0);
    }
    EXPECT_EQ(a.health().warning, "");
}

TEST_F(RedisReplicas, are_waited_for_once_a_turn) {
    attach_replica();
    TierRun a(server_, "a", wait_for_one);
    a.open();
    std::vector<core::OperationId> ids;
    for (int turn = 0; turn < 10; ++turn) {
        for (int i = 0; i < 100; ++i) ids.push_back(a.submit(a.acquire(lock_number(i))));
        a.turn();
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto outcome = a.outcome(ids[i]);
        ASSERT_TRUE(std::holds_alternative<core::OperationReply>(outcome)) << i;
        ASSERT_EQ(std::get<core::OperationReply>(outcome).reply.status,
                  i < 100 ? Status::granted : Status::held)
            << i;
    }
    EXPECT_GE(waits(), 1);
    EXPECT_LE(waits(), 11);
    EXPECT_EQ(a.health().in_flight, 0u);
}

TEST_F(RedisReplicas, that_are_not_there_are_no_error) {
    TierRun a(server_, "a", wait_for_one);
    a.open();
    for (int i = 0; i < 20; ++i) ASSERT_EQ(a.status(a.acquire(lock_number(i))), Status::granted);
    EXPECT_LE(waits(), 5) << "one a second, not one a turn";
    EXPECT_NE(a.health().warning.find("20 writes without the word of 1"), std::string::npos)
        << a.health().warning;
    EXPECT_EQ(a.health().state, "up");
}

TEST_F(RedisReplicas, that_stand_still_hold_nothing_up_for_long) {
    attach_replica();
    TierRun a(server_, "a", wait_for_one);
    a.open();
    int number = 1;
    const auto is_missing = [&] {
        EXPECT_EQ(a.status(a.acquire(lock_number(number++))), Status::granted);
        return a.health().warning.find("which are missing") != std::string::npos;
    };
    // The first that is late on a busy machine is as good as missing, until it answers.
    ASSERT_TRUE(a.run_until([&] { return !is_missing(); }));
    replica_.freeze();
    EXPECT_TRUE(is_missing());
    EXPECT_FALSE(a.has<core::authority::TierFailed>());
    replica_.thaw();
    ASSERT_TRUE(a.run_until([&] { return !is_missing(); }));
    const std::string last = "lock:order:settle:" + std::to_string(number - 1);
    EXPECT_EQ(on_replica({"EXISTS", last}).integer, 1);
}

TEST_F(RedisReplicas, are_not_waited_for_where_that_is_forbidden) {
    command({"ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-wait"});
    TierRun a(server_, "a", [](auto& options) {
        options.wait_replicas = 1;
        options.username = "app";
        options.password = "secret";
    });
    a.open();
    EXPECT_EQ(a.status(a.acquire(lock_number(1))), Status::granted);
    EXPECT_EQ(a.status(a.acquire(lock_number(2))), Status::granted);
    EXPECT_NE(a.health().warning.find("ACL SETUSER app +wait"), std::string::npos)
        << a.health().warning;
}

// The server had answered it: it is no doubt that its replicas were not asked to the end.
TEST_F(RedisReplicas, leave_no_doubt_of_what_was_answered) {
    TierRun a(server_, "a", [](auto& options) {
        options.wait_replicas = 1;
        options.operation_timeout = seconds(10);
    });
    a.open();
    const auto id = a.submit(a.acquire(lock_number(1)));
    a.turn();
    ASSERT_TRUE(a.run_until([&] {
        return command({"CLIENT", "LIST"}).string.find("cmd=wait") != std::string::npos;
    }));
    EXPECT_EQ(a.outcomes(), 0u);
    command({"CLIENT", "KILL", "TYPE", "normal"});
    const auto outcome = a.outcome(id);
    ASSERT_TRUE(std::holds_alternative<core::OperationReply>(outcome));
    EXPECT_EQ(std::get<core::OperationReply>(outcome).reply.status, Status::granted);
}

TEST_F(RedisReplicas, answer_nobody_after_a_withdrawal) {
    TierRun a(server_, "a", [](auto& options) {
        options.wait_replicas = 1;
        options.operation_timeout = seconds(5);
    });
    a.open();
    a.submit(a.acquire(lock_number(1)));
    a.turn();
    ASSERT_TRUE(a.run_until([&] {
        return command({"CLIENT", "LIST"}).string.find("cmd=wait") != std::string::npos;
    }));
    a.act(core::authority::TierWithdraw{3, "a new epoch"});
    a.serve_again();
    EXPECT_EQ(a.outcomes(), 0u);
    EXPECT_EQ(a.status(a.acquire(lock_number(2))), Status::granted);
    EXPECT_EQ(a.outcomes(), 0u);
}

}  // namespace
}  // namespace latchd::testing
