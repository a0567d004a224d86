// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/authority/arbiter.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

// Rules A1-A11, one by one, on the reference.
namespace latchd::core::authority {
namespace {

using std::chrono::seconds;

FleetRecord settling(Epoch epoch, const char* nonce) {
    FleetRecord record;
    record.uuid = ClusterUuid("uuid");
    record.epoch = epoch;
    record.placement.store = "redis";
    record.placement.tier = "redis";
    record.placement.since_epoch = epoch;
    record.placement.nonce = Nonce(nonce);
    return record;
}

Placement opened(Epoch epoch, const char* nonce) {
    Placement next = settling(epoch, nonce).placement;
    next.state = RecordState::open;
    return next;
}

NodeRow row(const char* name, Incarnation incarnation, Epoch acked = 0) {
    NodeRow node;
    node.name = NodeName(name);
    node.incarnation = incarnation;
    node.acked = acked;
    return node;
}

LockKey lock(const char* id) { return {ResourceName("r"), LockId(id)}; }

Claims held(const char* id, Fence fence) {
    GrantRecord record;
    record.key = lock(id);
    record.holds.resize(1);
    record.fence = fence;
    record.version = 1;
    record.left = seconds(10);
    Claims claims;
    claims.records.push_back(record);
    return claims;
}

struct Arbiter : testing::Test {
    ArbiterTable table;
    StoreMs now{1'000'000};

