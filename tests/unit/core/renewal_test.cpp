// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "core/lock/renewal.hpp"

#include "support/world.hpp"

#include <gtest/gtest.h>

namespace latchd::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Renewal, is_a_third_of_the_ttl_where_the_store_is_quick) {
    EXPECT_EQ(renew_after(seconds(30), {}), seconds(10));
    EXPECT_EQ(renew_after(seconds(30), {milliseconds(100), seconds(20)}), seconds(10));
    EXPECT_EQ(renew_after(milliseconds(900), {milliseconds(1), {}}), milliseconds(300));
}

TEST(Renewal, leaves_room_for_three_tries_of_a_slow_store) {
    EXPECT_EQ(renew_after(seconds(3), {milliseconds(180), {}}), milliseconds(3'000 - 12 * 180));
    EXPECT_EQ(renew_after(seconds(3), {milliseconds(200), {}}), milliseconds(600));
}

TEST(Renewal, is_never_below_a_sixth) {
    for (const int ttl : {1, 2, 30, 60}) {
        EXPECT_EQ(renew_after(seconds(ttl), {seconds(100), {}}), Duration(seconds(ttl)) / 6);
        EXPECT_EQ(renew_after(seconds(ttl), {seconds(100), seconds(1'000)}),
                  Duration(seconds(ttl)) / 6);
    }
}

TEST(Renewal, is_earlier_for_locks_that_are_held_long) {
    EXPECT_EQ(renew_after(seconds(12), {{}, seconds(48)}), seconds(4));
    EXPECT_EQ(renew_after(seconds(12), {{}, seconds(49)}), seconds(3));
}

TEST(Renewal, believes_a_slow_answer_at_once_and_quick_ones_by_and_by) {
    Pace pace;
    pace.saw_round_trip(milliseconds(80));
    EXPECT_EQ(pace.round_trip, milliseconds(80));
    pace.saw_round_trip(milliseconds(0));
    EXPECT_EQ(pace.round_trip, milliseconds(70));
    pace.saw_round_trip(milliseconds(90));
    EXPECT_EQ(pace.round_trip, milliseconds(90));
    pace.saw_hold(seconds(8));
    EXPECT_EQ(pace.held, seconds(8));
    pace.saw_hold(seconds(16));
    EXPECT_EQ(pace.held, seconds(9));
}

TEST(Renewal, of_a_node_follows_what_its_store_takes) {
    test::World world;
    test::Member& a = world.at(0);
    (void)test::granted(a.outcome(a.send(1, test::lock({.ttl_ms = 3'000, .keep = true}))));
    a.link = test::Link::frozen;
    world.advance(milliseconds(1'000));
    ASSERT_EQ(a.sent<Renew>(), 1u);
    world.advance(milliseconds(200));
    a.thaw();
    world.advance(milliseconds(599));
    EXPECT_EQ(a.sent<Renew>(), 1u);
    world.advance(milliseconds(1));
    EXPECT_EQ(a.sent<Renew>(), 2u) << "3 s less 12 round trips of 200 ms";
    world.advance(seconds(20));
    EXPECT_NEAR(static_cast<double>(a.sent<Renew>()), 2 + 20, 4) << "quick again: a third";
}

}  // namespace
}  // namespace latchd::core
