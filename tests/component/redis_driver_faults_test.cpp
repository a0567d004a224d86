// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "../support/stalls.hpp"
#include "redis_driver_fixture.hpp"

#include <filesystem>

// Bad days of a Redis server, seen through the port of its store.
namespace latchd::testing {
namespace {

using core::Failure;
using core::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

LockKey numbered(int number) {
    return {ResourceName("order:settle"), LockId(std::to_string(number))};
}

// What was submitted reaches the server with a reading of the clock that is off by seconds; ahead,
// so that nothing looks as if it had been under way for so long.
class RedisClock : public RedisDriver {
protected:
    void leave_with_wrong_clock(StoreRun& run) {
        server_.freeze();
        run.skew += seconds(5);
        run.turn();
        run.skew -= seconds(5);
        server_.thaw();
    }
};

Fence fence_of(const core::OperationReply& reply) { return reply.reply.record.value().fence; }

TEST_F(RedisDriver, takes_the_next_epoch_after_kill_and_an_empty_restart) {
    StoreRun a(server_, "a");
    const auto first = a.opened();
    const auto granted = a.reply(a.acquire());
    server_.kill_hard();
    EXPECT_FALSE(a.closed().reason.empty());
    EXPECT_EQ(a.failure(a.acquire()).failure, Failure::unsent);
    server_.start();
    const test::Stalls stalls;
    const auto back = std::chrono::steady_clock::now();
    const auto second = a.opened();
    const auto took = std::chrono::steady_clock::now() - back;
    EXPECT_LT(took, seconds(2) + stalls.sum());
    EXPECT_GT(second.epoch, first.epoch);
    const auto again = a.reply(a.acquire());
    EXPECT_EQ(again.reply.status, Status::granted);
    EXPECT_GT(fence_of(again), fence_of(granted));
}

TEST_F(RedisDriver, does_not_believe_an_old_snapshot) {
    StoreRun a(server_, "a");
    const auto first = a.opened();
    const auto released = a.acquire();
    ASSERT_EQ(a.status(released), Status::granted);
    command({"SAVE"});
    ASSERT_EQ(a.status(a.release(released)), Status::released);
    const auto later = a.reply(a.acquire(numbered(2)));
    server_.kill_hard();
    a.closed();
    server_.start();
    EXPECT_EQ(command({"EXISTS", "lock:order:settle:1001"}).integer, 1) << "risen from the dead";
    const auto second = a.opened();
    EXPECT_GT(second.epoch, first.epoch);
    const auto again = a.reply(a.acquire());
    EXPECT_EQ(again.reply.status, Status::granted);
    EXPECT_GT(fence_of(again), fence_of(later));
}

TEST_F(RedisDriver, leaves_a_demoted_server_and_distrusts_it_when_it_is_back) {
    StoreRun a(server_, "a");
    const auto first = a.opened();
    ASSERT_EQ(a.status(a.acquire()), Status::granted);
    command({"REPLICAOF", "127.0.0.1", "1"});
    const auto refused = a.failure(a.acquire(numbered(2)));
    EXPECT_EQ(refused.failure, Failure::refused);
    EXPECT_EQ(refused.text.rfind("READONLY", 0), 0u) << refused.text;
    a.closed();
    ASSERT_TRUE(
        a.run_until([&] { return a.health().last_error.find("replica") != std::string::npos; }));
    command({"REPLICAOF", "NO", "ONE"});
    EXPECT_GT(a.opened().epoch, first.epoch);
    EXPECT_EQ(a.status(a.acquire()), Status::granted) << "locks of before are void";
}

TEST_F(RedisDriver, sees_replicaof_away_and_back_on_an_idle_connection_by_its_probes) {
    StoreRun a(server_, "a", [](auto& options) { options.check.inter = milliseconds(100); });
    const auto first = a.opened();
    RedisClient client(server_.socket_path());
    client.command({"MULTI"});
    client.command({"REPLICAOF", "127.0.0.1", "1"});
    client.command({"REPLICAOF", "NO", "ONE"});
    client.command({"EXEC"});
    a.closed();
    EXPECT_GT(a.opened().epoch, first.epoch);
}

TEST_F(RedisDriver, takes_the_next_epoch_after_flushall) {
    StoreRun a(server_, "a");
    StoreRun b(server_, "b");
    const auto first = a.opened();
    b.opened();
    const auto granted = a.reply(a.acquire());
    command({"FLUSHALL"});
    const auto stale = a.failure(a.acquire());
    EXPECT_EQ(stale.failure, Failure::stale);
    const auto second = a.opened();
    EXPECT_GT(second.epoch, first.epoch);
    EXPECT_EQ(b.opened().epoch, second.epoch) << "the other node follows";
    const auto again = b.reply(b.acquire());
    EXPECT_GT(fence_of(again), fence_of(granted));
}

TEST_F(RedisDriver, loads_scripts_again_without_the_node_noticing) {
    StoreRun a(server_, "a");
    a.opened();
    for (int round = 0; round < 20; ++round) {
        command({"SCRIPT", "FLUSH"});
        std::vector<std::pair<core::OperationId, Status>> expected;
        for (int i = 0; i < 20; ++i) {
            const auto wish = a.acquire();
            expected.emplace_back(a.submit(wish), Status::granted);
            expected.emplace_back(a.submit(a.acquire()), Status::held);
            expected.emplace_back(a.submit(a.release(wish)), Status::released);
        }
        for (const auto& [id, status] : expected) {
            const auto outcome = a.outcome(id);
            ASSERT_TRUE(std::holds_alternative<core::OperationReply>(outcome)) << round;
            ASSERT_EQ(std::get<core::OperationReply>(outcome).reply.status, status) << round;
        }
    }
    EXPECT_EQ(a.closings(), 0u);
}

TEST_F(RedisDriver, leaves_a_frozen_server_in_doubt_then_kills_and_looks) {
    StoreRun a(server_, "a");
    const auto first = a.opened();
    const int before = calls("client|kill");
    EXPECT_GE(before, 1) << "to see whether it may";
    server_.freeze();
    const auto wish = a.acquire();
    const test::Stalls stalls;
    const auto sent = std::chrono::steady_clock::now();
    const auto doubt = a.failure(wish);
    const auto took = std::chrono::steady_clock::now() - sent;
    EXPECT_EQ(doubt.failure, Failure::in_doubt) << doubt.text;
    EXPECT_GE(took, milliseconds(900));
    EXPECT_LT(took, milliseconds(1500) + stalls.sum());
    a.closed();
    server_.thaw();
    const auto opened = a.opened();
    EXPECT_EQ(opened.epoch, first.epoch) << "the same process, nothing was lost";
    EXPECT_TRUE(opened.kill_works);
    EXPECT_GT(calls("client|kill"), before) << "the connection in doubt";
    const Status undone = a.status(a.undo(wish));
    EXPECT_TRUE(undone == Status::undone || undone == Status::nothing);
    // Nothing of the doubtful one can come any more: not now, not after all that is queued.
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(a.status(core::Inspect{settle_1001}), Status::not_held);
    }
    const std::string clients = command({"CLIENT", "LIST", "TYPE", "normal"}).string;
    const auto at = clients.find("name=latchd:a ");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(clients.find("name=latchd:a ", at + 1), std::string::npos) << clients;
}

// After a restart ids start low again: the id of a lost connection may be somebody else's now.
TEST_F(RedisDriver, never_kills_by_an_id_of_another_process) {
    StoreRun a(server_, "a");
    a.opened();
    server_.freeze();
    const auto id = a.submit(a.acquire());
    a.turn();
    server_.kill_hard();
    EXPECT_EQ(std::get<core::StoreFailed>(a.outcome(id)).failure, Failure::in_doubt);
    server_.start();
    // Takes all the low ids before the store is back.
    std::vector<std::unique_ptr<RedisClient>> others;
    for (int i = 0; i < 40; ++i) {
        others.push_back(std::make_unique<RedisClient>(server_.socket_path()));
        others.back()->command({"PING"});
    }
    a.opened();
    for (const auto& other : others) {
        EXPECT_EQ(other->command({"PING"}).string, "PONG");
    }
}

TEST_F(RedisDriver, closes_an_idle_store_whose_server_is_frozen) {
    StoreRun a(server_, "a");
    a.opened();
    server_.freeze();
    const auto closed = a.closed();
    EXPECT_NE(closed.reason.find("probe"), std::string::npos) << closed.reason;
    server_.thaw();
    a.opened();
    EXPECT_EQ(a.status(a.acquire()), Status::granted);
}

TEST_F(RedisDriver, answers_each_operation_once_when_its_connection_is_cut) {
    StoreRun a(server_, "a");
    a.opened();
    std::vector<core::OperationId> ids;
    for (int i = 0; i < 2'000; ++i) ids.push_back(a.submit(a.acquire(numbered(i))));
    command({"CLIENT", "KILL", "TYPE", "normal"});
    int answered = 0;
    int doubtful = 0;
    int unsent = 0;
    for (const auto id : ids) {
        const auto outcome = a.outcome(id);
        if (const auto* failed = std::get_if<core::StoreFailed>(&outcome)) {
            ASSERT_TRUE(failed->failure == Failure::in_doubt || failed->failure == Failure::unsent);
            ++(failed->failure == Failure::in_doubt ? doubtful : unsent);
        } else {
            ++answered;
        }
    }
    EXPECT_EQ(answered + doubtful + unsent, 2'000);
    EXPECT_EQ(a.unanswered(), 0u);
    EXPECT_EQ(a.health().in_flight, 0u);
    EXPECT_GT(doubtful + unsent, 0);
    a.opened();
}

TEST_F(RedisDriver, goes_on_without_the_right_to_kill) {
    command({"ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-client|kill"});
    StoreRun a(server_, "a", [](auto& options) {
        options.username = "app";
        options.password = "secret";
    });
    EXPECT_FALSE(a.opened().kill_works);
    EXPECT_EQ(a.status(a.acquire()), Status::granted);
    EXPECT_NE(a.health().warning.find("ACL SETUSER app +client|kill"), std::string::npos)
        << a.health().warning;
    command({"ACL", "SETUSER", "app", "+@all", "-client|id"});
    command({"CLIENT", "KILL", "USER", "app"});
    EXPECT_FALSE(a.opened().kill_works);
    EXPECT_NE(a.health().warning.find("ACL SETUSER app +client|id"), std::string::npos)
        << a.health().warning;
    command({"ACL", "SETUSER", "app", "+@all"});
    command({"CLIENT", "KILL", "USER", "app"});
    EXPECT_TRUE(a.opened().kill_works);
    EXPECT_EQ(a.health().warning, "");
}

TEST_F(RedisDriver, names_the_permission_that_is_missing) {
    struct Case {
        const char* rule;
        const char* says;
    };
    for (const Case& c : {Case{"-evalsha", "ACL SETUSER app +evalsha"},
                          Case{"-script|load", "ACL SETUSER app +script|load"},
                          Case{"-info", "ACL SETUSER app +info"}}) {
        command({"ACL", "SETUSER", "app", "reset", "on", ">secret", "~*", "&*", "+@all", c.rule});
        StoreRun a(server_, "a", [](auto& options) {
            options.username = "app";
            options.password = "secret";
        });
        EXPECT_TRUE(a.run_until([&] { return a.troubles().find(c.says) != std::string::npos; }))
            << a.troubles();
        command({"ACL", "SETUSER", "app", "+@all"});
        a.opened();
    }
}

TEST_F(RedisDriver, says_that_its_password_is_wrong) {
    command({"ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all"});
    StoreRun a(server_, "a", [](auto& options) {
        options.username = "app";
        options.password = "guess";
    });
    EXPECT_TRUE(a.run_until([&] {
        return a.health().last_error.find("WRONGPASS") != std::string::npos;
    })) << a.health().last_error;
    EXPECT_EQ(a.health().last_error.find("guess"), std::string::npos);
    command({"ACL", "SETUSER", "app", ">guess"});
    a.opened();
}

TEST_F(RedisDriver, closes_on_a_server_out_of_memory_and_comes_back) {
    StoreRun a(server_, "a");
    const auto first = a.opened();
    command({"CONFIG", "SET", "maxmemory", "1"});
    const auto refused = a.failure(a.acquire());
    EXPECT_EQ(refused.failure, Failure::refused);
    EXPECT_EQ(refused.text.rfind("OOM", 0), 0u) << refused.text;
    const auto closed = a.closed();
    EXPECT_NE(closed.reason.find("OOM"), std::string::npos) << closed.reason;
    EXPECT_EQ(a.health().state, "down");
    command({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_GE(a.opened().epoch, first.epoch);
    EXPECT_EQ(a.status(a.acquire()), Status::granted);
}

TEST_F(RedisDriver, closes_on_a_server_whose_disk_fails) {
    server_.kill_hard();
    server_.start({"--dbfilename", "blocked"});
    StoreRun a(server_, "a");
    const auto first = a.opened();
    std::filesystem::create_directories(server_.folder() + "/blocked/x");
    command({"CONFIG", "SET", "save", "3600 100000"});
    command({"BGSAVE"});
    const auto closed = a.closed();
    EXPECT_NE(closed.reason.find("MISCONF"), std::string::npos) << closed.reason;
    command({"CONFIG", "SET", "save", ""});
    EXPECT_GE(a.opened().epoch, first.epoch);
}

TEST_F(RedisDriver, waits_for_a_server_that_is_loading) {
    StoreRun a(server_, "a");
    const auto first = a.opened();
    command({"DEBUG", "POPULATE", "3000"});
    command({"SAVE"});
    server_.kill_hard();
    server_.start({"--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024"});
    ASSERT_TRUE(a.run_until([&] {
        return a.health().last_error.find("LOADING") != std::string::npos;
    })) << a.health().last_error;
    EXPECT_GT(a.opened().epoch, first.epoch);
}

TEST_F(RedisDriver, warns_of_a_server_that_may_evict_locks) {
    command({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
    StoreRun a(server_, "a", [](auto& options) { options.check.inter = milliseconds(50); });
    a.opened();
    EXPECT_NE(a.health().warning.find("volatile-lru"), std::string::npos);
    EXPECT_EQ(a.health().warning.find("evicted"), std::string::npos);
    const auto probed = a.health().checks_ok;
    ASSERT_TRUE(a.run_until([&] { return a.health().checks_ok > probed; }));
    for (int i = 0; i < 100; ++i) ASSERT_EQ(a.status(a.acquire(numbered(i))), Status::granted);
    command({"CONFIG", "SET", "maxmemory", "1000000"});
    EXPECT_TRUE(a.run_until([&] {
        return a.health().warning.find("evicted") != std::string::npos;
    })) << a.health().warning;
}

// A host that was paused between reading its clock and sending.
TEST_F(RedisClock, sends_once_more_what_the_clock_check_refused) {
    StoreRun a(server_, "a");
    const auto first = a.opened();
    command({"CONFIG", "RESETSTAT"});
    const auto id = a.submit(a.acquire());
    leave_with_wrong_clock(a);
    const auto outcome = a.outcome(id);
    ASSERT_TRUE(std::holds_alternative<core::OperationReply>(outcome));
    EXPECT_EQ(std::get<core::OperationReply>(outcome).reply.status, Status::granted);
    EXPECT_EQ(a.health().epoch, first.epoch);
    EXPECT_EQ(a.closings(), 0u);
    EXPECT_GE(calls("evalsha"), 3) << "the LOCK, a probe, and the LOCK again";
}

TEST_F(RedisClock, sends_each_by_itself_of_many_that_the_clock_check_refused) {
    StoreRun a(server_, "a");
    a.opened();
    const auto held = a.acquire(numbered(1));
    ASSERT_EQ(a.status(held), Status::granted);
    command({"CONFIG", "RESETSTAT"});
    const auto lock = a.submit(a.acquire(numbered(2)));
    const auto unlock = a.submit(a.release(held));
    leave_with_wrong_clock(a);
    EXPECT_EQ(std::get<core::OperationReply>(a.outcome(unlock)).reply.status, Status::released);
    EXPECT_EQ(std::get<core::OperationReply>(a.outcome(lock)).reply.status, Status::granted);
    EXPECT_EQ(a.closings(), 0u);
    EXPECT_GE(calls("evalsha"), 3) << "both together, then each by itself";
}

TEST_F(RedisDriver, refuses_of_many_only_what_it_has_no_right_to) {
    command({"ACL",
             "SETUSER",
             "app",
             "on",
             ">secret",
             "~latchd:*",
             "~lock:order:*",
             "~bar:*",
             "~queue:*",
             "&*",
             "+@all"});
    StoreRun a(server_, "a", [](auto& options) {
        options.username = "app";
        options.password = "secret";
    });
    a.opened();
    const auto first = a.submit(a.acquire(numbered(1)));
    const auto other = a.submit(a.acquire({ResourceName("other"), LockId("1")}));
    const auto last = a.submit(a.acquire(numbered(2)));
    EXPECT_EQ(std::get<core::OperationReply>(a.outcome(first)).reply.status, Status::granted);
    const auto refused = std::get<core::StoreFailed>(a.outcome(other));
    EXPECT_EQ(refused.failure, Failure::refused);
    EXPECT_NE(refused.text.find("ACL SETUSER app"), std::string::npos) << refused.text;
    EXPECT_EQ(std::get<core::OperationReply>(a.outcome(last)).reply.status, Status::granted);
    EXPECT_EQ(a.closings(), 0u);
}

TEST_F(RedisDriver, takes_the_next_epoch_after_a_step_of_the_clock) {
    StoreRun a(server_, "a", [](auto& options) { options.check.inter = milliseconds(100); });
    const auto first = a.opened();
    ASSERT_TRUE(a.run_until([&] { return a.health().checks_ok >= 2; }));
    a.skew -= seconds(5);
    const auto closed = a.closed();
    EXPECT_NE(closed.reason.find("clock"), std::string::npos) << closed.reason;
    EXPECT_GT(a.opened().epoch, first.epoch);
    EXPECT_EQ(a.status(a.acquire()), Status::granted);
}

TEST_F(RedisDriver, waits_for_a_server_that_is_not_there_yet) {
    server_.kill_hard();
    std::filesystem::remove(server_.socket_path());
    StoreRun a(server_, "a");
    EXPECT_FALSE(a.closed().reason.empty());
    EXPECT_EQ(a.health().state, "down");
    server_.start();
    a.opened();
}

TEST_F(RedisDriver, leaves_a_damaged_record_to_the_operator) {
    command({"SET", "latchd:authority", "not a hash"});
    StoreRun a(server_, "a");
    EXPECT_FALSE(a.run_until([&] { return a.health().state == "serving"; }, seconds(2)));
    EXPECT_EQ(command({"GET", "latchd:authority"}).string, "not a hash");
    command({"DEL", "latchd:authority"});
    a.opened();
}

}  // namespace
}  // namespace latchd::testing