    ArbiterReply ask(const ArbiterCall& call) { return table.apply(now, call); }
    bool done(const ArbiterCall& call) { return ask(call).done; }
    void settle(Epoch epoch) {
        Propose call;
        if (table.record()) {
            const Placement& is = table.record()->placement;
            call.expected = {table.record()->epoch, is.state, is.nonce};
        }
        call.next = settling(epoch, "s");
        ASSERT_TRUE(done(call));
    }
    void open(Epoch epoch) { ASSERT_TRUE(done(OpenEpoch{epoch, Nonce("s"), opened(epoch, "o")})); }
    void hand_over(Epoch epoch, Incarnation incarnation, const Claims& claims) {
        ASSERT_TRUE(done(HandOver{epoch, claims, true, true, row("n", incarnation)}));
    }
    std::vector<HandedOver> fetch_all(Epoch epoch) {
        std::vector<HandedOver> all;
        FetchClaims call{epoch};
        do {
            ArbiterReply page = ask(call);
            std::move(page.claims.begin(), page.claims.end(), std::back_inserter(all));
            call.after = page.next;
        } while (!call.after.empty());
        return all;
    }
    std::vector<Claims> fetch(Epoch epoch) {
        std::vector<Claims> claims;
        for (HandedOver& given : fetch_all(epoch)) claims.push_back(std::move(given.claims));
        return claims;
    }
    void later(Duration time) { now = StoreMs{static_cast<std::int64_t>(now) + to_ms(time)}; }
};

TEST_F(Arbiter, A1_shows_the_view_after_the_call) {
    table.identity.run_id = "process";
    const ArbiterReply reply = ask(Beat{row("b", 2), {}});
    EXPECT_TRUE(reply.done);
    EXPECT_EQ(reply.view.arbiter.run_id, "process");
    EXPECT_EQ(reply.view.shown, now);
    EXPECT_FALSE(reply.view.record);
    ASSERT_EQ(reply.view.nodes.size(), 1u);
    settle(5);
    ask(Beat{row("a", 3), {}});
    const View view = ask(Beat{row("b", 1), {}}).view;
    EXPECT_EQ(view.record, table.record());
    ASSERT_EQ(view.nodes.size(), 3u);
    EXPECT_EQ(view.nodes[0].incarnation, 3u) << "by name, then incarnation";
    EXPECT_EQ(view.nodes[1].incarnation, 1u);
    EXPECT_EQ(view.nodes[2].incarnation, 2u);
}

TEST_F(Arbiter, A2_a_beat_overwrites_the_row_but_acked_never_falls) {
    EXPECT_EQ(ask(Beat{row("n", 1, 7), {}}).view.nodes[0].acked, 0u) << "there is no record";
    settle(5);
    EXPECT_EQ(ask(Beat{row("n", 1, 7), {}}).view.nodes[0].acked, 5u);
    NodeRow next = row("n", 1, 3);
    next.beat = 9;
    const View view = ask(Beat{next, {}}).view;
    EXPECT_EQ(view.nodes[0].acked, 5u);
    EXPECT_EQ(view.nodes[0].beat, 9u);
}

TEST_F(Arbiter, A2_a_beat_that_was_overtaken_changes_only_acked) {
    settle(5);
    NodeRow newer = row("n", 1);
    newer.beat = 9;
    newer.ttl_high = seconds(30);
    ask(Beat{newer, {}});
    NodeRow older = row("n", 1, 5);
    older.beat = 8;
    newer.acked = 5;
    EXPECT_EQ(ask(Beat{older, {}}).view.nodes[0], newer);
}

TEST_F(Arbiter, A2_a_beat_takes_the_replaced_row_out) {
    ask(Beat{row("n", 1), {}});
    const View view = ask(Beat{row("n", 2), Incarnation{1}}).view;
    ASSERT_EQ(view.nodes.size(), 1u);
    EXPECT_EQ(view.nodes[0].incarnation, 2u);
}

TEST_F(Arbiter, A3_compares_epoch_state_and_nonce) {
    const Propose::Expected there{5, RecordState::settling, Nonce("s")};
    EXPECT_FALSE(done(Propose{there, settling(6, "x")})) << "there is none";
    EXPECT_FALSE(done(Propose{{}, settling(0, "s")})) << "not above";
    EXPECT_TRUE(done(Propose{{}, settling(5, "s")}));
    EXPECT_EQ(table.record()->placement.since_ms, 1'000'000);
    EXPECT_FALSE(done(Propose{{}, settling(6, "x")})) << "there is one";
    EXPECT_FALSE(done(Propose{there, settling(5, "x")})) << "not above";
    auto other = there;
    other.epoch = 4;
    EXPECT_FALSE(done(Propose{other, settling(6, "x")}));
    other = there;
    other.state = RecordState::open;
    EXPECT_FALSE(done(Propose{other, settling(6, "x")}));
    other = there;
    other.nonce = Nonce("x");
    EXPECT_FALSE(done(Propose{other, settling(6, "x")}));
    EXPECT_EQ(table.record()->placement.nonce, Nonce("s")) << "nothing was written";
    EXPECT_TRUE(done(Propose{there, settling(8, "x")}));
    EXPECT_EQ(table.record()->epoch, 8u);
}

TEST_F(Arbiter, A4_a_hand_over_counts_only_for_the_recorded_epoch) {
    EXPECT_FALSE(done(HandOver{5, held("1", 1), true, true, row("n", 1)}));
    settle(5);
    const ArbiterReply wrong = ask(HandOver{4, held("1", 1), true, true, row("n", 1)});
    EXPECT_FALSE(wrong.done);
    EXPECT_TRUE(wrong.view.nodes.empty());
    EXPECT_TRUE(fetch(5).empty());
}

TEST_F(Arbiter, A4_the_last_part_acknowledges_and_the_first_drops_what_was_there) {
    settle(5);
    EXPECT_TRUE(ask(HandOver{5, held("1", 1), true, false, row("n", 1)}).view.nodes.empty());
    const View view = ask(HandOver{5, held("2", 2), false, true, row("n", 1)}).view;
    ASSERT_EQ(view.nodes.size(), 1u);
    EXPECT_EQ(view.nodes[0].acked, 5u);
    ASSERT_EQ(fetch(5).size(), 1u);
    EXPECT_EQ(fetch(5)[0].records.size(), 2u);
    ask(HandOver{5, held("3", 3), true, true, row("n", 1)});
    EXPECT_EQ(fetch(5), std::vector<Claims>{held("3", 3)});
}

TEST_F(Arbiter, A4_takes_late_hand_overs_once_it_is_open) {
    settle(5);
    open(5);
    EXPECT_EQ(ask(HandOver{5, {}, true, true, row("n", 1)}).view.nodes[0].acked, 5u);
}

TEST_F(Arbiter, A5_answers_the_claims_of_epochs_that_never_opened) {
    settle(5);
    hand_over(5, 1, held("1", 1));
    open(5);
    hand_over(5, 2, held("2", 2));
    settle(6);
    hand_over(6, 1, held("3", 3));
    settle(7);
    hand_over(7, 2, held("4", 4));
    hand_over(7, 3, {});
    EXPECT_FALSE(done(FetchClaims{6}));
    EXPECT_TRUE(fetch(6).empty());
    EXPECT_EQ(fetch(7), (std::vector<Claims>{held("3", 3), held("4", 4)}));
}

TEST_F(Arbiter, A5_leavers_claims_count_for_their_time) {
    settle(5);
    ask(Leave{1, held("1", 1), true});
    const Basis& basis = table.record()->basis;
    later(2 * (basis.ttl_max + basis.delay_max));
    EXPECT_EQ(fetch(5), std::vector<Claims>{held("1", 1)});
    later(std::chrono::milliseconds(1));
    EXPECT_TRUE(fetch(5).empty());
}

TEST_F(Arbiter, A5_says_how_old_claims_are) {
    settle(5);
    ask(HandOver{5, {}, true, false, row("n", 1)});
    later(seconds(1));
    ask(HandOver{5, held("1", 1), false, false, row("n", 1)});
    later(seconds(1));
    ask(HandOver{5, held("2", 2), false, true, row("n", 1)});
    ask(Leave{2, held("3", 3), false});
    later(seconds(1));
    ask(Leave{2, held("4", 4), true});
    later(seconds(1));
    const auto all = fetch_all(5);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].epoch, 5u);
    EXPECT_EQ(all[0].from, 1u);
    EXPECT_EQ(all[0].age, seconds(3)) << "since the first part that isn't empty";
    EXPECT_EQ(all[1].epoch, 0u);
    EXPECT_EQ(all[1].age, seconds(1)) << "since the last part";
}

