// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "../support/redis_process.hpp"
#include "arbiter_cases.hpp"
#include "arbiter_conformance.hpp"
#include "arbiter_run.hpp"
#include "redis_server.hpp"

#include <latchd/store/redis/arbiter.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

namespace latchd::testing {
namespace {

using namespace core::authority;

class RedisArbiterTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!RedisProcess::is_installed()) GTEST_SKIP() << "redis-server is not installed";
        server_.start();
    }
    ArbiterRun::Make make(const std::string& cluster = "default",
                          std::chrono::milliseconds patience = std::chrono::seconds(10)) const {
        store::redis::Options options;
        options.path = server_.socket_path();
        options.operation_timeout = patience;
        options.cluster = cluster;
        return [options](auto& context, auto& sink, auto boot_now) {
            return store::redis::make_arbiter(context, options, sink, std::move(boot_now));
        };
    }
    resp::Value command(std::initializer_list<std::string_view> arguments) {
        return RedisClient(server_.socket_path()).command(arguments);
    }
    ArbiterRun::Make make_impatient() const { return make("default", std::chrono::seconds(1)); }
    void kill() { server_.kill_hard(); }
    void start() { server_.start(); }
    void freeze() { server_.freeze(); }
    void thaw() { server_.thaw(); }

    static constexpr bool keeps_data = false;
    static constexpr auto told_within = std::chrono::seconds(3);

    RedisProcess server_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, AnyArbiter, RedisArbiterTest);

TEST_F(RedisArbiterTest, agrees_with_the_reference) {
    const char* const more = std::getenv("LATCHD_TEST_FULL");
    for (std::uint64_t seed = 1; seed <= (more != nullptr ? 50u : 5u); ++seed) {
        command({"FLUSHALL"});
        ArbiterRun arbiter(make(seed % 2 == 0 ? "default" : "blue"));
        expect_conformance(arbiter, seed, 600);
        if (HasFatalFailure()) return;
    }
}

TEST_F(RedisArbiterTest, decides_between_nodes) {
    const char* const more = std::getenv("LATCHD_TEST_FULL");
    for (std::uint64_t seed = 1; seed <= (more != nullptr ? 30u : 3u); ++seed) {
        command({"FLUSHALL"});
        expect_agreement(make(), seed, 150);
        if (HasFailure()) return;
    }
}

TEST_F(RedisArbiterTest, has_room_for_ten_thousand_claims) {
    ArbiterRun arbiter(make());
    expect_room(arbiter);
}

TEST_F(RedisArbiterTest, shows_the_process_and_its_clock) {
    ArbiterRun arbiter(make());
    const View view = arbiter.reply(ReadView{}).view;
    const std::string info = command({"INFO", "server"}).string;
    EXPECT_NE(info.find("run_id:" + view.arbiter.run_id + "\r\n"), std::string::npos);
    EXPECT_EQ(view.arbiter.role, Role::master);
    EXPECT_EQ(view.arbiter.replid2, "");
    const auto seconds = std::stoll(command({"TIME"}).elements[0].string);
    EXPECT_NEAR(static_cast<double>(view.shown) / 1000, static_cast<double>(seconds), 5);
    EXPECT_EQ(arbiter.health().state, "up");
    EXPECT_TRUE(arbiter.reply(first_epoch("a")).done);
    EXPECT_EQ(command({"HGET", "latchd:authority", "epoch"}).string, "5");
}

TEST_F(RedisArbiterTest, loads_its_scripts_again) {
    ArbiterRun arbiter(make());
    EXPECT_TRUE(arbiter.reply(beat(1)).done);
    command({"SCRIPT", "FLUSH"});
    EXPECT_EQ(arbiter.reply(beat(2)).view.nodes.at(0).beat, 2u);
}

TEST_F(RedisArbiterTest, a_replica_is_no_arbiter) {
    ArbiterRun arbiter(make());
    arbiter.reply(beat(1));
    command({"REPLICAOF", "127.0.0.1", "1"});
    const auto failed = arbiter.failure(ReadView{});
    EXPECT_TRUE(failed.is_down);
    EXPECT_NE(failed.text.find("replica"), std::string::npos) << failed.text;
    command({"REPLICAOF", "NO", "ONE"});
    EXPECT_EQ(arbiter.reply_in_the_end(ReadView{}).view.nodes.size(), 1u);
}

TEST_F(RedisArbiterTest, a_server_that_refuses_to_write_is_not_gone) {
    ArbiterRun arbiter(make());
    arbiter.reply(beat(1));
    command({"CONFIG", "SET", "maxmemory", "1"});
    const auto failed = arbiter.failure(beat(2));
    EXPECT_FALSE(failed.is_down);
    EXPECT_NE(failed.text.find("OOM"), std::string::npos) << failed.text;
    EXPECT_EQ(arbiter.reply(ReadView{}).view.nodes.at(0).beat, 1u) << "but it can be read";
    command({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_TRUE(arbiter.reply(beat(3)).done);
}

TEST_F(RedisArbiterTest, a_missing_permission_is_this_node_s_own_trouble) {
    ArbiterRun arbiter(make());
    arbiter.reply(beat(1));
    command({"ACL", "SETUSER", "default", "-hset"});
    const auto failed = arbiter.failure(beat(2));
    EXPECT_FALSE(failed.is_down) << failed.text;
}

TEST_F(RedisArbiterTest, what_cannot_be_understood_is_said_and_not_passed_over) {
    ArbiterRun arbiter(make());
    arbiter.reply(beat(1));
    command({"HSET", "latchd:rows", "9", "0 0 {\"name\":"});
    const auto failed = arbiter.failure(ReadView{});
    EXPECT_FALSE(failed.is_down);
    EXPECT_NE(failed.text.find("latchd:rows"), std::string::npos) << failed.text;
    arbiter.reply(Forget{9});
    EXPECT_EQ(arbiter.reply(ReadView{}).view.nodes.size(), 1u);
}

TEST_F(RedisArbiterTest, what_leavers_left_does_not_stay_for_ever) {
    ArbiterRun arbiter(make());
    Propose call = first_epoch("a");
    call.next.basis.ttl_max = call.next.basis.delay_max = std::chrono::seconds(1);
    arbiter.reply(call);
    arbiter.reply(Leave{7, {{}, {{{ResourceName("r"), LockId("1")}, 3}}, {}}, true});
    const auto left = command({"PTTL", "latchd:left"}).integer;
    EXPECT_GT(left, 4'000);
    EXPECT_LE(left, 5'000);
}

}  // namespace
}  // namespace latchd::testing
