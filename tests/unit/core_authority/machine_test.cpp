// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fixture.hpp"

namespace latchd::core::authority {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = Machine::State;

TEST(Authority, opens_the_first_epoch_of_an_unknown_cluster_at_once) {
    FakeStore store;
    Fleet1 a;
    a.step(Identified{store.identity});
    ASSERT_NE(a.find<LookUp>(), nullptr);
    a.answer(store);
    ASSERT_EQ(a.machine.state(), State::serving);
    const auto* serve = a.find<Serve>();
    ASSERT_NE(serve, nullptr);
    EXPECT_EQ(serve->record.epoch, 150'000u);
    EXPECT_EQ(serve->counter, 2'000u * 8192u);
    EXPECT_TRUE(serve->won);
    EXPECT_FALSE(serve->same_epoch);
    const auto* save = a.find<SaveKnown>();
    ASSERT_NE(save, nullptr);
    EXPECT_EQ(save->known.epoch, 150'000u);
    EXPECT_EQ(save->known.uuid.str().size(), 36u);
    EXPECT_EQ(store.sight.record->uuid, save->known.uuid);
}

TEST(Authority, opens_a_known_cluster_without_a_record_after_settle_grace) {
    FakeStore store;
    Fleet1 a(Known{ClusterUuid("u-1"), 150'010});
    a.step(Identified{store.identity});
    a.answer(store);
    ASSERT_EQ(a.machine.state(), State::waiting);
    EXPECT_EQ(store.sight.record->epoch, 150'011u);
    EXPECT_EQ(store.sight.record->uuid.str(), "u-1");
    EXPECT_EQ(a.machine.next_deadline(), a.now + milliseconds(50));
    const Time settled = a.now;
    while (a.machine.state() != State::serving) {
        a.now = a.machine.next_deadline().value();
        a.step(TimeCame{});
        a.answer(store);
    }
    EXPECT_EQ(a.now - settled, seconds(1));
    EXPECT_EQ(a.machine.epoch(), 150'011u);
}

TEST(Authority, serves_what_is_recorded_without_a_new_epoch) {
    FakeStore store;
    Fleet1 a;
    ASSERT_TRUE(a.serve(store));
    Fleet1 b({}, 'B');
    ASSERT_TRUE(b.serve(store));
    EXPECT_EQ(b.machine.epoch(), a.machine.epoch());
    EXPECT_FALSE(b.find<Serve>()->won);
}

TEST(Authority, comes_back_to_the_same_epoch_over_a_lost_connection) {
    FakeStore store;
    Fleet1 a;
    ASSERT_TRUE(a.serve(store));
    a.step(ConnectionLost{"reset"});
    ASSERT_NE(a.find<StopServing>(), nullptr);
    EXPECT_FALSE(a.find<StopServing>()->settling);
    EXPECT_EQ(a.machine.epoch(), 0u);
    ASSERT_TRUE(a.serve(store));
    EXPECT_TRUE(a.find<Serve>()->same_epoch);
    EXPECT_FALSE(a.find<Serve>()->won);
    EXPECT_EQ(a.find<SaveKnown>(), nullptr) << "nothing new to keep";
}

// What makes a recorded, open epoch unfit, and what doesn't.
TEST(Authority, takes_the_next_epoch_when_the_store_lost_its_right) {
    struct Case {
        const char* what;
        void (*change)(FakeStore&);
        bool is_lost;
    };
    const Case cases[] = {
        {"nothing", [](FakeStore&) {}, false},
        {"first replica attached", [](FakeStore& s) { s.identity.replid = "replid-b"; }, false},
        {"restarted", [](FakeStore& s) { s.identity.run_id = "run-b"; }, true},
        {"replicaof away and back", [](FakeStore& s) { s.identity.replid2 = "replid-x"; }, true},
        {"flushed", [](FakeStore& s) { s.sight = {}; }, true},
        {"marker gone", [](FakeStore& s) { s.sight.marker.reset(); }, true},
        {"record gone", [](FakeStore& s) { s.sight.record.reset(); }, true},
        {"marker of another epoch", [](FakeStore& s) { --s.sight.marker->epoch; }, true},
        {"marker with another nonce",
         [](FakeStore& s) { s.sight.marker->nonce = Nonce("x"); },
         true},
        {"marker of another process", [](FakeStore& s) { s.sight.marker->run_id = "run-x"; }, true},
        {"counter went back", [](FakeStore& s) { --s.sight.marker->counter; }, true},
        {"counter went on", [](FakeStore& s) { s.sight.marker->counter += 9; }, false},
        {"record of an older epoch",
         [](FakeStore& s) { --s.sight.record->epoch, --s.sight.marker->epoch; },
         true},
    };
    for (const Case& c : cases) {
        FakeStore store;
        Fleet1 a;
        ASSERT_TRUE(a.serve(store));
        const Epoch before = a.machine.epoch();
        a.step(ConnectionLost{"cut"});
        c.change(store);
        const Time from = a.now;
        ASSERT_TRUE(a.serve(store)) << c.what;
        EXPECT_EQ(a.machine.epoch() > before, c.is_lost) << c.what;
        EXPECT_EQ(a.now - from >= seconds(1), c.is_lost) << c.what << ": settle_grace";
        EXPECT_EQ(a.find<Serve>()->same_epoch, !c.is_lost) << c.what;
    }
}

TEST(Authority, keeps_a_recorded_second_replication_id) {
    FakeStore store;
    store.identity.replid2 = "replid-old";
    Fleet1 a;
    ASSERT_TRUE(a.serve(store));
    a.step(ConnectionLost{"cut"});
    ASSERT_TRUE(a.serve(store));
    EXPECT_TRUE(a.find<Serve>()->same_epoch);
}

TEST(Authority, stops_at_once_when_a_probe_meets_another_process) {
    FakeStore store;
    Fleet1 a;
    ASSERT_TRUE(a.serve(store));
    a.step(Identified{store.identity});
    EXPECT_TRUE(a.actions.empty());
    store.identity.replid2 = "replid-x";
    a.step(Identified{store.identity});
    ASSERT_NE(a.find<StopServing>(), nullptr);
    EXPECT_TRUE(a.find<StopServing>()->settling);
    EXPECT_NE(a.find<LookUp>(), nullptr);
}

TEST(Authority, leaves_a_replica) {
    FakeStore store;
    Fleet1 a;
    ASSERT_TRUE(a.serve(store));
    store.identity.role = Role::replica;
    a.step(Identified{store.identity});
    EXPECT_NE(a.find<StopServing>(), nullptr);
    ASSERT_NE(a.find<DropConnection>(), nullptr);
    EXPECT_NE(a.find<DropConnection>()->reason.find("replica"), std::string::npos);
    EXPECT_EQ(a.machine.state(), State::away);
}

TEST(Authority, looks_again_after_a_doubt_and_goes_on_if_nothing_changed) {
    for (const auto kind : {Doubted::Kind::stale, Doubted::Kind::unknown_script}) {
        FakeStore store;
        Fleet1 a;
        ASSERT_TRUE(a.serve(store));
        a.step(Doubted{kind});
        ASSERT_NE(a.find<LookUp>(), nullptr);
        EXPECT_TRUE(a.find<LookUp>()->with_identity);
        EXPECT_EQ(a.find<StopServing>(), nullptr) << "a flushed script cache is no outage";
        a.answer(store);
        ASSERT_NE(a.find<Serve>(), nullptr);
        EXPECT_TRUE(a.find<Serve>()->same_epoch);
    }
}

TEST(Authority, follows_an_epoch_that_another_node_opened) {
    FakeStore store;
    Fleet1 a;
    Fleet1 b({}, 'B');
    ASSERT_TRUE(a.serve(store));
    ASSERT_TRUE(b.serve(store));
    a.step(ClockJumped{"60000 ms"});
    a.answer(store);
    ASSERT_EQ(a.machine.state(), State::waiting);
    b.step(Doubted{Doubted::Kind::stale});
    b.answer(store);
    ASSERT_EQ(b.machine.state(), State::waiting);
    for (int i = 0; i < 21; ++i) {
        a.pass(milliseconds(50));
        a.step(TimeCame{});
        a.answer(store);
    }
    ASSERT_EQ(a.machine.state(), State::serving);
    b.pass(milliseconds(50));
    b.step(TimeCame{});
    b.answer(store);
    ASSERT_EQ(b.machine.state(), State::serving) << "the other's opening is seen within 50 ms";
    EXPECT_EQ(a.machine.epoch(), 150'001u);
    EXPECT_EQ(b.machine.epoch(), 150'001u);
    EXPECT_FALSE(b.find<Serve>()->won);
}

TEST(Authority, stops_before_it_serves_an_epoch_that_was_opened_unseen) {
    FakeStore store;
    Fleet1 a;
    Fleet1 b({}, 'B');
    ASSERT_TRUE(a.serve(store));
    ASSERT_TRUE(b.serve(store));
    store.sight = {};
    a.step(ConnectionLost{"cut"});
    ASSERT_TRUE(a.serve(store));
    b.step(Doubted{Doubted::Kind::stale});
    b.answer(store);
    ASSERT_EQ(b.machine.state(), State::serving);
    ASSERT_EQ(b.machine.epoch(), a.machine.epoch());
    EXPECT_TRUE(std::holds_alternative<StopServing>(b.actions.front()));
    ASSERT_NE(b.find<Serve>(), nullptr);
    EXPECT_FALSE(b.find<Serve>()->same_epoch);
}

TEST(Authority, lets_one_win_when_two_settle_and_open_at_once) {
    FakeStore store;
    Fleet1 a(Known{ClusterUuid("u"), 150'000}, 'A');
    Fleet1 b(Known{ClusterUuid("u"), 150'000}, 'B');
    a.step(Identified{store.identity});
    b.step(Identified{store.identity});
    a.step(Seen{});
    b.step(Seen{});
    const Settle by_a = *a.find<Settle>();
    const Settle by_b = *b.find<Settle>();
    a.step(Seen{store.settle(by_a)});
    b.step(Seen{store.settle(by_b)});
    EXPECT_EQ(store.sight.record->nonce, by_a.next.nonce);
    ASSERT_EQ(a.machine.state(), State::waiting);
    ASSERT_EQ(b.machine.state(), State::waiting);
    a.pass(seconds(1));
    b.pass(seconds(1));
    a.step(TimeCame{});
    b.step(TimeCame{});
    a.step(Seen{store.sight});
    b.step(Seen{store.sight});
    const Open open_a = *a.find<Open>();
    const Open open_b = *b.find<Open>();
    EXPECT_NE(open_a.next.nonce, open_b.next.nonce);
    b.step(Seen{store.open(open_b)});
    a.step(Seen{store.open(open_a)});
    ASSERT_NE(a.find<Serve>(), nullptr);
    ASSERT_NE(b.find<Serve>(), nullptr);
    EXPECT_EQ(a.find<Serve>()->record.nonce, open_b.next.nonce);
    EXPECT_FALSE(a.find<Serve>()->won);
    EXPECT_TRUE(b.find<Serve>()->won);
}

// An old snapshot shows `settling` for an epoch that was opened after it was taken.
TEST(Authority, never_opens_an_epoch_that_another_process_was_settled_for) {
    FakeStore store;
    Fleet1 a(Known{ClusterUuid("u"), 150'000});
    a.step(Identified{store.identity});
    a.answer(store);
    ASSERT_EQ(a.machine.state(), State::waiting);
    const Epoch settled = store.sight.record->epoch;
    store.identity.run_id = "run-b";
    Fleet1 b(Known{}, 'B');
    ASSERT_TRUE(b.serve(store));
    EXPECT_EQ(b.machine.epoch(), settled + 1);
}

TEST(Authority, finds_its_own_opening_after_the_answer_was_lost) {
    FakeStore store;
    Fleet1 a;
    a.step(Identified{store.identity});
    a.step(Seen{});
    a.step(Seen{store.settle(*a.find<Settle>())});
    store.open(*a.find<Open>());
    a.step(ConnectionLost{"reset"});
    a.step(Identified{store.identity});
    a.step(Seen{store.sight});
    ASSERT_NE(a.find<Serve>(), nullptr);
    EXPECT_EQ(a.machine.epoch(), 150'000u);
    EXPECT_TRUE(a.find<Serve>()->won);
}

TEST(Authority, repeats_an_opening_whose_marker_moved_not_faster_than_it_reads) {
    FakeStore store;
    Fleet1 a;
    a.step(Identified{store.identity});
    a.step(Seen{});
    a.step(Seen{store.settle(*a.find<Settle>())});
    ASSERT_NE(a.find<Open>(), nullptr);
    store.sight.marker = Marker{store.sight.record->uuid, 3, Nonce("x"), "run-x", 0};
    a.step(Seen{store.sight});
    EXPECT_EQ(a.find<Open>(), nullptr);
    ASSERT_EQ(a.machine.state(), State::waiting);
    EXPECT_EQ(a.machine.next_deadline(), a.now + milliseconds(50));
}

TEST(Authority, asks_for_an_epoch_before_the_counter_is_full) {
    FakeStore store;
    Fleet1 a;
    ASSERT_TRUE(a.serve(store));
    a.step(CounterSeen{counter_full - 1});
    EXPECT_TRUE(a.actions.empty());
    store.sight.marker->counter = counter_full;
    a.step(CounterSeen{counter_full});
    a.answer(store);
    EXPECT_EQ(a.machine.state(), State::waiting);
    EXPECT_NE(store.sight.record->reason.find("counter"), std::string::npos);
}

TEST(Authority, takes_the_recorded_uuid_over_with_an_alarm) {
    FakeStore store;
    Fleet1 fresh({}, 'F');
    ASSERT_TRUE(fresh.serve(store));
    Fleet1 a(Known{ClusterUuid("u-old"), 149'000});
    a.step(Identified{store.identity});
    a.answer(store);
    ASSERT_EQ(a.machine.state(), State::serving);
    ASSERT_NE(a.find<Notice>(), nullptr);
    EXPECT_EQ(a.find<Notice>()->level, Notice::Level::error);
    const auto& last = std::get<SaveKnown>(a.actions[a.actions.size() - 2]);
    EXPECT_EQ(last.known.uuid, store.sight.record->uuid);
}

TEST(Authority, raises_a_record_that_is_older_than_what_it_knows) {
    FakeStore store;
    Fleet1 fresh({}, 'F');
    ASSERT_TRUE(fresh.serve(store));
    Fleet1 a(Known{store.sight.record->uuid, 150'040});
    ASSERT_TRUE(a.serve(store));
    EXPECT_EQ(a.machine.epoch(), 150'041u);
}

TEST(Authority, refuses_a_marker_of_another_cluster) {
    FakeStore store;
    Fleet1 a(Known{ClusterUuid("u-1"), 5});
    store.sight.marker = Marker{ClusterUuid("u-2"), 9, Nonce("n"), "run-a", 1};
    a.step(Identified{store.identity});
    a.answer(store);
    EXPECT_EQ(a.machine.state(), State::pausing);
    EXPECT_NE(a.find<StopServing>()->reason.find("u-2"), std::string::npos);
}

TEST(Authority, needs_an_operator_for_a_state_directory_far_ahead) {
    FakeStore store;
    Fleet1 a(Known{ClusterUuid("u"), 500'000});
    a.step(Identified{store.identity});
    a.answer(store);
    EXPECT_EQ(a.machine.state(), State::pausing);
    ASSERT_NE(a.find<Notice>(), nullptr);
    EXPECT_NE(a.find<Notice>()->text.find("500000"), std::string::npos);
    // It looks again, and does not repeat itself.
    a.now = a.machine.next_deadline().value();
    a.step(TimeCame{});
    a.answer(store);
    EXPECT_EQ(a.machine.state(), State::pausing);
    EXPECT_EQ(a.find<Notice>(), nullptr);
}

TEST(Authority, tries_again_after_a_refused_attempt) {
    FakeStore store;
    Fleet1 a;
    a.step(Identified{store.identity});
    a.step(Seen{});
    a.step(AttemptFailed{"OOM command not allowed"});
    EXPECT_EQ(a.machine.state(), State::pausing);
    EXPECT_EQ(a.find<StopServing>()->reason, "OOM command not allowed");
    a.pass(milliseconds(249));
    a.step(TimeCame{});
    EXPECT_TRUE(a.actions.empty());
    a.pass(milliseconds(1));
    a.step(TimeCame{});
    a.answer(store);
    EXPECT_EQ(a.machine.state(), State::serving);
}

TEST(Authority, does_not_let_an_epoch_that_it_served_begin_again) {
    // The store lost everything, and the node that settles has never heard of the last epoch.
    FakeStore store;
    Fleet1 a;
    ASSERT_TRUE(a.serve(store));
    const Epoch served = a.machine.epoch();
    store.sight = Sight{};
    Fleet1 b(Known{ClusterUuid(a.find<Serve>()->record.uuid), served - 1}, 'B');
    b.step(Identified{store.identity});
    b.step(Seen{});
    ASSERT_NE(b.find<Settle>(), nullptr);
    ASSERT_EQ(b.find<Settle>()->next.epoch, served);
    store.settle(*b.find<Settle>());
    a.step(Doubted{Doubted::Kind::stale});
    EXPECT_TRUE(a.answer(store));
    ASSERT_TRUE(store.sight.record.has_value());
    EXPECT_EQ(store.sight.record->epoch, served + 1);
}

TEST(Authority, does_not_serve_an_epoch_that_was_opened_a_second_time) {
    FakeStore store;
    Fleet1 a;
    ASSERT_TRUE(a.serve(store));
    const Epoch served = a.machine.epoch();
    store.sight.record->nonce = Nonce("another");
    store.sight.marker->nonce = Nonce("another");
    a.step(Doubted{Doubted::Kind::stale});
    a.answer(store);
    EXPECT_NE(a.machine.state(), State::serving);
    EXPECT_EQ(store.sight.record->epoch, served + 1);
}

}  // namespace
}  // namespace latchd::core::authority