TEST_F(Arbiter, A5_answers_in_pages_of_one_version) {
    settle(5);
    for (Incarnation node = 1; node <= 9; ++node) hand_over(5, node, held("1", node));
    const ArbiterReply first = ask(FetchClaims{5});
    EXPECT_LT(first.claims.size(), 9u);
    ASSERT_FALSE(first.next.empty());
    EXPECT_EQ(ask(FetchClaims{5, first.next}).claims_version, first.claims_version);
    EXPECT_EQ(fetch(5).size(), 9u);
    hand_over(5, 3, held("2", 2));
    EXPECT_NE(ask(FetchClaims{5, first.next}).claims_version, first.claims_version);
}

TEST_F(Arbiter, A6_opens_only_the_settling_epoch_by_its_nonce) {
    EXPECT_FALSE(done(OpenEpoch{5, Nonce("s"), opened(5, "o")}));
    settle(5);
    EXPECT_FALSE(done(OpenEpoch{6, Nonce("s"), opened(6, "o")}));
    EXPECT_FALSE(done(OpenEpoch{5, Nonce("x"), opened(5, "o")}));
    later(seconds(1));
    EXPECT_TRUE(done(OpenEpoch{5, Nonce("s"), opened(5, "o")}));
    EXPECT_EQ(table.record()->placement.state, RecordState::open);
    EXPECT_EQ(table.record()->placement.nonce, Nonce("o"));
    EXPECT_EQ(table.record()->placement.since_ms, 1'001'000);
    EXPECT_FALSE(done(OpenEpoch{5, Nonce("o"), opened(5, "o")})) << "it is open";
}

TEST_F(Arbiter, A6_does_not_open_over_claims_that_were_not_fetched) {
    settle(5);
    const std::uint64_t before = ask(FetchClaims{5}).claims_version;
    hand_over(5, 1, held("1", 1));
    EXPECT_FALSE(done(OpenEpoch{5, Nonce("s"), opened(5, "o"), before}));
    const std::uint64_t between = ask(FetchClaims{5}).claims_version;
    ask(Leave{2, held("2", 2), true});
    EXPECT_FALSE(done(OpenEpoch{5, Nonce("s"), opened(5, "o"), between}));
    const std::uint64_t after = ask(FetchClaims{5}).claims_version;
    EXPECT_TRUE(done(OpenEpoch{5, Nonce("s"), opened(5, "o"), after}));
}

TEST_F(Arbiter, A6_an_opening_deletes_the_claims_but_leavers_ones) {
    settle(5);
    hand_over(5, 1, held("1", 1));
    ask(Leave{2, held("2", 2), true});
    EXPECT_EQ(fetch(5).size(), 2u);
    open(5);
    settle(6);
    EXPECT_EQ(fetch(6), std::vector<Claims>{held("2", 2)});
}

