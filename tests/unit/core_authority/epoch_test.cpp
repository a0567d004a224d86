// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/authority/epoch.hpp>

#include <gtest/gtest.h>

namespace latchd::core::authority {
namespace {

constexpr std::int64_t start = 1'735'689'600'000;
constexpr std::int64_t period = 300'000;

WallMs at(std::int64_t periods, std::int64_t ms = 0) {
    return WallMs{start + periods * period + ms};
}

TEST(Epoch, counts_five_minute_periods_since_2025) {
    EXPECT_EQ(periods_at(WallMs{0}), 0u);
    EXPECT_EQ(periods_at(at(0, -1)), 0u);
    EXPECT_EQ(periods_at(at(0)), 0u);
    EXPECT_EQ(periods_at(at(1, -1)), 0u);
    EXPECT_EQ(periods_at(at(1)), 1u);
    EXPECT_EQ(periods_at(WallMs{1'767'225'600'000}), 105'120u);  // 2026-01-01
}

struct Case {
    const char* what;
    EpochWish wish;
    WallMs wall;
    Epoch expected;  // 0: refused
    const char* says;
};

TEST(Epoch, is_chosen_by_the_table) {
    const Case cases[] = {
        {"nothing known: the floor", {}, at(150'000), 150'000, ""},
        {"nothing known, clock before 2025", {}, WallMs{0}, 1, ""},
        {"record: the next", {.recorded = 7, .has_record = true}, at(150'000), 8, ""},
        {"record, nothing newer known",
         {.recorded = 7, .has_record = true, .known = 7},
         at(150'000),
         8,
         ""},
        {"older record than known",
         {.recorded = 7, .has_record = true, .known = 150'003},
         at(150'000),
         150'004,
         ""},
        {"marker alone: no record, so the floor", {.recorded = 7}, at(150'000), 150'000, ""},
        {"no record but known", {.known = 150'003}, at(150'000), 150'004, ""},
        {"known is old: the floor", {.known = 90'000}, at(150'000), 150'000, ""},
        {"known as far ahead as may be", {.known = 154'096}, at(150'000), 154'097, ""},
        {"known too far ahead", {.known = 154'097}, at(150'000), 0, "state directory"},
        {"known too far ahead, but recorded as well",
         {.recorded = 500'000, .has_record = true, .known = 500'000},
         at(150'000),
         500'001,
         ""},
        {"known too far ahead of record and floor",
         {.recorded = 9, .has_record = true, .known = 500'000},
         at(150'000),
         0,
         "state directory"},
        {"clock at the last floor", {}, at(floor_max), floor_max, ""},
        {"clock past the last floor", {}, at(floor_max + 1), 0, "clock"},
        {"clock past the last floor with a record",
         {.recorded = 9, .has_record = true},
         at(floor_max + 1),
         10,
         ""},
        {"the last epoch", {.recorded = epoch_max - 1, .has_record = true}, at(1), epoch_max, ""},
        {"past the last epoch", {.recorded = epoch_max, .has_record = true}, at(1), 0, "past"},
    };
    for (const Case& c : cases) {
        const EpochChoice choice = choose_epoch(c.wish, c.wall);
        EXPECT_EQ(choice.epoch, c.expected) << c.what;
        EXPECT_EQ(choice.refusal.empty(), c.expected != 0) << c.what;
        EXPECT_NE(choice.refusal.find(c.says), std::string::npos) << c.what << choice.refusal;
    }
}

TEST(Epoch, starts_its_counter_at_the_milliseconds_into_its_own_period) {
    EXPECT_EQ(counter_start(150'000, at(150'000)), 0u);
    EXPECT_EQ(counter_start(150'000, at(150'000, 1)), 8192u);
    EXPECT_EQ(counter_start(150'000, at(150'000, 299'999)), 299'999u * 8192u);
    EXPECT_EQ(counter_start(150'000, at(150'001, 5)), 300'000u * 8192u) << "opened a period later";
    EXPECT_EQ(counter_start(150'000, at(150'002)), 0u);
    EXPECT_EQ(counter_start(150'000, at(149'999)), 0u);
    EXPECT_LT(counter_start(150'000, at(150'001)), counter_full);
}

// A container that loses everything and comes back within the same period, again and again.
TEST(Epoch, gives_rising_fences_to_who_lost_everything) {
    Fence last = 0;
    for (std::int64_t ms = 0; ms < 3 * period; ms += 777) {
        const WallMs settled = at(150'000, ms);
        const WallMs opened = at(150'000, ms + 300);
        const Epoch epoch = choose_epoch({}, settled).epoch;
        const Fence first = make_fence(epoch, counter_start(epoch, opened) + 1);
        ASSERT_GT(first, last) << ms;
        last = first + 100;
    }
}

// Whoever finds no trace of such an epoch begins above it all the same.
TEST(Epoch, is_by_the_clock_unless_ahead_of_it) {
    EXPECT_TRUE(is_by_clock(149'999, at(150'000)));
    EXPECT_TRUE(is_by_clock(150'000, at(150'000)));
    EXPECT_TRUE(is_by_clock(150'000, at(151'000, -1)));
    EXPECT_FALSE(is_by_clock(150'001, at(150'000)));
    EXPECT_FALSE(is_by_clock(150'001, at(150'001, -1)));
    for (const std::int64_t ms : {0ll, 1ll, 299'999ll, 300'000ll, 900'000ll}) {
        const Epoch first = choose_epoch({.known = 149'999}, at(150'000)).epoch;
        const WallMs later = at(150'000, ms + 1);
        const Epoch next = choose_epoch({.known = 149'999}, later).epoch;
        EXPECT_TRUE(is_by_clock(first, at(150'000)));
        EXPECT_TRUE(next > first || counter_start(next, later) > counter_start(first, at(150'000)));
    }
}

}  // namespace
}  // namespace latchd::core::authority
