// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/authority/clock_offset.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace latchd::core::authority {
namespace {

using std::chrono::milliseconds;
using Verdict = ClockOffset::Verdict;

// A store whose clock is `base` at boot time 0 and goes as told; probed once a second.
struct Probing {
    ClockOffset clock;
    Time now{std::chrono::seconds(1000)};
    std::int64_t base = 1'790'000'000'000;

    Verdict probe(Duration round_trip = milliseconds(1), int position_percent = 50) {
        now += std::chrono::seconds(1);
        const Time sent = now;
        const Time read = sent + round_trip * position_percent / 100;
        now += round_trip;
        return clock.add(sent, now, StoreMs{base + to_ms(read.time_since_epoch())});
    }
    std::int64_t error() const {
        return static_cast<std::int64_t>(clock.expected(now).value()) -
               (base + to_ms(now.time_since_epoch()));
    }
};

TEST(ClockOffset, expects_nothing_before_the_first_probe) {
    EXPECT_FALSE(ClockOffset().expected(Time{}).has_value());
}

TEST(ClockOffset, is_set_by_the_first_quick_probe) {
    Probing p;
    EXPECT_EQ(p.probe(milliseconds(101)), Verdict::steady);
    EXPECT_FALSE(p.clock.expected(p.now).has_value());
    EXPECT_EQ(p.probe(milliseconds(4)), Verdict::steady);
    EXPECT_LE(std::abs(p.error()), 1);
}

TEST(ClockOffset, takes_the_middle_of_the_round_trip) {
    Probing p;
    p.probe(milliseconds(80), 100);  // read at its very end: 40 ms off
    EXPECT_NEAR(p.error(), 40, 1);
}

TEST(ClockOffset, reports_a_step_after_two_probes_running) {
    for (const std::int64_t step : {+150, -150, +60'000, -3'600'000}) {
        Probing p;
        p.probe();
        p.base += step;
        EXPECT_EQ(p.probe(), Verdict::strayed) << step;
        EXPECT_EQ(p.probe(), Verdict::jumped) << step;
        EXPECT_NEAR(p.error(), -step, 2) << "a step is not followed";
    }
}

TEST(ClockOffset, forgives_one_stray_probe) {
    Probing p;
    p.probe();
    p.base += 500;
    EXPECT_EQ(p.probe(), Verdict::strayed);
    p.base -= 500;
    EXPECT_EQ(p.probe(), Verdict::steady);
    p.base += 500;
    EXPECT_EQ(p.probe(), Verdict::strayed);
}

TEST(ClockOffset, is_not_misled_by_a_store_that_answers_late) {
    Probing p;
    p.probe();
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(p.probe(std::chrono::seconds(2), 0), Verdict::steady);
        EXPECT_EQ(p.probe(std::chrono::seconds(2), 100), Verdict::steady);
    }
}

TEST(ClockOffset, keeps_its_suspicion_over_a_probe_that_can_not_tell) {
    Probing p;
    p.probe();
    p.base += 500;
    EXPECT_EQ(p.probe(), Verdict::strayed);
    EXPECT_EQ(p.probe(std::chrono::seconds(2)), Verdict::steady);
    EXPECT_EQ(p.probe(), Verdict::jumped);
}

TEST(ClockOffset, follows_drift_by_a_millisecond_a_second) {
    Probing p;
    p.probe();
    for (int i = 0; i < 600; ++i) {
        // Half a millisecond a second: the measured one may be 20 probes old.
        if (i % 2 == 0) ++p.base;
        ASSERT_EQ(p.probe(), Verdict::steady) << i;
        ASSERT_LE(std::abs(p.error()), 15) << i;
    }
}

TEST(ClockOffset, never_follows_faster) {
    Probing p;
    p.probe();
    p.base += 90;
    p.probe();
    EXPECT_NEAR(p.error(), -89, 2);
}

TEST(ClockOffset, prefers_the_quickest_of_the_last_twenty) {
    Probing p;
    p.probe(milliseconds(1));
    for (int i = 0; i < 19; ++i) p.probe(milliseconds(90), 100);
    EXPECT_LE(std::abs(p.error()), 1);
    for (int i = 0; i < 60; ++i) p.probe(milliseconds(90), 100);
    EXPECT_GT(p.error(), 20);  // nothing better is left
}

TEST(ClockOffset, goes_unchecked_when_every_round_trip_is_long) {
    Probing p;
    p.probe();
    for (int i = 0; i < 19; ++i) p.probe(milliseconds(150));
    EXPECT_FALSE(p.clock.is_too_far());
    p.probe(milliseconds(150));
    EXPECT_TRUE(p.clock.is_too_far());
    EXPECT_FALSE(p.clock.expected(p.now).has_value());
    p.probe();
    EXPECT_TRUE(p.clock.expected(p.now).has_value());
}

TEST(ClockOffset, is_taken_anew_in_a_new_epoch_only) {
    Probing p;
    p.probe();
    p.base += 60'000;
    p.probe();
    p.probe();
    p.clock.rebase();
    EXPECT_FALSE(p.clock.expected(p.now).has_value());
    EXPECT_EQ(p.probe(), Verdict::steady);
    EXPECT_LE(std::abs(p.error()), 1);
}

}  // namespace
}  // namespace latchd::core::authority
