// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "../support/stalls.hpp"
#include "mysql_tier_fixture.hpp"

#include <latchd/runtime/clock.hpp>

#include <algorithm>
#include <string>

namespace latchd::testing {
namespace {

namespace authority = core::authority;
using core::Failure;
using core::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Evidence = authority::TierFailed::Evidence;

class MysqlTier : public MysqlTierTest {};

TEST_F(MysqlTier, says_who_is_there_and_serves_once_asked) {
    place(7, "n", "open");
    TierHost& host = make("a");
    const auto early = host.submit(acquire("1"));
    EXPECT_EQ(failure(host, early).failure, Failure::unsent);
    serve(host, 7, "n");
    ASSERT_NE(host.last<authority::TierIdentified>(), nullptr);
    EXPECT_FALSE(host.last<authority::TierIdentified>()->identity.run_id.empty());
    EXPECT_FALSE(host.last<authority::TierIdentified>()->marker);
    EXPECT_TRUE(host.last<authority::TierReady>()->kill_works);
    const core::Acquire wish = acquire("1");
    const auto granted = reply(host, wish);
    ASSERT_EQ(granted.reply.status, Status::granted);
    EXPECT_EQ(granted.reply.record->fence, make_fence(7, 1));
    EXPECT_EQ(reply(host, acquire("1")).reply.status, Status::held);
    EXPECT_EQ(reply(host, core::Renew{wish.key, wish.token, wish.node, {}, false}).reply.status,
              Status::renewed);
    EXPECT_EQ(reply(host, core::Release{wish.key, wish.token, wish.node, {}}).reply.status,
              Status::released);
    EXPECT_EQ(reply(host, acquire("1")).reply.record->fence, make_fence(7, 2));
}

TEST_F(MysqlTier, operations_on_one_lock_keep_their_order_and_others_share_statements) {
    TierHost& host = serving("a");
    std::vector<core::OperationId> ids;
    for (int i = 0; i < 200; ++i) {
        const core::Acquire wish = acquire(std::to_string(i));
        ids.push_back(host.submit(wish));
        ids.push_back(host.submit(core::Release{wish.key, wish.token, wish.node, {}}));
        ids.push_back(host.submit(acquire(std::to_string(i))));
    }
    for (std::size_t i = 0; i < ids.size(); i += 3) {
        EXPECT_EQ(reply(host, ids[i]).reply.status, Status::granted);
        EXPECT_EQ(reply(host, ids[i + 1]).reply.status, Status::released);
        EXPECT_EQ(reply(host, ids[i + 2]).reply.record->fence, make_fence(7, 2));
    }
    const BatchDepths batches = host.tier().health().batches;
    EXPECT_EQ(batches.commands(), 600u);
    EXPECT_LT(batches.batches(), 200u);
    core::List list;
    list.count = 60;
    std::size_t rows = 0;
    do {
        const auto page = reply(host, list);
        ASSERT_EQ(page.reply.status, Status::listed);
        rows += page.rows.size();
        list.cursor = page.cursor;
    } while (list.cursor != 0);
    EXPECT_EQ(rows, 200u);
}

TEST_F(MysqlTier, another_placement_is_stale_and_nothing_changes) {
    TierHost& host = serving("a");
    const core::Acquire wish = acquire("1");
    ASSERT_EQ(reply(host, wish).reply.status, Status::granted);
    const std::vector<std::pair<Epoch, std::pair<const char*, const char*>>> others{
        {8, {"n", "open"}}, {7, {"m", "open"}}, {7, {"n", "settling"}}};
    for (const auto& [epoch, other] : others) {
        place(epoch, other.first, other.second);
        const std::string rows = value("SELECT SUM(expire_at+version) FROM latchd.lock_record");
        const std::size_t doubted = host.count<authority::TierDoubted>();
        for (const core::Operation& operation :
             std::vector<core::Operation>{acquire("2"),
                                          core::Renew{wish.key, wish.token, wish.node, {}, false},
                                          core::Release{wish.key, wish.token, wish.node, {}},
                                          core::Inspect{wish.key}}) {
            EXPECT_EQ(failure(host, host.submit(operation)).failure, Failure::stale);
        }
        EXPECT_GT(host.count<authority::TierDoubted>(), doubted);
        EXPECT_EQ(value("SELECT SUM(expire_at+version) FROM latchd.lock_record"), rows);
    }
}

TEST_F(MysqlTier, refuses_to_grant_by_a_clock_that_is_elsewhere) {
    place(7, "n", "open");
    TierHost& host = make("a");
    ASSERT_TRUE(run_until([&] { return host.count<authority::TierProbed>() > 0; }));
    const auto* probed = host.last<authority::TierProbed>();
    const Duration offset = milliseconds(static_cast<std::int64_t>(probed->shown)) -
                            probed->received.time_since_epoch();
    authority::TierServe serve{1, 7, authority::Nonce("n"), 0, offset + seconds(5), false};
    host.tier().act(std::move(serve));
    ASSERT_TRUE(run_until([&] { return host.count<authority::TierReady>() > 0; }));
    EXPECT_EQ(failure(host, host.submit(acquire("1"))).failure, Failure::clock);
    host.tier().act(authority::TierWithdraw{1, "test"});
    serve = {1, 7, authority::Nonce("n"), 0, offset + milliseconds(500), false};
    host.tier().act(std::move(serve));
    ASSERT_TRUE(run_until([&] { return host.count<authority::TierReady>() > 1; }));
    core::Acquire strict = acquire("strict");
    strict.strict = true;
    EXPECT_EQ(failure(host, host.submit(strict)).failure, Failure::clock);
    EXPECT_EQ(reply(host, acquire("available")).reply.status, Status::granted);
    serve = {1, 7, authority::Nonce("n"), 0, offset, false};
    host.tier().act(authority::TierWithdraw{1, "test"});
    host.tier().act(std::move(serve));
    ASSERT_TRUE(run_until([&] { return host.count<authority::TierReady>() > 2; }));
    EXPECT_EQ(reply(host, acquire("1")).reply.status, Status::granted);
}

// T-D02, T-D04: a second session has the row.
TEST_F(MysqlTier, a_busy_row_is_told_as_busy_and_is_no_evidence) {
    TierHost& host = serving("a");
    const core::Acquire wish = acquire("1");
    ASSERT_EQ(reply(host, wish).reply.status, Status::granted);
    const auto other = connect(options());
    query(*other, "START TRANSACTION;SELECT * FROM lock_record FOR UPDATE");
    const core::Release release{wish.key, wish.token, wish.node, {}};
    const auto id = host.submit(release);
    const core::StoreFailed failed = failure(host, id);
    EXPECT_EQ(failed.failure, Failure::refused);
    EXPECT_TRUE(failed.text.starts_with("busy")) << failed.text;
    EXPECT_EQ(host.count<authority::TierFailed>(), 0u);
    query(*other, "ROLLBACK");
    EXPECT_EQ(reply(host, release).reply.status, Status::released);
    EXPECT_EQ(host.count<authority::TierFailed>(), 0u);
}

TEST_F(MysqlTier, what_a_killed_connection_had_is_in_doubt_and_over_before_the_next) {
    TierHost& host = serving("a");
    ASSERT_EQ(reply(host, acquire("1")).reply.status, Status::granted);
    const auto other = connect(options());
    query(*other, "START TRANSACTION;SELECT * FROM lock_record WHERE business_id='1' FOR UPDATE");
    const core::Acquire wish = acquire("1");
    const auto id = host.submit(wish);
    std::string thread;
    ASSERT_TRUE(run_until([&] {
        thread = value(
            "SELECT IFNULL(MAX(id),0) FROM information_schema.processlist WHERE "
            "info LIKE 'INSERT INTO lock_record%'");
        return thread != "0";
    }));
    sql("KILL CONNECTION " + thread);
    EXPECT_EQ(failure(host, id).failure, Failure::in_doubt);
    query(*other, "ROLLBACK");
    EXPECT_EQ(reply(host, wish).reply.status, Status::held);
    EXPECT_EQ(value("SELECT COUNT(*) FROM information_schema.processlist WHERE id=" + thread), "0");
}

// T-D12: frozen in the middle of a statement, for longer than anybody waits.
TEST_F(MysqlTier, a_frozen_server_leaves_doubt_that_the_next_connection_ends) {
    store::mysql::Options quick = tier_options("a");
    quick.server.operation_timeout = milliseconds(300);
    quick.server.connect_timeout = milliseconds(500);
    quick.check.timeout = milliseconds(200);
    TierHost& host = serving(quick);
    std::vector<core::Acquire> wishes;
    std::vector<core::OperationId> ids;
    server().freeze();
    for (int i = 0; i < 20; ++i) {
        wishes.push_back(acquire(std::to_string(i)));
        ids.push_back(host.submit(wishes.back()));
    }
    ASSERT_TRUE(run_until([&] {
        const auto* failed = host.last<authority::TierFailed>();
        return failed != nullptr && !failed->is_connected;
    }));
    for (const auto id : ids) EXPECT_EQ(failure(host, id).failure, Failure::in_doubt);
    for (const auto& event : host.events) {
        const auto* failed = std::get_if<authority::TierFailed>(&event);
        if (failed == nullptr) continue;
        EXPECT_EQ(failed->evidence, Evidence::failed) << failed->reason;
    }
    const std::size_t probes = host.count<authority::TierProbed>();
    server().thaw();
    ASSERT_TRUE(run_until([&] { return host.count<authority::TierProbed>() > probes; }));
    serve(host, 7, "n");
    for (const core::Acquire& wish : wishes) {
        const Status status = insist(host, wish).reply.status;
        EXPECT_TRUE(status == Status::granted || status == Status::adopted);
    }
    EXPECT_EQ(value("SELECT MAX(fence&0xffffffff) FROM latchd.lock_record"), "1");
}

TEST_F(MysqlTier, a_dead_server_is_evidence_at_once) {
    TierHost& host = serving("a");
    server().kill_hard();
    ASSERT_TRUE(run_until([&] {
        const auto* failed = host.last<authority::TierFailed>();
        return failed != nullptr && failed->evidence == Evidence::refused;
    }));
    EXPECT_EQ(failure(host, host.submit(acquire("1"))).failure, Failure::unsent);
    server().start();
    const std::size_t probes = host.count<authority::TierProbed>();
    ASSERT_TRUE(run_until([&] { return host.count<authority::TierProbed>() > probes; }));
    serve(host, 7, "n");
    EXPECT_EQ(reply(host, acquire("1")).reply.status, Status::granted);
}

// T-D09: whoever may write there is told that the server is a replica.
TEST_F(MysqlTier, a_read_only_server_is_left) {
    // A probe that sees it first leaves the operation in doubt.
    store::mysql::Options options = tier_options("a");
    options.check.inter = seconds(60);
    TierHost& host = serving(options);
    ASSERT_EQ(reply(host, acquire("1")).reply.status, Status::granted);
    // So does a connection that is only then ready.
    ASSERT_TRUE(run_until([&] { return host.tier().health().connections == options.connections; }));
    sql("SET GLOBAL read_only=1");
    const core::StoreFailed failed = failure(host, host.submit(acquire("2")));
    EXPECT_EQ(failed.failure, Failure::stale) << failed.text;
    ASSERT_TRUE(run_until([&] {
        const auto* seen = host.last<authority::TierIdentified>();
        return seen->identity.role == authority::Role::replica;
    }));
    ASSERT_TRUE(run_until([&] {
        const auto* last = host.last<authority::TierFailed>();
        return last != nullptr && !last->is_connected;
    }));
    sql("SET GLOBAL read_only=0");
    EXPECT_EQ(value("SELECT COUNT(*) FROM latchd.lock_record WHERE business_id='2'"), "0");
    ASSERT_TRUE(run_until([&] {
        return host.last<authority::TierIdentified>()->identity.role == authority::Role::master;
    }));
}

TEST_F(MysqlTier, no_permission_is_this_nodes_own_trouble) {
    place(7, "n", "open");
    make("a");  // makes the tables
    ASSERT_TRUE(run_until([&] { return hosts_[0]->count<authority::TierProbed>() > 0; }));
    sql("CREATE USER few@'127.0.0.1'");
    sql("GRANT SELECT ON latchd.* TO few@'127.0.0.1'");
    store::mysql::Options few = tier_options("b");
    few.server.username = "few";
    TierHost& host = make(few);
    ASSERT_TRUE(run_until([&] { return host.last<authority::TierFailed>() != nullptr; }));
    EXPECT_EQ(host.last<authority::TierFailed>()->evidence, Evidence::access);
    sql("DROP USER few@'127.0.0.1'");
}

// Its first connection, and so its health checks, live on.
TEST_F(MysqlTier, says_that_it_gets_no_connection_for_operations_and_that_nothing_was_sent) {
    sql("CREATE OR REPLACE USER own@'127.0.0.1' IDENTIFIED BY 'one'");
    sql("GRANT ALL ON latchd.* TO own@'127.0.0.1'");
    store::mysql::Options own = tier_options("a");
    own.server.username = "own";
    own.server.password = "one";
    own.server.operation_timeout = seconds(1);
    TierHost& host = serving(own);
    ASSERT_EQ(reply(host, acquire("1")).reply.status, Status::granted);
    EXPECT_EQ(host.tier().health().warning, "");
    sql("ALTER USER own@'127.0.0.1' IDENTIFIED BY 'another'");
    const auto kill_all_but_the_first = [&] {
        const Answer ids =
            sql("SELECT id FROM information_schema.processlist WHERE user='own' AND id > "
                "(SELECT MIN(id) FROM information_schema.processlist WHERE user='own')");
        for (std::size_t i = 0; i < ids.sets.at(0).size(); ++i) {
            sql("KILL CONNECTION " + std::string(ids.sets[0].text(i, 0)));
        }
    };
    kill_all_but_the_first();
    ASSERT_TRUE(run_until([&] { return host.tier().health().connections == 1; }));
    const test::Stalls stalls;
    const Time asked = runtime::boot_time();
    const core::StoreFailed failed = failure(host, host.submit(acquire("2")));
    const Duration took = runtime::boot_time() - asked;
    EXPECT_EQ(failed.failure, Failure::refused) << "and not tried again";
    EXPECT_NE(failed.text.find("1045"), std::string::npos) << failed.text;
    EXPECT_LT(took, own.server.operation_timeout + milliseconds(800) + stalls.sum());
    EXPECT_NE(host.tier().health().warning.find("0 of 3 connections for operations"),
              std::string::npos)
        << host.tier().health().warning;
    EXPECT_EQ(host.count<authority::TierFailed>(), 0u) << "no evidence";
    sql("ALTER USER own@'127.0.0.1' IDENTIFIED BY 'one'");
    ASSERT_TRUE(run_until([&] { return host.tier().health().connections == 4; }));
    EXPECT_EQ(host.tier().health().warning, "");
    EXPECT_EQ(reply(host, acquire("2")).reply.status, Status::granted);
    sql("DROP USER own@'127.0.0.1'");
}

TEST_F(MysqlTier, loads_while_it_settles_and_reads_what_it_held) {
    TierHost& host = serving("a");
    authority::TierLoad load;
    load.tier = 1;
    load.epoch = 8;
    for (int i = 0; i < 2'500; ++i) {
        core::GrantRecord record;
        record.key = {ResourceName("r"), LockId(std::to_string(i))};
        record.holds = {{Token("t" + std::to_string(i)), RequestId("q"), {{1, 1}}, seconds(9)}};
        record.fence = make_fence(6, static_cast<std::uint32_t>(i + 1));
        record.version = 3;
        record.left = seconds(60);
        record.ttl = seconds(30);
        record.node = NodeName("a");
        load.claims.records.push_back(record);
    }
    load.claims.cancelled.push_back(
        {{ResourceName("r"), LockId("5")}, RequestId("z"), seconds(50)});
    load.claims.cancelled.push_back(
        {{ResourceName("s"), LockId("5")}, RequestId("z"), seconds(50)});
    const auto loaded = [&](std::uint64_t id) {
        auto again = load;
        again.id = authority::CallId{id};
        const std::size_t before = host.count<authority::TierDone>();
        host.tier().act(std::move(again));
        EXPECT_TRUE(
            run_until([&] { return host.count<authority::TierDone>() > before; }, seconds(30)));
        return host.last<authority::TierDone>()->done;
    };
    EXPECT_FALSE(loaded(1)) << "the placement is open in 7";
    EXPECT_EQ(value("SELECT COUNT(*) FROM latchd.lock_record"), "0");
    place(8, "m", "settling");
    EXPECT_TRUE(loaded(2));
    EXPECT_TRUE(loaded(3)) << "again";
    place(8, "n8", "open");
    EXPECT_FALSE(loaded(4)) << "too late";
    serve(host, 8, "n8");
    const auto seen = reply(host, core::Inspect{{ResourceName("r"), LockId("77")}});
    ASSERT_EQ(seen.reply.status, Status::found);
    EXPECT_EQ(seen.reply.record->fence, make_fence(6, 78));
    EXPECT_EQ(seen.reply.record->version, 3u);
    EXPECT_EQ(seen.reply.record->holds[0].token, Token("t77"));
    core::Acquire barred = acquire("5");
    barred.key.resource = ResourceName("s");
    barred.request = RequestId("z");
    EXPECT_EQ(reply(host, barred).reply.status, Status::cancelled);

    authority::TierCloseAndRead read;
    read.tier = 1;
    read.id = authority::CallId{5};
    read.expected.epoch = 8;
    read.next = 9;
    const auto read_done = [&] {
        const std::size_t before = host.count<authority::TierRead>();
        host.tier().act(authority::TierCloseAndRead(read));
        EXPECT_TRUE(
            run_until([&] { return host.count<authority::TierRead>() > before; }, seconds(30)));
        return host.last<authority::TierRead>()->done;
    };
    EXPECT_FALSE(read_done()) << "it does not settle";
    place(9, "m9", "settling");
    ASSERT_TRUE(read_done());
    const core::Claims& claims = host.last<authority::TierRead>()->claims;
    EXPECT_EQ(claims.records.size(), 2'500u);
    EXPECT_EQ(claims.cancelled.size(), 2u);
    EXPECT_EQ(failure(host, host.submit(acquire("new"))).failure, Failure::stale);
}

// T-D08: the fence rises whatever happens to the row and to the server.
TEST_F(MysqlTier, swept_rows_leave_their_fences_behind) {
    store::mysql::Options sweeping = tier_options("a");
    sweeping.sweep_every = milliseconds(100);
    sweeping.sweep_after = milliseconds(300);
    TierHost& host = serving(sweeping);
    const core::Acquire kept = acquire("kept");
    ASSERT_EQ(reply(host, kept).reply.status, Status::granted);
    Fence highest = 0;
    for (int i = 0; i < 5; ++i) {
        core::Acquire wish = acquire("gone");
        wish.ttl = seconds(1);  // a row stays for its lease, released or not
        highest = reply(host, wish).reply.record->fence;
        ASSERT_EQ(reply(host, core::Release{wish.key, wish.token, wish.node, {}}).reply.status,
                  Status::released);
    }
    ASSERT_TRUE(run_until([&] {
        return value("SELECT COUNT(*) FROM latchd.lock_record WHERE business_id='gone'") == "0";
    }));
    EXPECT_EQ(value("SELECT fence FROM latchd.lock_floor"), std::to_string(highest));
    EXPECT_EQ(reply(host, core::Inspect{kept.key}).reply.status, Status::found);
    server().kill_hard();
    server().start();
    const std::size_t probes = host.count<authority::TierProbed>();
    ASSERT_TRUE(run_until([&] { return host.count<authority::TierProbed>() > probes; }));
    serve(host, 7, "n");
    EXPECT_GT(reply(host, acquire("gone")).reply.record->fence, highest);
}

// T-D05: leases stay exact whatever happens to sessions and whatever the server's defaults are.
TEST_F(MysqlTier, connections_that_are_killed_all_the_time_cost_no_lock_and_no_lease) {
    server().kill_hard();
    server().start({"--default-time-zone=+08:00", "--sql-mode=ANSI_QUOTES"});
    TierHost& host = serving("a");
    // With the time before it was asked for. The test kills no more than three connections for
    // each, and a machine that is slow may take long: neither lease nor retry window ends
    // meanwhile.
    std::vector<std::pair<core::Acquire, Time>> granted;
    for (int round = 0; round < 12; ++round) {
        core::Acquire wish = acquire(std::to_string(round));
        wish.ttl = wish.retry_window = std::chrono::minutes(10);
        granted.emplace_back(wish, runtime::boot_time());
        // One of the pool's, in turn; the first connection is the one that asks who is there, and
        // is killed in its turn where no other is left.
        const auto kill_one = [&](int attempt) {
            if (round % 3 == 0 || attempt >= 3) return;
            const std::string thread = value(
                "SELECT id FROM information_schema.processlist WHERE db='latchd' "
                "ORDER BY id DESC LIMIT " +
                std::to_string(round % 3 - 1) + ",1");
            if (!thread.empty()) sql("KILL CONNECTION " + thread);
        };
        const Status status = insist(host, wish, kill_one).reply.status;
        EXPECT_TRUE(status == Status::granted || status == Status::adopted);
    }
    for (const auto& [wish, asked] : granted) {
        // What was killed last may be noticed only now.
        const auto seen = insist(host, core::Inspect{wish.key});
        ASSERT_EQ(seen.reply.status, Status::found);
        EXPECT_EQ(seen.reply.record->holds.size(), 1u);
        EXPECT_LE(seen.reply.record->left, wish.ttl);
        EXPECT_GT(seen.reply.record->left, wish.ttl - (runtime::boot_time() - asked) - seconds(1));
        EXPECT_EQ(counter_of(seen.reply.record->fence), 1u);
    }
    server().kill_hard();
    server().start();
}

// T-D17: what was told is there after the server died in the middle of it.
TEST_F(MysqlTier, no_grant_that_was_told_is_missing_after_a_crash) {
    TierHost& host = serving("a");
    std::vector<std::pair<core::Acquire, core::OperationId>> asked;
    std::size_t told = 0;
    ASSERT_TRUE(run_until(
        [&] {
            while (asked.size() < told + 64) {
                const core::Acquire wish = acquire(std::to_string(asked.size()));
                asked.emplace_back(wish, host.submit(wish));
            }
            told = host.outcomes_.size();
            return told > 400;
        },
        seconds(60)));
    server().kill_hard();
    ASSERT_TRUE(run_until([&] {
        return std::ranges::all_of(asked,
                                   [&](const auto& one) { return host.is_answered(one.second); });
    }));
    server().start();
    const std::size_t probes = host.count<authority::TierProbed>();
    ASSERT_TRUE(
        run_until([&] { return host.count<authority::TierProbed>() > probes; }, seconds(30)));
    serve(host, 7, "n");
    std::size_t found = 0;
    for (const auto& [wish, id] : asked) {
        if (!std::holds_alternative<core::OperationReply>(host.outcomes_.at(id))) continue;
        const auto seen = reply(host, core::Inspect{wish.key});
        ASSERT_EQ(seen.reply.status, Status::found) << wish.key.id.str();
        EXPECT_EQ(seen.reply.record->holds[0].token, wish.token);
        ++found;
    }
    EXPECT_GT(found, 400u);
}

TEST_F(MysqlTier, nodes_hear_what_others_do_to_their_grants) {
    TierHost& one = serving("a");
    TierHost& two = serving("b");
    ASSERT_TRUE(run_until([&] { return one.resumed == 1 && two.resumed == 1; }));
    const core::Acquire first = acquire("1");
    const core::Acquire second = acquire("2");
    ASSERT_EQ(reply(one, first).reply.status, Status::granted);
    ASSERT_EQ(reply(one, second).reply.status, Status::granted);
    const NodeName b("b");
    EXPECT_EQ(reply(two, core::Release{first.key, first.token, b, {}}).reply.status,
              Status::released);
    EXPECT_EQ(reply(two, core::Renew{second.key, second.token, b, {}, true}).reply.status,
              Status::renewed);
    EXPECT_EQ(reply(two, core::Cancel{first.key, RequestId("x"), b, seconds(60)}).reply.status,
              Status::nothing);
    ASSERT_TRUE(run_until([&] { return one.messages.size() == 3; }));
    std::ranges::sort(one.messages, {}, &core::NodeMessage::kind);
    EXPECT_EQ(one.messages[0].kind, core::NodeMessage::Kind::released);
    EXPECT_EQ(one.messages[0].key, first.key);
    EXPECT_EQ(one.messages[1].kind, core::NodeMessage::Kind::moved);
    EXPECT_TRUE(one.messages[1].keep);
    EXPECT_EQ(one.messages[1].version, 2u);
    EXPECT_EQ(one.messages[2].kind, core::NodeMessage::Kind::cancelled);
    EXPECT_EQ(one.messages[2].request, RequestId("x"));
}

// A node with many waiters looks for all of their locks at once.
TEST_F(MysqlTier, heads_that_look_again_are_one_statement_without_row_locks) {
    TierHost& holder = serving("a");
    TierHost& waiter = serving("b");
    constexpr int locks = 600;  // several statements of other operations
    std::vector<core::OperationId> ids;
    std::vector<core::Acquire> held;
    for (int i = 0; i < locks; ++i) {
        held.push_back(acquire(std::to_string(i)));
        ids.push_back(holder.submit(held.back()));
    }
    for (const auto& id : ids) ASSERT_EQ(reply(holder, id).reply.status, Status::granted);
    std::vector<core::Acquire> heads;
    ids.clear();
    for (int i = 0; i < locks; ++i) {
        heads.push_back(acquire(std::to_string(i)));
        heads.back().node = NodeName("b");
        heads.back().waits = true;
        ids.push_back(waiter.submit(heads.back()));
    }
    for (const auto& id : ids) ASSERT_EQ(reply(waiter, id).reply.status, Status::held);
    ASSERT_EQ(
        reply(holder, core::Release{held[7].key, held[7].token, held[7].node, {}}).reply.status,
        Status::released);

    sql("SET GLOBAL log_output='TABLE'; TRUNCATE mysql.general_log; SET GLOBAL general_log=ON");
    ids.clear();
    for (core::Acquire& head : heads) {
        head.looks = true;
        ids.push_back(waiter.submit(head));
    }
    const core::OperationId other = waiter.submit(acquire("other"));
    for (int i = 0; i < locks; ++i) {
        EXPECT_EQ(reply(waiter, ids[static_cast<std::size_t>(i)]).reply.status,
                  i == 7 ? Status::granted : Status::held);
    }
    EXPECT_EQ(reply(waiter, other).reply.status, Status::granted);
    sql("SET GLOBAL general_log=OFF");
    const auto logged = [&](const std::string& like) {
        return value("SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE '" + like + "'");
    };
    // The whole literal: the digits alone may be part of a stamp, which is random.
    const std::string last_id = "%x''353939''%";
    EXPECT_EQ(logged("SELECT%FROM lock_record r WHERE" + last_id), "1");
    EXPECT_EQ(logged("%lock_record" + last_id), "1") << "nothing is written where it is held";
    EXPECT_EQ(logged("%INSERT INTO lock_record%"), "2") << "what is free, and the other one";
}

// T-D01: what deadlocks elsewhere. Two nodes, six connections, twelve locks, all strategies.
TEST_F(MysqlTier, no_statement_of_ours_deadlocks) {
    using store::mysql::Strategy;
    place(7, "n", "open");
    for (const auto& [node, strategy] : {std::pair{"a", Strategy::upsert},
                                         {"b", Strategy::optimistic},
                                         {"d", Strategy::pessimistic}}) {
        store::mysql::Options options = tier_options(node);
        options.strategy = strategy;
        options.batch_max = 5;
        serve(make(options), 7, "n");
    }
    const std::string before = value(
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
        "WHERE VARIABLE_NAME='INNODB_DEADLOCKS'");
    std::size_t granted = 0;
    for (int round = 0; round < 40; ++round) {
        std::vector<std::pair<TierHost*, std::pair<core::Acquire, core::OperationId>>> asked;
        for (const auto& host : hosts_) {
            for (int i = 0; i < 12; ++i) {
                const core::Acquire wish = acquire(std::to_string((i * 7 + round) % 12));
                asked.push_back({host.get(), {wish, host->submit(wish)}});
            }
        }
        std::vector<std::pair<TierHost*, core::OperationId>> released;
        for (const auto& [host, one] : asked) {
            const auto answer = reply(*host, one.second);
            if (answer.reply.status != Status::granted) continue;
            ++granted;
            released.emplace_back(
                host,
                host->submit(core::Release{one.first.key, one.first.token, one.first.node, {}}));
        }
        for (const auto& [host, id] : released) {
            EXPECT_EQ(reply(*host, id).reply.status, Status::released);
        }
    }
    EXPECT_GE(granted, 40u * 12u);
    EXPECT_EQ(value("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
                    "WHERE VARIABLE_NAME='INNODB_DEADLOCKS'"),
              before);
}

}  // namespace
}  // namespace latchd::testing
