// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "rate_limit.hpp"

#include <latchd/telemetry/log.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace latchd::telemetry {
namespace {

using std::chrono::seconds;

const RateLimit::Time start{};

TEST(RateLimit, lets_a_burst_through_and_counts_the_rest) {
    RateLimit limit(2, seconds(5));
    EXPECT_TRUE(limit.may_write(start, "a"));
    EXPECT_TRUE(limit.may_write(start, "a"));
    EXPECT_FALSE(limit.may_write(start, "a"));
    EXPECT_FALSE(limit.may_write(start + seconds(4), "a"));
    EXPECT_TRUE(limit.may_write(start, "b"));
    EXPECT_TRUE(limit.due(start + seconds(4)).empty());

    const auto due = limit.due(start + seconds(5));
    ASSERT_EQ(due.size(), 1u);
    EXPECT_EQ(due[0].event, "a");
    EXPECT_EQ(due[0].suppressed, 2u);
    EXPECT_TRUE(limit.may_write(start + seconds(5), "a"));
}

TEST(RateLimit, keeps_the_count_of_a_window_until_it_is_summed_up) {
    RateLimit limit(1, seconds(5));
    EXPECT_TRUE(limit.may_write(start, "a"));
    EXPECT_FALSE(limit.may_write(start, "a"));
    EXPECT_FALSE(limit.may_write(start + seconds(60), "a"));
    EXPECT_EQ(limit.due(start + seconds(60)).at(0).suppressed, 2u);
}

struct Line {
    Level level;
    std::string event;
    std::string text;
};

class Log : public ::testing::Test {
protected:
    void open(Level level) {
        LogOptions options;
        options.level = level;
        options.burst = 3;
        options.window = std::chrono::hours(1);
        open_log(options, [this](Level at, std::string_view event, std::string_view text) {
            lines.push_back({at, std::string(event), std::string(text)});
        });
    }
    ~Log() override { open_log({}); }

    std::vector<Line> lines;
};

TEST_F(Log, writes_what_is_at_or_above_its_level) {
    open(Level::warning);
    EXPECT_FALSE(log_wants(Level::info));
    log(Level::info, "a", "not wanted");
    log(Level::warning, "b", "wanted");
    log(Level::error, "c", "wanted too");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].event, "b");
    EXPECT_EQ(lines[1].level, Level::error);
    EXPECT_EQ(lines[1].text, "wanted too");
}

TEST_F(Log, suppresses_repeated_lines_but_never_debug_or_audit_ones) {
    open(Level::debug);
    const std::uint64_t before = log_counts().suppressed;
    for (int i = 0; i < 10; ++i) {
        log(Level::warning, "noisy", "again");
        log(Level::debug, "detail", "each");
        log(Level::warning, "audit.forceunlock", "who and what");
    }
    EXPECT_EQ(lines.size(), 23u);
    EXPECT_EQ(log_counts().suppressed - before, 7u);
}

}  // namespace
}  // namespace latchd::telemetry
