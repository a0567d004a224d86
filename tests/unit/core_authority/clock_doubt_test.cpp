// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/authority/clock_doubt.hpp>

#include <gtest/gtest.h>

namespace latchd::core::authority {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One other store, whose clock was measured at 10 s; the arbiter agreed at 20 s, is ahead at 21 s.
class ClockDoubts : public ::testing::Test {
protected:
    static Time at(Duration since_boot) { return Time(since_boot); }
    static StoreMs shows(Duration at, Duration ahead = {}) {
        return StoreMs{1'790'000'000'000 + to_ms(at + ahead)};
    }
    void SetUp() override { measure(seconds(10)); }
    void measure(Duration when) {
        store.clock.rebase();
        (void)store.clock.add(at(when), at(when), shows(when));
        store.since = at(when);
    }
    void step() {
        doubt.agrees(at(seconds(20)));
        doubt.is_ahead(at(seconds(21)), {store, ClockDoubt::Witness{}});
    }
    void settle() { doubt.settles(at(milliseconds(21'100)), at(minutes)); }
    void probe(Duration when, Duration ahead = {}, Duration took = {}) {
        doubt.probed(0, at(when), at(when + took), shows(when + took / 2, ahead));
    }
    bool is_unsure() const { return doubt.is_unsure(at(seconds(22))); }
    bool is_vouched() const { return doubt.is_vouched(at(seconds(22))); }
    bool is_waiting() const { return doubt.awaits_witness(at(milliseconds(21'600))); }
    void conclude() { doubt.conclude(at(seconds(22))); }

    static constexpr Duration minutes = std::chrono::minutes(5);
    static constexpr Duration later = milliseconds(21'200);
    ClockDoubt::Witness store;
    ClockDoubt doubt;
};

TEST_F(ClockDoubts, an_arbiter_that_is_ahead_once_is_none) {
    step();
    doubt.agrees(at(later));
    settle();
    EXPECT_FALSE(is_unsure());
}

TEST_F(ClockDoubts, last_until_all_that_was_granted_before_has_ended) {
    step();
    EXPECT_FALSE(is_unsure()) << "no epoch settles";
    settle();
    conclude();
    EXPECT_TRUE(is_unsure());
    EXPECT_FALSE(is_vouched());
    EXPECT_TRUE(doubt.is_unsure(at(minutes - milliseconds(1))));
    EXPECT_FALSE(doubt.is_unsure(at(minutes)));
}

TEST_F(ClockDoubts, are_vouched_for_by_a_store_whose_clock_went_on) {
    step();
    probe(later);
    settle();
    EXPECT_FALSE(is_waiting());
    conclude();
    EXPECT_TRUE(is_unsure());
    EXPECT_TRUE(is_vouched());
}

TEST_F(ClockDoubts, wait_for_a_probe_that_is_due) {
    step();
    settle();
    EXPECT_TRUE(is_waiting());
    EXPECT_FALSE(is_vouched());
    probe(later);
    EXPECT_FALSE(is_waiting());
    conclude();
    EXPECT_TRUE(is_vouched());
}

TEST_F(ClockDoubts, wait_no_longer_than_a_probe_takes) {
    step();
    settle();
    ASSERT_TRUE(doubt.waits_until());
    EXPECT_FALSE(doubt.awaits_witness(*doubt.waits_until()));
    EXPECT_LT(*doubt.waits_until(), at(seconds(22))) << "others open it without its claims";
    conclude();
    probe(later);
    EXPECT_FALSE(is_vouched()) << "the row has told";
}

TEST_F(ClockDoubts, wait_for_no_store_that_is_away) {
    step();
    doubt.failed(0);
    settle();
    EXPECT_FALSE(is_waiting());
}

TEST_F(ClockDoubts, are_not_vouched_for_by_a_store_that_is_ahead_too) {
    step();
    probe(later, seconds(2));
    settle();
    EXPECT_FALSE(is_waiting());
    probe(later + milliseconds(100));
    conclude();
    EXPECT_FALSE(is_vouched());
}

TEST_F(ClockDoubts, are_not_vouched_for_by_what_was_asked_before) {
    step();
    probe(milliseconds(20'990), {}, milliseconds(50));
    settle();
    EXPECT_TRUE(is_waiting());
    EXPECT_FALSE(is_vouched());
}

TEST_F(ClockDoubts, are_not_vouched_for_by_a_slow_probe) {
    step();
    probe(later, {}, milliseconds(150));
    settle();
    EXPECT_TRUE(is_waiting()) << "the next one may tell";
}

// What it was measured by may be this node's clock after it had stood still.
TEST_F(ClockDoubts, are_not_vouched_for_by_a_clock_that_was_measured_since) {
    measure(milliseconds(20'500));
    step();
    probe(later);
    settle();
    EXPECT_FALSE(is_waiting());
    conclude();
    EXPECT_FALSE(is_vouched());
}

TEST_F(ClockDoubts, about_what_an_earlier_process_left_are_not_vouched_for) {
    doubt.inherits(at(minutes));
    EXPECT_TRUE(is_unsure());
    step();
    probe(later);
    settle();
    conclude();
    EXPECT_FALSE(is_vouched());
}

TEST_F(ClockDoubts, of_a_host_that_stood_still_outlast_a_step_that_follows) {
    step();
    settle();
    conclude();
    doubt.agrees(at(milliseconds(21'400)));
    measure(milliseconds(21'300));
    doubt.is_ahead(at(milliseconds(21'500)), {store});
    probe(milliseconds(21'600));
    settle();
    conclude();
    EXPECT_TRUE(is_unsure());
    EXPECT_FALSE(is_vouched());
}

}  // namespace
}  // namespace latchd::core::authority