TEST_F(Arbiter, A7_a_leaver_s_row_goes_with_the_last_part) {
    settle(5);
    ask(Beat{row("n", 1), {}});
    EXPECT_EQ(ask(Leave{1, held("1", 1), false}).view.nodes.size(), 1u);
    EXPECT_TRUE(ask(Leave{1, held("2", 2), true}).view.nodes.empty());
    ASSERT_EQ(fetch(5).size(), 1u);
    EXPECT_EQ(fetch(5)[0].records.size(), 2u);
}

TEST_F(Arbiter, A8_forget_takes_the_row_out) {
    ask(Beat{row("n", 1), {}});
    ask(Beat{row("n", 2), {}});
    const View view = ask(Forget{1}).view;
    ASSERT_EQ(view.nodes.size(), 1u);
    EXPECT_EQ(view.nodes[0].incarnation, 2u);
    EXPECT_TRUE(done(Forget{1})) << "sent again";
}

TEST_F(Arbiter, A8_settled_takes_leavers_records_out_up_to_the_fence) {
    settle(5);
    hand_over(5, 3, held("1", 1));
    ask(Leave{1, held("1", 5), true});
    ask(Leave{2, held("2", 5), true});
    ask(Settled{{{lock("1"), 4}, {lock("2"), 5}}});
    EXPECT_EQ(fetch(5), (std::vector<Claims>{held("1", 1), held("1", 5)}));
    ask(Settled{{{lock("1"), 6}}});
    EXPECT_EQ(fetch(5), std::vector<Claims>{held("1", 1)}) << "hand-overs stay";
}

TEST_F(Arbiter, A9_each_change_of_a_resource_raises_the_version) {
    ResourceSettings settings;
    settings.queue_max = 7;
    EXPECT_EQ(ask(WriteResource{ResourceName("b"), settings}).view.registry_version, 1u);
    EXPECT_EQ(ask(WriteResource{ResourceName("a"), ResourceSettings{}}).view.registry_version, 2u);
    ArbiterReply all = ask(ReadRegistry{});
    ASSERT_EQ(all.resources.size(), 2u);
    EXPECT_EQ(all.resources[1], std::pair(ResourceName("b"), settings));
    EXPECT_EQ(ask(WriteResource{ResourceName("b"), {}}).view.registry_version, 3u);
    EXPECT_EQ(ask(ReadRegistry{}).resources.size(), 1u);
}

TEST_F(Arbiter, A9_a_change_for_the_next_epoch_is_done_only_in_this_one) {
    settle(5);
    const auto write = [](Epoch epoch) {
        return WriteResource{ResourceName("a"), ResourceSettings{}, epoch};
    };
    EXPECT_FALSE(done(write(4)));
    EXPECT_EQ(ask(ReadView{}).view.registry_version, 0u);
    EXPECT_TRUE(done(write(5)));
}

BasisChange change(std::uint64_t number, Epoch from) {
    BasisChange next;
    next.number = number;
    next.from = from;
    next.next.ttl_max = seconds(10);
    next.ttl_before = next.delay_before = seconds(60);
    return next;
}

TEST_F(Arbiter, A11_a_change_of_the_basis_is_shown_from_its_epoch_on_whoever_began_that) {
    settle(5);
    EXPECT_FALSE(done(WriteBasis{change(1, 6), 4})) << "another epoch";
    EXPECT_FALSE(done(WriteBasis{change(2, 6), 5})) << "not the next change";
    EXPECT_TRUE(done(WriteBasis{change(1, 6), 5}));
    EXPECT_FALSE(done(WriteBasis{change(1, 6), 5})) << "another came first";
    EXPECT_EQ(ask(ReadView{}).view.basis_change, change(1, 6));
    EXPECT_EQ(ask(ReadView{}).view.record->basis.ttl_max, seconds(60));
    settle(6);  // by whoever has not heard of it
    EXPECT_EQ(ask(ReadView{}).view.record->basis.ttl_max, seconds(10));
    settle(7);
    EXPECT_EQ(ask(ReadView{}).view.record->basis.ttl_max, seconds(10));
}

