// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_tier_fixture.hpp"

// A Redis tier while it serves, and how that ends.
namespace latchd::testing {
namespace {

using namespace core::authority;
using core::Failure;
using core::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

void probe_rarely(store::redis::Options& options) { options.check.inter = seconds(60); }

TEST_F(RedisTierOn, serves_when_it_is_told_and_shows_the_counter) {
    TierRun a(server_, "a", probe_quickly);
    a.next<TierIdentified>();
    const Marker marker = a.marker_of(1'000, "open");
    ASSERT_TRUE(a.done(TierInitialise{3, a.call(), std::nullopt, marker}).done);
    const auto ready = a.ready(TierServe{3, 1'000, marker.nonce, 0, std::nullopt, false});
    EXPECT_EQ(ready.margin, milliseconds(50));
    EXPECT_TRUE(ready.kill_works);
    EXPECT_EQ(a.health().epoch, 1'000u);
    const auto wish = a.acquire();
    EXPECT_EQ(a.reply(wish).reply.record.value().fence, make_fence(1'000, 1));
    EXPECT_EQ(a.status(a.acquire()), Status::held);
    EXPECT_EQ(a.status(a.release(wish)), Status::released);
    a.next<TierCounter>([](const auto& each) { return each.counter == 1; });
    (void)a.ready(TierServe{3, 1'000, marker.nonce, 1, std::nullopt, false});  // told again
    EXPECT_EQ(a.status(a.acquire()), Status::granted);
}

TEST_F(RedisTierOn, delivers_nothing_of_what_was_withdrawn) {
    TierRun a(server_, "a", probe_rarely);
    a.open();
    server_.freeze();
    const auto wish = a.acquire();
    a.submit(wish);
    a.submit(a.acquire());
    a.turn();
    a.act(TierWithdraw{3, "a new epoch"});
    server_.thaw();
    // It is executed, as its epoch is the marker's; the answer is nobody's.
    a.act(TierLook{3});
    a.next<TierIdentified>();
    EXPECT_EQ(a.outcomes(), 0u);
    EXPECT_EQ(a.health().in_flight, 0u);
    EXPECT_EQ(command({"EXISTS", "lock:order:settle:1001"}).integer, 1);
    EXPECT_EQ(a.failure(a.acquire()).failure, Failure::unsent);
    // The same epoch again (its view was confirmed again): an undo finds it.
    a.serve_again();
    EXPECT_EQ(a.status(core::Undo{wish.key, wish.request, wish.attempt, wish.node, std::nullopt}),
              Status::undone);
    EXPECT_EQ(a.outcomes(), 0u);
}

TEST_F(RedisTierOn, kills_the_connection_of_what_was_withdrawn_before_it_serves_again) {
    TierRun a(server_, "a", probe_rarely);
    a.open();
    server_.freeze();
    a.submit(a.acquire());
    a.turn();
    a.act(TierWithdraw{3, "a new epoch"});
    a.act(TierLook{3});  // whose answer is too late
    a.next<TierFailed>([](const auto& each) { return !each.is_connected; });
    server_.thaw();
    a.next<TierIdentified>();
    a.serve_again();
    const std::string clients = command({"CLIENT", "LIST", "TYPE", "normal"}).string;
    const auto at = clients.find("name=latchd:a");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(clients.find("name=latchd:a", at + 1), std::string::npos) << clients;
    EXPECT_EQ(a.outcomes(), 0u);
    // Looked at once: whatever there is stays as it is.
    const auto looked = a.status(core::Inspect{settle_1001});
    for (int i = 0; i < 100; ++i) ASSERT_EQ(a.status(core::Inspect{settle_1001}), looked);
}

TEST_F(RedisTierOn, refuses_what_comes_late_out_of_a_withdrawn_epoch) {
    TierRun a(server_, "a", probe_rarely);
    TierRun b(server_, "b", probe_rarely);
    a.open();
    b.next<TierIdentified>();
    server_.freeze();
    a.submit(a.acquire());
    a.turn();
    a.act(TierWithdraw{3, "a new epoch"});
    a.forget_events();
    // In whatever order the server carries these two out.
    b.act(TierInitialise{3, CallId{55}, a.served(), b.marker_of(1'001, "next")});
    b.turn();
    server_.thaw();
    b.next<TierDone>();
    b.ready(TierServe{3, 1'001, Nonce("next"), 0, std::nullopt, false});
    EXPECT_EQ(b.status(b.acquire()), Status::granted) << "a late grant of the former epoch is void";
    EXPECT_EQ(a.outcomes(), 0u);
}

TEST_F(RedisTierOn, doubts_when_the_data_is_gone) {
    TierRun a(server_, "a", probe_rarely);
    a.open();
    (void)a.reply(a.acquire());
    command({"FLUSHALL"});
    EXPECT_EQ(a.failure(a.acquire()).failure, Failure::stale);
    a.next<TierDoubted>();
    a.act(TierLook{3});
    EXPECT_EQ(a.next<TierIdentified>().marker, std::nullopt);

    TierRun b(server_, "b", probe_quickly);
    b.open(2'000, "of-b");
    command({"FLUSHALL"});
    b.next<TierDoubted>();  // an idle one by its probe
}

TEST_F(RedisTierOn, loads_scripts_again_once_process_and_marker_are_seen) {
    TierRun a(server_, "a", probe_rarely);
    a.open();
    for (int round = 0; round < 5; ++round) {
        command({"SCRIPT", "FLUSH"});
        const auto wish = a.acquire();
        const auto first = a.submit(wish);
        const auto second = a.submit(a.acquire());
        const auto third = a.submit(a.release(wish));
        const auto status_of = [&](core::OperationId id) {
            return std::get<core::OperationReply>(a.outcome(id)).reply.status;
        };
        EXPECT_EQ(status_of(first), Status::granted);
        EXPECT_EQ(status_of(second), Status::held);
        EXPECT_EQ(status_of(third), Status::released);
        a.next<TierDoubted>();
        EXPECT_TRUE(a.next<TierIdentified>().marker);
    }
    // A Fleet that says so itself is as good.
    command({"SCRIPT", "FLUSH"});
    const auto wish = a.submit(a.acquire());
    a.next<TierDoubted>();
    a.serve_again();
    EXPECT_TRUE(std::holds_alternative<core::OperationReply>(a.outcome(wish)));
}

TEST_F(RedisTierOn, sends_nothing_of_an_epoch_that_is_not_the_markers_any_more) {
    TierRun a(server_, "a", probe_rarely);
    a.open();
    command({"FLUSHALL"});
    command({"SCRIPT", "FLUSH"});
    const auto id = a.submit(a.acquire());
    a.next<TierDoubted>();
    EXPECT_EQ(a.next<TierIdentified>().marker, std::nullopt);
    EXPECT_EQ(command({"DBSIZE"}).integer, 0);
    a.act(TierWithdraw{3, "the marker is missing"});
    a.act(TierLook{3});
    a.next<TierIdentified>();
    EXPECT_EQ(a.outcomes(), 0u);
    (void)id;
}

TEST_F(RedisTierOn, ends_serving_with_its_connection) {
    TierRun a(server_, "a", probe_rarely);
    a.open();
    command({"CLIENT", "KILL", "TYPE", "normal"});
    const auto failed = a.next<TierFailed>();
    EXPECT_FALSE(failed.is_connected);
    EXPECT_EQ(a.next<TierIdentified>().marker.value().nonce, a.served().nonce);
    EXPECT_EQ(a.failure(a.acquire()).failure, Failure::unsent);
    a.serve_again();
    EXPECT_EQ(a.status(a.acquire()), Status::granted);
}

TEST_F(RedisTierOn, answers_what_is_under_way_when_its_connection_breaks) {
    TierRun a(server_, "a", probe_rarely);
    a.open();
    server_.freeze();
    const auto id = a.submit(a.acquire());
    a.turn();
    server_.kill_hard();
    EXPECT_EQ(std::get<core::StoreFailed>(a.outcome(id)).failure, Failure::in_doubt);
    a.next<TierFailed>();
}

TEST_F(RedisTierOn, checks_the_clock_that_it_was_given) {
    TierRun a(server_, "a", probe_rarely);
    a.next<TierIdentified>();
    const auto probed = a.next<TierProbed>();
    const Duration clock =
        from_ms(static_cast<std::int64_t>(probed.shown)) - probed.received.time_since_epoch();
    const Marker marker = a.marker_of(1'000, "open");
    ASSERT_TRUE(a.done(TierInitialise{3, a.call(), std::nullopt, marker}).done);
    const auto status_at = [&](Duration off, bool strict) {
        a.ready(TierServe{3, 1'000, marker.nonce, 0, clock + off, false});
        auto wish = a.acquire();
        wish.strict = strict;
        const auto outcome = a.outcome(a.submit(wish));
        if (std::holds_alternative<core::StoreFailed>(outcome)) {
            EXPECT_EQ(std::get<core::StoreFailed>(outcome).failure, Failure::clock);
            return false;
        }
        EXPECT_EQ(a.status(a.release(wish)), Status::released);
        return true;
    };
    EXPECT_TRUE(status_at(milliseconds(0), true));
    EXPECT_TRUE(status_at(milliseconds(500), false));
    EXPECT_FALSE(status_at(milliseconds(500), true));
    EXPECT_FALSE(status_at(milliseconds(-500), true));
    EXPECT_FALSE(status_at(seconds(2), false));
    EXPECT_TRUE(status_at(milliseconds(0), true));
}

TEST_F(RedisTierOn, hears_messages_only_while_it_serves) {
    TierRun a(server_, "a", probe_rarely);
    TierRun b(server_, "b", probe_rarely);
    a.open();
    b.next<TierIdentified>();
    EXPECT_EQ(command({"PUBSUB", "NUMSUB", "latchd:node:b"}).elements[1].integer, 0);
    ASSERT_TRUE(a.run_until([&] { return a.resumed() == 1; }));
    b.ready(TierServe{3, 1'000, a.served().nonce, 0, std::nullopt, false});
    const auto wish = a.acquire();
    ASSERT_EQ(a.status(wish), Status::granted);
    auto foreign = a.release(wish);
    foreign.node = NodeName("b");
    EXPECT_EQ(b.status(foreign), Status::released);
    ASSERT_TRUE(a.run_until([&] { return !a.messages().empty(); }));
    EXPECT_EQ(a.messages()[0].kind, core::NodeMessage::Kind::released);
    a.act(TierWithdraw{3, "enough"});
    EXPECT_TRUE(a.run_until([&] {
        return command({"PUBSUB", "NUMSUB", "latchd:node:a"}).elements[1].integer == 0;
    }));
    a.serve_again();
    EXPECT_TRUE(a.run_until([&] { return a.resumed() == 2; })) << "some may have been missed";
}

TEST_F(RedisTierOn, sweeps_what_former_epochs_left_where_it_is_told) {
    TierRun a(server_, "a");
    a.open();
    for (int i = 0; i < 50; ++i) {
        (void)a.reply(a.acquire({ResourceName("r"), LockId(std::to_string(i))}));
    }
    a.act(TierWithdraw{3, "a new epoch"});
    const Marker next = a.marker_of(1'001, "next");
    ASSERT_TRUE(a.done(TierInitialise{3, a.call(), a.served(), next}).done);
    a.ready(TierServe{3, 1'001, next.nonce, 0, std::nullopt, true});
    EXPECT_TRUE(a.run_until([&] { return command({"KEYS", "lock:*"}).elements.empty(); }));
}

}  // namespace
}  // namespace latchd::testing
