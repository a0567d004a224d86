// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_tier_fixture.hpp"

#include <algorithm>

// What a Redis tier says of its server whether it serves or not, and what is carried in and out.
namespace latchd::testing {
namespace {

using namespace core::authority;
using core::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Evidence = TierFailed::Evidence;

LockKey key_number(int number) {
    return {ResourceName("order:settle"), LockId(std::to_string(number))};
}

TEST_F(RedisTierOn, shows_process_and_marker_first_and_probes_by_itself) {
    TierRun a(server_);
    const auto first = a.next<TierIdentified>();
    EXPECT_EQ(first.identity.run_id.size(), 40u);
    EXPECT_EQ(first.identity.role, Role::master);
    EXPECT_EQ(first.marker, std::nullopt);
    const auto probed = a.next<TierProbed>();
    EXPECT_LE(probed.sent, probed.received);
    EXPECT_GT(static_cast<std::int64_t>(probed.shown), 1'700'000'000'000);
    EXPECT_GT(command({"PTTL", "latchd:probe"}).integer, 0) << "a probe is a write";
    EXPECT_EQ(command({"EXISTS", "latchd:marker"}).integer, 0) << "and says nothing about locks";
    EXPECT_EQ(a.health().state, "up");
    EXPECT_EQ(a.health().epoch, 0u);
    EXPECT_EQ(a.failure(a.acquire()).failure, core::Failure::unsent) << "nobody said serve";

    a.open();
    TierRun b(server_, "b");
    const auto seen = b.next<TierIdentified>();
    EXPECT_EQ(seen.identity, first.identity);
    EXPECT_EQ(seen.marker, a.marker_of(1'000, "open"));
}

TEST_F(RedisTierOn, looks_when_it_is_asked_and_with_each_probe) {
    TierRun a(server_, "a", probe_quickly);
    a.next<TierIdentified>();
    command({"HSET",
             "latchd:marker",
             "uuid",
             "u",
             "epoch",
             "7",
             "nonce",
             "n",
             "run_id",
             "r",
             "counter",
             "9"});
    const Marker expected{ClusterUuid("u"), 7, Nonce("n"), "r", 9};
    a.next<TierIdentified>([&](const auto& each) { return each.marker == expected; });
    TierRun b(server_, "b", [](auto& options) { options.check.inter = seconds(60); });
    b.next<TierProbed>();
    command({"HSET", "latchd:marker", "counter", "10"});
    b.act(TierLook{3});
    EXPECT_EQ(b.next<TierIdentified>().marker.value().counter, 10u);
    command({"DEL", "latchd:marker"});
    command({"SET", "latchd:marker", "no hash"});
    b.act(TierLook{3});
    EXPECT_EQ(b.next<TierIdentified>().marker, std::nullopt);
}

TEST_F(RedisTierOn, lets_one_of_two_win_the_marker) {
    TierRun a(server_, "a");
    TierRun b(server_, "b");
    a.next<TierIdentified>();
    b.next<TierIdentified>();
    const Marker of_a = a.marker_of(1'000, "of-a");
    const Marker of_b = b.marker_of(1'000, "of-b");
    EXPECT_TRUE(a.done(TierInitialise{3, a.call(), std::nullopt, of_a}).done);
    const auto lost = b.done(TierInitialise{3, b.call(), std::nullopt, of_b});
    EXPECT_FALSE(lost.done);
    EXPECT_NE(lost.text.find("of-a"), std::string::npos) << lost.text;
    EXPECT_TRUE(a.done(TierInitialise{3, a.call(), std::nullopt, of_a}).done) << "sent again";
    EXPECT_TRUE(b.done(TierInitialise{3, b.call(), of_a, of_b}).done);
    Marker other = of_b;
    other.run_id = std::string(40, 'f');
    const auto another = b.done(TierInitialise{3, b.call(), of_b, other});
    EXPECT_FALSE(another.done);
    EXPECT_NE(another.text.find("another process"), std::string::npos) << another.text;
}

TEST_F(RedisTierOn, carries_locks_from_one_epoch_into_the_next) {
    TierRun a(server_);
    a.open();
    std::vector<core::Acquire> wishes;
    core::Claims claims;
    for (int i = 0; i < 2'500; ++i) {
        wishes.push_back(a.acquire(key_number(i)));
        claims.records.push_back(a.reply(wishes.back()).reply.record.value());
    }
    claims.cancelled.push_back({key_number(1), RequestId("cancelled"), seconds(60)});
    a.act(TierWithdraw{3, "a new epoch"});

    const Marker next = a.marker_of(1'001, "next");
    a.act(TierLook{3});
    const auto before = a.next<TierIdentified>();
    ASSERT_TRUE(a.done(TierInitialise{3, a.call(), before.marker, next}).done);
    for (int round = 0; round < 2; ++round) {
        const auto loaded = a.done(TierLoad{3, a.call(), 1'001, next.nonce, claims});
        ASSERT_TRUE(loaded.done) << loaded.text;
    }
    const auto refused = a.done(TierLoad{3, a.call(), 1'001, Nonce("another's"), claims});
    EXPECT_FALSE(refused.done);
    a.ready(TierServe{3, 1'001, next.nonce, 0, std::nullopt, false});

    for (const int i : {0, 99, 100, 1'599, 1'600, 2'499}) {
        const auto& wish = wishes[static_cast<std::size_t>(i)];
        const auto& record = claims.records[static_cast<std::size_t>(i)];
        EXPECT_EQ(a.status(a.acquire(wish.key)), Status::held) << i;
        const auto renewed = a.reply(a.renew(wish)).reply;
        EXPECT_EQ(renewed.status, Status::renewed);
        EXPECT_EQ(renewed.record->fence, record.fence);
        EXPECT_EQ(renewed.record->version, record.version + 1);
        EXPECT_EQ(a.status(a.release(wish)), Status::released);
        const auto again = a.reply(a.acquire(wish.key)).reply;
        EXPECT_GT(again.record.value().fence, record.fence);
    }
    core::Acquire barred = a.acquire(key_number(1));
    barred.request = RequestId("cancelled");
    EXPECT_EQ(a.status(barred), Status::cancelled);
}

TEST_F(RedisTierOn, ends_an_epoch_and_reads_all_of_it) {
    TierRun a(server_);
    TierRun b(server_, "b");
    a.open();
    std::vector<core::GrantRecord> records;
    for (int i = 0; i < 2'500; ++i) {
        records.push_back(a.reply(a.acquire(key_number(i))).reply.record.value());
    }
    ASSERT_EQ(a.status(core::Cancel{key_number(0), RequestId("q"), NodeName("a"), seconds(60)}),
              Status::nothing);
    command({"DEBUG", "POPULATE", "5000", "theirs"});
    const auto seen = b.next<TierIdentified>();
    Marker other = seen.marker.value();
    other.nonce = Nonce("another's");
    EXPECT_FALSE(b.read(TierCloseAndRead{3, b.call(), other, 1'001, Nonce("closed")}).done);
    EXPECT_EQ(a.status(a.acquire(key_number(9'999))), Status::granted) << "nothing was ended";
    records.push_back(a.reply(core::Inspect{key_number(9'999)}).reply.record.value());

    // The second: its answer was lost. The third: of who has not seen yet that it was ended.
    for (const char* nonce : {"closed", "closed", "again"}) {
        const auto read = b.read(TierCloseAndRead{3, b.call(), *seen.marker, 1'001, Nonce(nonce)});
        ASSERT_TRUE(read.done);
        ASSERT_EQ(read.claims.records.size(), records.size());
        EXPECT_EQ(read.claims.gone.size(), 0u);
        ASSERT_EQ(read.claims.cancelled.size(), 1u);
        EXPECT_EQ(read.claims.cancelled[0].request, RequestId("q"));
        std::vector<Fence> fences;
        for (const auto& record : read.claims.records) {
            fences.push_back(record.fence);
            EXPECT_GT(record.left, seconds(10));
            EXPECT_LE(record.left, seconds(30));
        }
        std::sort(fences.begin(), fences.end());
        for (std::size_t i = 0; i < records.size(); ++i) ASSERT_EQ(fences[i], records[i].fence);
    }
    EXPECT_EQ(a.failure(a.acquire(key_number(10'000))).failure, core::Failure::stale);
    a.next<TierDoubted>();
    const Marker next = b.marker_of(1'001, "next");
    EXPECT_TRUE(b.done(TierInitialise{3, b.call(), seen.marker, next}).done) << "its own doing";
    const auto late = a.done(TierInitialise{3, a.call(), seen.marker, a.marker_of(1'001, "of-a")});
    EXPECT_FALSE(late.done) << "another's";
}

TEST_F(RedisTierOn, answers_a_call_without_a_connection_and_one_that_another_follows) {
    TierRun a(server_);
    const auto seen = a.next<TierIdentified>();
    a.act(TierInitialise{3, CallId{101}, seen.marker, a.marker_of(1'000, "first")});
    a.act(TierInitialise{3, CallId{102}, seen.marker, a.marker_of(1'000, "second")});
    EXPECT_FALSE(a.next<TierDone>([](const auto& each) { return each.id == CallId{101}; }).done);
    a.next<TierDone>([](const auto& each) { return each.id == CallId{102}; });
    server_.kill_hard();
    a.next<TierFailed>();
    EXPECT_FALSE(a.done(TierInitialise{3, a.call(), std::nullopt, a.marker_of(1, "n")}).done);
    EXPECT_FALSE(a.done(TierLoad{3, a.call(), 1, Nonce("n"), {}}).done);
    EXPECT_FALSE(a.read(TierCloseAndRead{3, a.call(), a.marker_of(1, "n"), 2, Nonce("x")}).done);
}

TEST_F(RedisTierOn, ends_a_call_when_its_connection_breaks) {
    TierRun a(server_);
    a.next<TierProbed>();
    server_.freeze();
    a.act(TierInitialise{3, CallId{101}, std::nullopt, a.marker_of(1'000, "n")});
    a.turn();
    const auto done = a.next<TierDone>();
    EXPECT_FALSE(done.done);
    server_.thaw();
    // It was killed before anything else: what it did, the marker shows.
    const auto back = a.next<TierIdentified>();
    a.act(TierLook{3});
    EXPECT_EQ(a.next<TierIdentified>().marker, back.marker);
    EXPECT_TRUE(a.done(TierInitialise{3, a.call(), back.marker, a.marker_of(1'001, "m")}).done);
}

// What may still come out of a connection that can't be killed would bring back what was released.
TEST_F(RedisTierOn, loads_no_nonce_twice_where_a_part_may_still_come) {
    command({"ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-client|kill"});
    TierRun a(server_, "a", [](auto& options) {
        options.username = "app";
        options.password = "secret";
    });
    const auto seen = a.next<TierIdentified>();
    const Marker first = a.marker_of(1'000, "first");
    ASSERT_TRUE(a.done(TierInitialise{3, a.call(), seen.marker, first}).done);
    const core::Claims claims{{}, {}, {{key_number(1), RequestId("q"), seconds(60)}}};
    server_.freeze();
    EXPECT_FALSE(a.done(TierLoad{3, a.call(), 1'000, first.nonce, claims}).done);
    server_.thaw();
    a.next<TierProbed>();
    const auto again = a.done(TierLoad{3, a.call(), 1'000, first.nonce, claims});
    EXPECT_FALSE(again.done);
    EXPECT_NE(again.text.find("another nonce"), std::string::npos) << again.text;
    const Marker second = a.marker_of(1'000, "second");
    ASSERT_TRUE(a.done(TierInitialise{3, a.call(), first, second}).done);
    EXPECT_TRUE(a.done(TierLoad{3, a.call(), 1'000, second.nonce, claims}).done);
    EXPECT_FALSE(a.ready(TierServe{3, 1'000, second.nonce, 0, std::nullopt, false}).kill_works);
}

// ---- health ----------------------------------------------------------------------------------

TEST_F(RedisTierOn, says_that_nobody_listens) {
    TierRun a(server_);
    a.next<TierProbed>();
    server_.kill_hard();
    const auto closed = a.next<TierFailed>();
    EXPECT_FALSE(closed.is_connected);
    const auto refused =
        a.next<TierFailed>([](const auto& each) { return each.evidence == Evidence::refused; });
    EXPECT_FALSE(refused.is_connected);
    EXPECT_EQ(a.health().state, "down");
    const std::string former = a.identity().run_id;
    server_.start();
    const auto back = a.next<TierIdentified>();
    EXPECT_NE(back.identity.run_id, former);
    a.next<TierProbed>();
    EXPECT_EQ(a.health().state, "up");
}

TEST_F(RedisTierOn, says_that_a_frozen_server_fails) {
    TierRun a(server_, "a", probe_quickly);
    a.next<TierProbed>();
    server_.freeze();
    const auto first = a.next<TierFailed>();
    EXPECT_EQ(first.evidence, Evidence::failed);
    EXPECT_TRUE(first.is_connected);
    EXPECT_NE(first.reason.find("probe"), std::string::npos) << first.reason;
    a.next<TierFailed>([](const auto& each) { return !each.is_connected; });
    EXPECT_FALSE(a.has<TierProbed>());
    server_.thaw();
    a.next<TierIdentified>();
    a.next<TierProbed>();
}

TEST_F(RedisTierOn, counts_refused_writes_as_failures_and_the_connection_goes_on) {
    TierRun a(server_, "a", probe_quickly);
    a.next<TierProbed>();
    command({"CONFIG", "SET", "maxmemory", "1"});
    const auto full = a.next<TierFailed>();
    EXPECT_EQ(full.evidence, Evidence::failed);
    EXPECT_TRUE(full.is_connected);
    EXPECT_EQ(full.reason.rfind("OOM", 0), 0u) << full.reason;
    EXPECT_EQ(a.health().state, "down");
    command({"CONFIG", "SET", "maxmemory", "0"});
    a.forget_events();
    a.next<TierProbed>();
}

TEST_F(RedisTierOn, probes_quicker_after_a_failure_until_it_may_be_up_again) {
    TierRun a(server_, "a", [](auto& options) {
        options.check.inter = seconds(60);
        options.check.fastinter = milliseconds(20);
        options.check.rise = 3;
    });
    a.next<TierProbed>();
    server_.kill_hard();
    a.next<TierFailed>();
    server_.start();
    for (int i = 0; i < 3; ++i) a.next<TierProbed>();
    EXPECT_FALSE(a.run_until([&] { return a.has<TierProbed>(); }, milliseconds(300)));
}

TEST_F(RedisTierOn, says_why_a_server_takes_no_connection) {
    RedisClient client(server_.socket_path());
    client.command({"CONFIG", "SET", "maxclients", "1"});
    TierRun a(server_);
    const auto failed = a.next<TierFailed>();
    EXPECT_EQ(failed.evidence, Evidence::failed);
    EXPECT_NE(failed.reason.find("max number of clients"), std::string::npos) << failed.reason;
    client.command({"CONFIG", "SET", "maxclients", "100"});
    a.next<TierProbed>();
}

TEST_F(RedisTierOn, tells_the_end_of_each_connection_that_it_showed) {
    command({"CONFIG", "SET", "maxmemory", "1"});
    TierRun a(server_, "a", [](auto& options) { options.check.fastinter = seconds(60); });
    for (int i = 0; i < 3; ++i) {
        a.next<TierIdentified>();
        EXPECT_TRUE(a.next<TierFailed>().is_connected) << "OOM";
        command({"CLIENT", "KILL", "TYPE", "normal"});
        EXPECT_FALSE(a.next<TierFailed>().is_connected);
    }
}

TEST_F(RedisTierOn, needs_no_more_rights_than_are_documented) {
    command({"ACL",
             "SETUSER",
             "latchd",
             "on",
             ">secret",
             "~lock:*",
             "~bar:*",
             "~queue:*",
             "~latchd:*",
             "&latchd:*",
             "+@read",
             "+@write",
             "+@scripting",
             "+@pubsub",
             "+@connection",
             "+info",
             "+time",
             "+client|kill",
             "+client|id"});
    TierRun a(server_, "a", [](auto& options) {
        options.username = "latchd";
        options.password = "secret";
    });
    a.open();
    ASSERT_EQ(a.status(a.acquire()), Status::granted);
    ASSERT_TRUE(a.run_until([&] { return a.resumed() == 1; }));
    a.act(TierWithdraw{3, "a new epoch"});
    const auto read = a.read(TierCloseAndRead{3, a.call(), a.served(), 1'001, Nonce("closed")});
    ASSERT_TRUE(read.done);
    EXPECT_EQ(read.claims.records.size(), 1u);
    a.act(TierLook{3});
    const auto ended = a.next<TierIdentified>();
    const Marker next = a.marker_of(1'002, "next");
    ASSERT_TRUE(a.done(TierInitialise{3, a.call(), ended.marker, next}).done);
    EXPECT_TRUE(a.done(TierLoad{3, a.call(), 1'002, next.nonce, read.claims}).done);
    EXPECT_TRUE(a.ready(TierServe{3, 1'002, next.nonce, 0, std::nullopt, true}).kill_works);
    EXPECT_EQ(a.status(a.acquire()), Status::held);
}

TEST_F(RedisTierOn, tells_want_of_permission_from_evidence) {
    command({"ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all"});
    const auto as_app = [](auto& options) {
        probe_quickly(options);
        options.username = "app";
        options.password = "secret";
    };
    TierRun a(server_, "a", as_app);
    a.next<TierProbed>();
    command({"ACL", "SETUSER", "app", "-set"});
    const auto refused = a.next<TierFailed>();
    EXPECT_EQ(refused.evidence, Evidence::access);
    EXPECT_TRUE(refused.is_connected);
    EXPECT_NE(refused.reason.find("ACL SETUSER app +set"), std::string::npos) << refused.reason;
    command({"ACL", "SETUSER", "app", ">other", "<secret"});
    TierRun b(server_, "b", as_app);
    EXPECT_EQ(b.next<TierFailed>().evidence, Evidence::access);
}

TEST_F(RedisTierOn, shows_a_replica_and_leaves_it) {
    TierRun a(server_, "a", probe_quickly);
    a.next<TierProbed>();
    command({"REPLICAOF", "127.0.0.1", "1"});
    const auto demoted = a.next<TierIdentified>(
        [](const auto& each) { return each.identity.role == Role::replica; });
    EXPECT_EQ(demoted.marker, std::nullopt);
    EXPECT_FALSE(a.next<TierFailed>().is_connected);
    // And again on the next connection.
    a.next<TierIdentified>([](const auto& each) { return each.identity.role == Role::replica; });
    command({"REPLICAOF", "NO", "ONE"});
    const auto back =
        a.next<TierIdentified>([](const auto& each) { return each.identity.role == Role::master; });
    EXPECT_EQ(back.identity.run_id, demoted.identity.run_id);
    EXPECT_FALSE(back.identity.replid2.empty()) << "it may have taken another's data over";
    a.next<TierProbed>();
}

TEST_F(RedisTierOn, warns_of_a_server_that_may_evict_locks) {
    command({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
    TierRun a(server_);
    a.open();
    EXPECT_NE(a.health().warning.find("volatile-lru"), std::string::npos);
}

}  // namespace
}  // namespace latchd::testing
