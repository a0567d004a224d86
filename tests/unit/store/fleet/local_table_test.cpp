// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "local_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace latchd::store::fleet {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t wall_2026 = 1'767'225'600'000;  // 365 days into 2025
constexpr Fence seconds_2026 = 365 * 86'400;

core::Acquire acquire(const std::string& id) {
    core::Acquire wish;
    wish.key = {ResourceName("r"), LockId(id)};
    wish.request = RequestId("q" + id);
    wish.attempt = {1, 1};
    wish.token = Token("t" + id);
    wish.ttl = 10s;
    return wish;
}

Fence granted(LocalTable& table, const std::string& id) {
    const auto reply = table.apply(Time{1s}, acquire(id));
    EXPECT_EQ(reply.reply.status, core::Status::granted);
    return reply.reply.record ? reply.reply.record->fence : 0;
}

TEST(LocalTable, gives_fences_below_every_shared_one_above_the_seconds_since_2025) {
    LocalTable table(0, nullptr);
    table.open(wall_2026);
    EXPECT_EQ(granted(table, "1"), seconds_2026 + 1);
    EXPECT_EQ(granted(table, "2"), seconds_2026 + 2);
    EXPECT_EQ(epoch_of(granted(table, "3")), 0U);
}

TEST(LocalTable, starts_above_the_kept_floor_where_the_clock_lies) {
    LocalTable table(seconds_2026 + 500, nullptr);
    table.open(0);
    EXPECT_EQ(granted(table, "1"), seconds_2026 + 501);
}

TEST(LocalTable, saves_a_floor_above_all_that_it_gives) {
    Fence saved = 0;
    LocalTable table(0, [&saved](Fence floor) { saved = floor; });
    table.open(wall_2026);
    Fence last = 0;
    for (int i = 0; i < 40'000; ++i) {
        const std::string id = std::to_string(i);
        last = granted(table, id);
        ASSERT_LT(last, saved);
        (void)table.apply(
            Time{1s},
            core::Release{{ResourceName("r"), LockId(id)}, Token("t" + id), NodeName("n"), {}});
    }
    LocalTable next(saved, nullptr);
    next.open(0);
    EXPECT_GT(granted(next, "1"), last);
}

TEST(LocalTable, opened_again_is_empty_and_goes_on_rising) {
    LocalTable table(0, nullptr);
    table.open(wall_2026);
    const Fence first = granted(table, "1");
    table.open(wall_2026);
    EXPECT_EQ(table.size(), 0U);
    EXPECT_GT(granted(table, "1"), first);
}

}  // namespace
}  // namespace latchd::store::fleet
