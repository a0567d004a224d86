// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/core/time/deadlines.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace latchd::core {
namespace {

TEST(Deadlines, agree_with_a_sorted_list_under_any_order_of_arming_and_disarming) {
    const unsigned seed = 20261129;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Deadlines deadlines;
    std::vector<Timer> timers(300);
    std::vector<Time> dues(timers.size());  // of those that are armed
    for (int round = 0; round < 20'000; ++round) {
        const std::size_t at = random() % timers.size();
        Timer& timer = timers[at];
        switch (random() % 5) {
            case 0:
            case 1:
                dues[at] = Time{Duration(random() % 1'000)};
                deadlines.arm(timer, dues[at]);
                ASSERT_EQ(deadlines.due_of(timer), dues[at]);
                break;
            case 2:
                deadlines.disarm(timer);
                break;
            case 3: {
                const std::size_t by = random() % timers.size();
                if (timers[by].is_armed()) break;
                const bool was_armed = timer.is_armed();
                deadlines.replace(timer, timers[by]);
                ASSERT_FALSE(timer.is_armed());
                ASSERT_EQ(timers[by].is_armed(), was_armed);
                dues[by] = dues[at];
                if (was_armed) {
                    ASSERT_EQ(deadlines.due_of(timers[by]), dues[by]);
                }
                break;
            }
            default: {
                Timer* const first = deadlines.pop(Time{Duration(random() % 1'000)});
                if (first == nullptr) break;
                const Time due = dues[static_cast<std::size_t>(first - timers.data())];
                for (const Timer& other : timers) {
                    EXPECT_TRUE(!other.is_armed() || due <= deadlines.due_of(other));
                }
            }
        }
        const auto armed = static_cast<std::size_t>(std::count_if(
            timers.begin(), timers.end(), [](const Timer& t) { return t.is_armed(); }));
        ASSERT_EQ(deadlines.size(), armed);
    }
}

}  // namespace
}  // namespace latchd::core