TEST_F(Arbiter, A11_leavers_claims_count_as_long_as_before_a_change_to_less) {
    settle(5);
    ask(Leave{1, held("1", 5), true});
    ASSERT_TRUE(done(WriteBasis{change(1, 6), 5}));
    settle(6);
    later(2 * seconds(120));
    EXPECT_EQ(fetch(6), std::vector<Claims>{held("1", 5)});
    later(seconds(1));
    EXPECT_TRUE(fetch(6).empty());
}

struct ArbiterUses : Arbiter {
    static constexpr Duration period = seconds(10);

    void SetUp() override {
        for (const char* name : {"a", "b"}) ask(WriteResource{ResourceName(name), {{}}});
    }
    // The next period begins.
    ArbiterReply next(std::vector<ResourceName> used = {}) {
        now = StoreMs{static_cast<std::int64_t>(now) + 10'000};
        return ask(NoteUses{std::move(used), period});
    }
    bool is_retired(const char* name) {
        const auto all = ask(ReadRegistry{}).resources;
        const auto it =
            std::ranges::find(all, ResourceName(name), [](const auto& r) { return r.first; });
        return it->second.retired;
    }
};

TEST_F(ArbiterUses, A10_what_nobody_uses_for_seven_whole_periods_is_retired) {
    const std::uint64_t version = next().view.registry_version;
    for (std::uint64_t i = 1; i <= unused_periods_max; ++i) {
        EXPECT_EQ(next({ResourceName("a")}).use_period, 1 + i);
    }
    EXPECT_FALSE(is_retired("b")) << "it may have been used at the end of the first period";
    EXPECT_EQ(ask(ReadView{}).view.registry_version, version);
    EXPECT_EQ(next().view.registry_version, version + 1);
    EXPECT_TRUE(is_retired("b"));
    EXPECT_FALSE(is_retired("a"));
}

TEST_F(ArbiterUses, A10_periods_count_and_not_the_clock) {
    next();
    now = StoreMs{static_cast<std::int64_t>(now) + 1'000'000'000};
    EXPECT_EQ(ask(NoteUses{{}, period}).use_period, 2u) << "the clock jumped, or no node ran";
    EXPECT_EQ(ask(NoteUses{{}, period}).use_period, 2u);
    now = StoreMs{1'000};
    EXPECT_EQ(ask(NoteUses{{}, period}).use_period, 2u) << "the clock went back";
    EXPECT_EQ(next().use_period, 3u);
    EXPECT_FALSE(is_retired("a"));
}

TEST_F(ArbiterUses, A10_a_retired_resource_that_is_used_or_set_is_so_no_more) {
    for (std::uint64_t i = 0; i <= unused_periods_max + 1; ++i) next();
    ASSERT_TRUE(is_retired("a") && is_retired("b"));
    const std::uint64_t version = ask(ReadView{}).view.registry_version;
    EXPECT_EQ(ask(NoteUses{{ResourceName("a")}, {}}).view.registry_version, version + 1)
        << "a node used it before it heard of that";
    ask(WriteResource{ResourceName("b"), {{}}});
    for (std::uint64_t i = 0; i < unused_periods_max; ++i) next();
    EXPECT_FALSE(is_retired("a"));
    EXPECT_FALSE(is_retired("b"));
    next();
    EXPECT_TRUE(is_retired("a"));
    EXPECT_TRUE(is_retired("b"));
}

TEST_F(ArbiterUses, A10_without_a_period_none_ends_and_nothing_is_retired) {
    for (std::uint64_t i = 0; i <= unused_periods_max; ++i) next();
    now = StoreMs{static_cast<std::int64_t>(now) + 10'000};
    EXPECT_EQ(ask(NoteUses{{ResourceName("c")}, {}}).use_period, unused_periods_max + 1);
    EXPECT_FALSE(is_retired("a"));
    EXPECT_EQ(ask(ReadRegistry{}).resources.size(), 2u) << "c is not registered";
}

TEST_F(Arbiter, a_copy_is_a_replica_that_lacks_the_rest) {
    settle(5);
    ArbiterTable replica = table;
    open(5);
    EXPECT_EQ(replica.record()->placement.state, RecordState::settling);
}

}  // namespace
}  // namespace latchd::core::authority
