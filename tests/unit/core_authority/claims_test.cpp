// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/lock/claims.hpp>
#include <latchd/core/lock/table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

namespace latchd::core {
namespace {

using std::chrono::seconds;

LockKey lock(const char* id) { return {ResourceName("r"), LockId(id)}; }

GrantRecord grant(const char* id, Fence fence, std::uint64_t version, Duration left) {
    GrantRecord record;
    record.key = lock(id);
    record.holds.push_back({Token("t"), RequestId("q"), {{1, 1}}, seconds(1)});
    record.fence = fence;
    record.version = version;
    record.left = left;
    record.ttl = seconds(30);
    return record;
}

Claims of(std::vector<GrantRecord> records) { return {std::move(records), {}, {}}; }

// Whatever the order in which they come, the same comes out.
Claims merged(std::vector<Claims> all) {
    const Claims result = merge(all);
    std::ranges::reverse(all);
    EXPECT_EQ(merge(all), result);
    return result;
}

TEST(Claims, what_only_the_unsure_know_of_gets_a_new_fence) {
    const Claims sure = of({grant("2", 6, 2, seconds(3)), grant("3", 8, 1, seconds(3))});
    const Claims unsure = of({grant("1", 5, 3, seconds(9)),
                              grant("2", 6, 1, seconds(3)),
                              grant("3", 7, 1, seconds(3)),
                              grant("4", 9, 2, seconds(3))});
    const std::vector<Claims> all{sure, unsure, of({grant("4", 7, 1, seconds(3))})};
    Claims merged = merge(all);
    refence(merged, std::span(all).first(1), 100);
    ASSERT_EQ(merged.records.size(), 4u);
    EXPECT_EQ(merged.records[0].fence, 100u);
    EXPECT_EQ(merged.records[0].version, 1u);
    EXPECT_EQ(merged.records[0].left, seconds(9)) << "nothing is taken off";
    EXPECT_EQ(merged.records[1].fence, 6u) << "somebody is sure that it is live";
    EXPECT_EQ(merged.records[2].fence, 8u) << "a later grant, of which somebody is sure";
    EXPECT_EQ(merged.records[3].fence, 100u);
}

TEST(Claims, age_as_time_goes_by) {
    Claims claims = of({grant("1", 5, 1, seconds(9)), grant("2", 6, 1, seconds(3))});
    claims.records[0].hard_left = seconds(10);
    claims.records[1].delay = seconds(2);
    claims.gone = {{lock("3"), 7}};
    claims.cancelled = {{lock("1"), RequestId("q"), seconds(4)},
                        {lock("1"), RequestId("p"), seconds(5)}};
    age(claims, seconds(4));
    ASSERT_EQ(claims.records.size(), 2u);
    EXPECT_EQ(claims.records[0].left, seconds(5));
    EXPECT_EQ(claims.records[0].hard_left, seconds(6));
    EXPECT_EQ(claims.records[0].age, seconds(4));
    EXPECT_EQ(claims.records[0].holds[0].adopt_left, Duration::zero());
    EXPECT_EQ(claims.records[1].left, -seconds(1)) << "in its DELAY";
    ASSERT_EQ(claims.cancelled.size(), 1u);
    EXPECT_EQ(claims.gone.size(), 1u);
    age(claims, seconds(1));
    EXPECT_EQ(claims.records.size(), 1u);
}

TEST(Merge, nothing_of_nothing) { EXPECT_EQ(merged({}), Claims{}); }

TEST(Merge, keeps_locks_of_several_in_order_of_their_keys) {
    const Claims all = merged({of({grant("b", 1, 1, seconds(1))}), of({grant("a", 2, 1, {})})});
    ASSERT_EQ(all.records.size(), 2u);
    EXPECT_EQ(all.records[0].key, lock("a"));
    EXPECT_EQ(all.records[1].key, lock("b"));
}

TEST(Merge, the_higher_fence_wins_even_with_an_earlier_end) {
    const Claims all =
        merged({of({grant("1", 5, 9, seconds(50))}), of({grant("1", 6, 1, seconds(1))})});
    ASSERT_EQ(all.records.size(), 1u);
    EXPECT_EQ(all.records[0], grant("1", 6, 1, seconds(1)));
}

// Counter-example A6: two nodes hold records of one grant, the older version ends later.
TEST(Merge, of_one_fence_the_later_end_counts) {
    GrantRecord old = grant("1", 5, 1, seconds(19));
    old.hard_left = seconds(40);
    old.holds[0].adopt_left = seconds(9);
    GrantRecord renewed = grant("1", 5, 2, seconds(10));
    renewed.hard_left = seconds(39);
    renewed.holds.push_back({Token("u"), RequestId("v"), {{2, 1}}, seconds(2)});
    const Claims all = merged({of({old}), of({renewed})});
    ASSERT_EQ(all.records.size(), 1u);
    const GrantRecord& record = all.records[0];
    EXPECT_EQ(record.version, 2u);
    ASSERT_EQ(record.holds.size(), 2u) << "of the newer version";
    EXPECT_EQ(record.left, seconds(19));
    EXPECT_EQ(record.hard_left, seconds(40));
    EXPECT_EQ(record.holds[0].adopt_left, seconds(9));
    EXPECT_EQ(record.holds[1].adopt_left, seconds(2));
}

TEST(Merge, a_later_end_is_never_past_the_hard_end) {
    GrantRecord renewed = grant("1", 5, 2, seconds(3));
    renewed.hard_left = seconds(3);
    const Claims all = merged({of({grant("1", 5, 1, seconds(4))}), of({renewed})});
    EXPECT_EQ(all.records[0].left, seconds(4));
    EXPECT_EQ(all.records[0].hard_left, seconds(4));
}

TEST(Merge, a_hold_of_an_older_version_does_not_come_back) {
    GrantRecord two = grant("1", 5, 2, seconds(9));
    two.holds.push_back({Token("u"), RequestId("v"), {{2, 1}}, seconds(2)});
    const Claims all = merged({of({two}), of({grant("1", 5, 3, seconds(8))})});
    EXPECT_EQ(all.records[0].holds.size(), 1u);
}

TEST(Merge, a_gone_fence_ends_its_record_whatever_the_version) {
    const Claims gone{{}, {{lock("1"), 5}}, {}};
    const Claims all = merged({of({grant("1", 5, 7, seconds(9))}), gone});
    EXPECT_EQ(all, Claims{}) << "nor is the gone fence carried";
}

TEST(Merge, a_gone_fence_ends_earlier_grants_but_no_later_one) {
    const Claims gone{{}, {{lock("1"), 5}, {lock("1"), 3}}, {}};
    EXPECT_EQ(merged({of({grant("1", 4, 1, seconds(9))}), gone}), Claims{});
    EXPECT_EQ(merged({of({grant("1", 6, 1, seconds(9))}), gone}).records.size(), 1u);
    EXPECT_EQ(merged({of({grant("2", 5, 1, seconds(9))}), gone}).records.size(), 1u);
}

TEST(Merge, the_gone_grant_s_predecessor_does_not_come_back) {
    const Claims gone{{}, {{lock("1"), 6}}, {}};
    EXPECT_EQ(
        merged({of({grant("1", 5, 1, seconds(9))}), of({grant("1", 6, 1, seconds(9))}), gone}),
        Claims{});
}

TEST(Merge, a_record_in_its_delay_is_carried) {
    GrantRecord lapsed = grant("1", 5, 2, -seconds(3));
    lapsed.delay = seconds(10);
    EXPECT_EQ(merged({of({lapsed})}), of({lapsed}));
    const Claims all = merged({of({lapsed}), of({grant("1", 5, 1, seconds(1))})});
    EXPECT_EQ(all.records[0].left, seconds(1));
    EXPECT_EQ(all.records[0].delay, seconds(10));
}

TEST(Merge, a_request_id_stays_cancelled_for_the_longest_time) {
    const RequestId a("a"), b("b");
    const Claims one{{}, {}, {{lock("1"), a, seconds(3)}, {lock("1"), b, seconds(1)}}};
    const Claims two{{}, {}, {{lock("1"), a, seconds(7)}, {lock("2"), a, seconds(2)}}};
    const std::vector<CancelledRequest> expected{
        {lock("1"), a, seconds(7)}, {lock("1"), b, seconds(1)}, {lock("2"), a, seconds(2)}};
    EXPECT_EQ(merged({one, two}).cancelled, expected);
}

// A leaver's record, say, that nobody knew to be over.
TEST(Restore, replaces_a_carried_grant_with_a_lower_fence) {
    Table table(7);
    const Time now = Time(seconds(100));
    GrantRecord carried = grant("1", make_fence(5, 1), 1, seconds(9));
    carried.node = NodeName("former");
    (void)table.apply(now, Restore{carried, true});
    GrantRecord later = grant("1", make_fence(5, 2), 1, seconds(8));
    later.holds[0].token = Token("later");
    const Reply put = table.apply(now, Restore{later, false}).reply;
    ASSERT_EQ(put.status, Status::restored);
    EXPECT_EQ(epoch_of(put.record->fence), 7u);
    EXPECT_EQ(put.record->holds[0].token, Token("later"));
    const auto told = table.take_told();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].node, NodeName("former"));
    EXPECT_EQ(table.apply(now, Restore{carried, false}).reply.status, Status::held);
}

}  // namespace
}  // namespace latchd::core
