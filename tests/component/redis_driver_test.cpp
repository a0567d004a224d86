// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_driver_fixture.hpp"

#include <set>
#include <unistd.h>

namespace latchd::testing {
namespace {

using core::Failure;
using core::Status;

LockKey key_of(int number) {
    return {ResourceName("order:settle"), LockId(std::to_string(number))};
}

TEST_F(RedisDriver, opens_an_empty_server_at_once_and_serves_locks) {
    StoreRun a(server_, "a");
    const auto opened = a.opened();
    EXPECT_EQ(opened.tier, "redis");
    EXPECT_TRUE(opened.shared);
    EXPECT_TRUE(opened.kill_works);
    EXPECT_EQ(opened.margin, std::chrono::milliseconds(50));
    EXPECT_GT(opened.epoch, 100'000u) << "the time floor";
    EXPECT_EQ(a.known().epoch, opened.epoch);

    const auto wish = a.acquire();
    const auto granted = a.reply(wish);
    EXPECT_EQ(granted.reply.status, Status::granted);
    EXPECT_EQ(epoch_of(granted.reply.record.value().fence), opened.epoch);
    EXPECT_EQ(command({"EXISTS", "lock:order:settle:1001"}).integer, 1);
    EXPECT_EQ(a.status(a.acquire()), Status::held);
    EXPECT_EQ(a.status(a.release(wish)), Status::released);
    EXPECT_EQ(command({"EXISTS", "lock:order:settle:1001"}).integer, 0);

    const auto health = a.health();
    EXPECT_EQ(health.state, "serving");
    EXPECT_EQ(health.type, "redis");
    EXPECT_EQ(health.epoch, opened.epoch);
    EXPECT_EQ(health.in_flight, 0u);
    EXPECT_EQ(health.warning, "");
    EXPECT_EQ(a.closings(), 0u);
}

TEST_F(RedisDriver, sends_what_came_in_one_turn_in_one_write_and_keeps_the_order) {
    StoreRun a(server_, "a");
    a.opened();
    std::vector<std::pair<core::OperationId, Status>> expected;
    for (int i = 0; i < 1'000; ++i) {
        const auto wish = a.acquire();
        expected.emplace_back(a.submit(wish), Status::granted);
        expected.emplace_back(a.submit(a.acquire()), Status::held);
        expected.emplace_back(a.submit(a.release(wish)), Status::released);
    }
    EXPECT_EQ(a.health().in_flight, 3'000u);
    command({"CONFIG", "RESETSTAT"});
    const BatchDepths before = a.health().batches;
    for (const auto& [id, status] : expected) {
        const auto outcome = a.outcome(id);
        ASSERT_TRUE(std::holds_alternative<core::OperationReply>(outcome));
        ASSERT_EQ(std::get<core::OperationReply>(outcome).reply.status, status);
    }
    const BatchDepths after = a.health().batches;
    const std::size_t deepest = BatchDepths::buckets - 1;
    EXPECT_EQ(after.at(deepest), before.at(deepest) + 1);
    EXPECT_GE(after.commands(), before.commands() + 3'000);
    // 47 scripts, the last of which is not full, and a few of probes.
    const int scripts = calls("evalsha");
    EXPECT_GE(scripts, 47);
    EXPECT_LT(scripts, 100);
}

TEST_F(RedisDriver, refuses_more_operations_than_may_be_in_flight) {
    StoreRun a(server_, "a", [](auto& options) { options.in_flight_max = 10; });
    a.opened();
    std::vector<core::OperationId> ids;
    for (int i = 0; i < 11; ++i) ids.push_back(a.submit(a.acquire(key_of(i))));
    const auto last = std::get<core::StoreFailed>(a.outcome(ids.back()));
    EXPECT_EQ(last.failure, Failure::refused);
    EXPECT_NE(last.text.find("10 operations"), std::string::npos);
    ids.pop_back();
    for (const auto id : ids) {
        EXPECT_TRUE(std::holds_alternative<core::OperationReply>(a.outcome(id)));
    }
    EXPECT_EQ(a.status(a.acquire(key_of(99))), Status::granted);
}

TEST_F(RedisDriver, fails_operations_before_the_opening_as_unsent) {
    StoreRun a(server_, "a");
    EXPECT_EQ(a.failure(a.acquire()).failure, Failure::unsent);
}

TEST_F(RedisDriver, lists_records_page_by_page) {
    StoreRun a(server_, "a");
    a.opened();
    for (int i = 0; i < 50; ++i) ASSERT_EQ(a.status(a.acquire(key_of(i))), Status::granted);
    std::set<std::string> seen;
    core::List list{.pattern = "order:*", .count = 10, .cursor = 0};
    do {
        const auto page = a.reply(list);
        EXPECT_EQ(page.reply.status, Status::listed);
        for (const auto& row : page.rows) seen.insert(row.key.id.str());
        list.cursor = page.cursor;
    } while (list.cursor != 0);
    EXPECT_EQ(seen.size(), 50u);
}

TEST_F(RedisDriver, lets_two_nodes_that_race_on_an_empty_server_agree) {
    for (int round = 0; round < 10; ++round) {
        command({"FLUSHALL"});
        StoreRun a(server_, "a");
        StoreRun b(server_, "b");
        // Turn by turn, so that both see the empty server.
        while (a.health().state != "serving" || b.health().state != "serving") {
            a.run_until([] { return false; }, std::chrono::milliseconds(1));
            b.run_until([] { return false; }, std::chrono::milliseconds(1));
        }
        EXPECT_EQ(a.opened().epoch, b.opened().epoch);
        const auto wish = a.acquire();
        const auto first = a.reply(wish);
        ASSERT_EQ(first.reply.status, Status::granted);
        EXPECT_EQ(b.status(b.acquire()), Status::held);
        EXPECT_EQ(a.status(a.release(wish)), Status::released);
        const auto second = b.reply(b.acquire());
        ASSERT_EQ(second.reply.status, Status::granted);
        EXPECT_GT(second.reply.record->fence, first.reply.record->fence);
    }
}

TEST_F(RedisDriver, hears_what_another_node_did_to_its_lock) {
    StoreRun a(server_, "a");
    StoreRun b(server_, "b");
    a.opened();
    b.opened();
    ASSERT_TRUE(a.run_until([&] { return a.health().connections == 2; }));
    const auto wish = a.acquire();
    const auto granted = a.reply(wish);
    auto foreign = b.release(wish);
    foreign.node = NodeName("b");
    EXPECT_EQ(b.status(foreign), Status::released);
    const auto message = a.message();
    EXPECT_EQ(message.kind, core::NodeMessage::Kind::released);
    EXPECT_EQ(message.key, settle_1001);
    EXPECT_EQ(message.fence, granted.reply.record->fence);
}

TEST_F(RedisDriver, says_when_messages_may_have_been_missed) {
    StoreRun a(server_, "a");
    a.opened();
    ASSERT_TRUE(a.run_until([&] { return a.health().connections == 2; }));
    command({"CLIENT", "KILL", "TYPE", "pubsub"});
    ASSERT_TRUE(a.run_until([&] { return a.health().connections == 1; }));
    ASSERT_TRUE(a.run_until([&] { return a.health().connections == 2; }));
    EXPECT_EQ(a.closings(), 0u) << "the end of the message channel closes nothing";
}

TEST_F(RedisDriver, sweeps_what_former_epochs_left_and_nothing_of_the_users) {
    StoreRun a(server_, "a");
    const auto first = a.opened();
    for (int i = 0; i < 1'200; ++i) a.submit(a.acquire(key_of(i)));
    ASSERT_TRUE(a.run_until([&] { return a.unanswered() == 0; }));
    command({"SET", "lock:order:settle:theirs", "not latchd's"});
    command({"SET", "theirs", "x"});
    command({"DEL", "latchd:marker"});
    const auto second = [&] {
        (void)a.failure(a.acquire(key_of(5'000)));
        return a.opened();
    }();
    EXPECT_EQ(second.epoch, first.epoch + 1);
    const auto kept = a.acquire(key_of(7));
    EXPECT_EQ(a.status(kept), Status::granted) << "a value of a former epoch is void";
    // Left: the user's, and the new one.
    EXPECT_TRUE(a.run_until([&] { return command({"KEYS", "lock:*"}).elements.size() == 2; }));
    EXPECT_EQ(command({"GET", "lock:order:settle:theirs"}).string, "not latchd's");
    EXPECT_EQ(command({"GET", "theirs"}).string, "x");
    EXPECT_EQ(a.status(a.release(kept)), Status::released);
}

TEST_F(RedisDriver, works_over_tcp_with_a_name_and_a_database) {
    command({"CONFIG", "SET", "port", "0"});
    int port = 20'000 + static_cast<int>(::getpid() % 20'000);
    while (command({"CONFIG", "SET", "port", std::to_string(port)}).type !=
           resp::Value::Type::simple_string) {
        ++port;
    }
    StoreRun a(server_, "a node", [&](auto& options) {
        options.path.clear();
        options.host = "localhost";
        options.port = static_cast<std::uint16_t>(port);
        options.database = 3;
    });
    a.opened();
    EXPECT_EQ(a.status(a.acquire()), Status::granted);
    RedisClient client(server_.socket_path());
    client.command({"SELECT", "3"});
    EXPECT_EQ(client.command({"EXISTS", "lock:order:settle:1001"}).integer, 1);
    EXPECT_NE(command({"CLIENT", "LIST"}).string.find("name=latchd:a_node"), std::string::npos);
}

}  // namespace
}  // namespace latchd::testing
