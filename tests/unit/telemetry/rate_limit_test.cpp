// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "rate_limit.hpp"

#include <latchd/telemetry/log.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <system_error>
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
        options.audit_burst = 20;
        options.audit_window = std::chrono::hours(1);
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

TEST_F(Log, suppresses_repeated_lines_but_never_debug_ones) {
    open(Level::debug);
    const std::uint64_t before = log_counts().suppressed;
    for (int i = 0; i < 10; ++i) {
        log(Level::warning, "noisy", "again");
        log(Level::debug, "detail", "each");
    }
    EXPECT_EQ(lines.size(), 13u);
    EXPECT_EQ(log_counts().suppressed - before, 7u);
}

TEST_F(Log, has_a_wider_limit_for_what_administrators_do) {
    open(Level::info);
    const std::uint64_t before = log_counts().suppressed;
    for (int i = 0; i < 50; ++i) log(Level::warning, "audit.forceunlock", "who and what");
    EXPECT_EQ(lines.size(), 20u);
    EXPECT_EQ(log_counts().suppressed - before, 30u);
}

TEST(FullLog, drops_and_counts_lines_and_says_so) {
    LogOptions options;
    options.target = Target::file;
    options.path = "/dev/full";
    testing::internal::CaptureStderr();
    open_log(options);
    const std::uint64_t before = log_counts().dropped;
    log(Level::warning, "a", "lost");
    log(Level::warning, "a", "lost too");
    sum_up_log();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(log_counts().dropped - before, 2u);
    EXPECT_NE(log_trouble().find("/dev/full"), std::string::npos) << log_trouble();
    EXPECT_NE(log_trouble().find("No space left on device"), std::string::npos);
    EXPECT_EQ(said.find("/dev/full"), said.rfind("/dev/full")) << "said more than once: " << said;
    EXPECT_NE(said.find("No space left on device"), std::string::npos) << said;
    open_log({});
    EXPECT_EQ(log_trouble(), "");
}

TEST(FullLog, says_how_many_lines_it_lost_when_it_goes_on) {
    bool is_full = true;
    std::vector<std::string> lines;
    open_log({}, [&](Level, std::string_view event, std::string_view text) {
        if (is_full) throw std::system_error(ENOSPC, std::generic_category());
        lines.push_back(std::string(event) + " " + std::string(text));
    });
    log(Level::warning, "a", "lost");
    log(Level::warning, "a", "lost too");
    EXPECT_NE(log_trouble(), "");
    is_full = false;
    sum_up_log();
    EXPECT_EQ(log_trouble(), "");
    log(Level::warning, "a", "not lost");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0],
              "log.dropped 2 lines could not be written and are lost: No space left on device");
    EXPECT_EQ(lines[1], "a not lost");
    open_log({});
}

TEST(FullLog, goes_to_standard_error_when_its_file_cannot_be_opened) {
    LogOptions options;
    options.target = Target::file;
    options.path = "/dev/null/none";
    testing::internal::CaptureStderr();
    open_log(options);
    log(Level::warning, "a", "seen");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("latchd: log.target: /dev/null/none: "), std::string::npos) << said;
    EXPECT_NE(said.find("a: seen"), std::string::npos) << said;
    EXPECT_NE(log_trouble().find("/dev/null/none"), std::string::npos);
    open_log({});
}

}  // namespace
}  // namespace latchd::telemetry
