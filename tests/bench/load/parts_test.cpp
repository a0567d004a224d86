// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "course.hpp"
#include "histogram.hpp"
#include "judge.hpp"
#include "reply.hpp"
#include "settings.hpp"

#include <gtest/gtest.h>

namespace latchd::load {
namespace {

TEST(LoadHistogram, percentiles_are_at_most_a_64th_too_high) {
    Histogram histogram;
    for (std::int64_t ns = 1; ns <= 1'000'000; ++ns) histogram.add(ns);
    for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const double exact = share * 1e6;
        const auto shown = static_cast<double>(histogram.percentile_ns(share));
        EXPECT_GE(shown, exact - 1) << share;
        EXPECT_LE(shown, exact * (1 + 1.0 / 64) + 1) << share;
    }
    EXPECT_EQ(histogram.max_ns(), 1'000'000u);
    EXPECT_EQ(histogram.count(), 1'000'000u);
}

TEST(LoadHistogram, takes_what_is_out_of_its_range) {
    Histogram histogram;
    EXPECT_EQ(histogram.percentile_ns(0.5), 0u);
    histogram.add(-5);
    histogram.add(INT64_MAX);
    EXPECT_EQ(histogram.percentile_ns(0.5), 0u);
    EXPECT_EQ(histogram.max_ns(), static_cast<std::uint64_t>(INT64_MAX));
}

Judge::Grant grant(std::size_t client, std::uint64_t fence, std::int64_t now_ns) {
    return {.client = client,
            .server = 0,
            .lock = 0,
            .fence = fence,
            .now_ns = now_ns,
            .lease_end_ns = now_ns + 1000};
}

TEST(LoadJudge, excuses_one_holder_after_the_other) {
    Judge judge(1, 2, 1);
    judge.granted(grant(0, 7, 100));
    judge.releasing(0, 0, 200);
    judge.granted(grant(1, 8, 250));
    judge.granted(grant(0, 9, 1250));  // the lease of the former is over
    EXPECT_EQ(judge.doubles(), 0u);
    EXPECT_EQ(judge.fences_back(), 0u);
    EXPECT_EQ(judge.hand_over().count(), 1u);
    EXPECT_EQ(judge.hand_over().max_ns(), 50u);
}

TEST(LoadJudge, sees_two_holders_of_different_clients) {
    Judge judge(1, 2, 1);
    judge.granted(grant(0, 7, 100));
    judge.granted(grant(1, 8, 1099));
    EXPECT_EQ(judge.doubles(), 1u);
    EXPECT_NE(judge.first_wrong().find("while client 0 held it"), std::string::npos);
}

TEST(LoadJudge, a_late_release_of_the_former_holder_frees_nothing) {
    Judge judge(1, 3, 1);
    judge.granted(grant(0, 7, 100));
    judge.granted(grant(1, 8, 1100));
    judge.releasing(0, 0, 1200);
    judge.granted(grant(2, 9, 1300));
    EXPECT_EQ(judge.doubles(), 1u);
}

TEST(LoadJudge, sees_a_fence_that_stays_or_goes_back) {
    Judge judge(1, 1, 1);
    for (const std::uint64_t fence : {7u, 7u, 6u, 8u}) {
        judge.granted(grant(0, fence, 100));
        judge.releasing(0, 0, 101);
    }
    EXPECT_EQ(judge.fences_back(), 2u);
    EXPECT_EQ(judge.doubles(), 0u);
}

TEST(LoadJudge, counts_who_is_passed_and_for_how_long_a_server_is) {
    Judge judge(1, 2, 2);
    judge.asked(1, 0);
    for (std::uint64_t fence = 1; fence <= 3; ++fence) {
        judge.asked(0, 0);
        judge.granted(grant(0, fence, 100));
        judge.releasing(0, 0, 101);
    }
    Judge::Grant other = grant(1, 4, 102);
    other.server = 1;
    judge.granted(other);
    EXPECT_EQ(judge.passed_max(), 3u);
    EXPECT_EQ(judge.server_wait_max(), 3u);
    EXPECT_EQ(judge.client_grants_min(), 1u);
    EXPECT_EQ(judge.client_grants_max(), 3u);
}

TEST(LoadCourse, knows_the_longest_time_without_a_grant) {
    Course course(0);
    course.answered(0, 50, Answer::granted, 1);  // of the warming up
    course.begin(1000);
    course.answered(900, 1100, Answer::granted, 2);
    course.answered(1100, 1200, Answer::refused, 0);
    course.answered(1100, 1700, Answer::granted, 3);
    EXPECT_EQ(course.longest_gap().length_ns, 600);
    EXPECT_EQ(course.longest_gap().end_ns, 700);
    course.end(2301);
    EXPECT_EQ(course.longest_gap().length_ns, 601);
    EXPECT_TRUE(course.slices().empty());
}

TEST(LoadCourse, sees_the_first_grant_of_each_epoch) {
    Course course(0);
    course.begin(0);
    for (const auto& [now, epoch] : {std::pair{10, 4ull}, {20, 4ull}, {30, 6ull}, {40, 5ull}}) {
        course.answered(0, now, Answer::granted, epoch << 32 | 1);
    }
    ASSERT_EQ(course.epochs().size(), 2u);
    EXPECT_EQ(course.epochs()[1], Course::EpochSeen(6, 30));
}

TEST(LoadCourse, puts_a_lock_into_the_slice_in_which_it_was_asked) {
    Course course(100);
    course.begin(1000);
    course.answered(999, 1050, Answer::refused, 0);
    course.answered(1099, 1350, Answer::granted, 1);
    course.answered(1100, 1160, Answer::away, 0);
    ASSERT_EQ(course.slices().size(), 2u);
    EXPECT_EQ(course.slices()[0].granted, 1u);
    EXPECT_EQ(course.slices()[0].took.max_ns(), 251u);
    EXPECT_EQ(course.slices()[1].away, 1u);
    EXPECT_EQ(course.slices()[1].refused, 0u);
}

TEST(LoadReply, tells_a_store_that_is_away_from_a_failure) {
    for (const auto& [data, is_away] : {std::pair{"-NOSTORE redis is away\r\n", true},
                                        {"-UNCERTAIN max_ms=5 req=r\r\n", true},
                                        {"-ERR unknown command\r\n", false},
                                        {"+NOSTORE \r\n", false}}) {
        std::size_t at = 0;
        Reply reply;
        ASSERT_EQ(parse_reply(data, at, reply), Parsed::whole);
        EXPECT_EQ(reply.is_store_away(), is_away) << data;
    }
}

TEST(LoadReply, is_read_whole_however_it_is_split) {
    const std::string_view data = "*3\r\n$3\r\nabc\r\n:-12\r\n*2\r\n+OK\r\n$-1\r\n$0\r\n\r\n";
    Reply reply;
    for (std::size_t size = 0; size < data.size() - 6; ++size) {
        std::size_t at = 0;
        ASSERT_EQ(parse_reply(data.substr(0, size), at, reply), Parsed::more) << size;
        ASSERT_EQ(at, 0u);
    }
    std::size_t at = 0;
    ASSERT_EQ(parse_reply(data, at, reply), Parsed::whole);
    ASSERT_EQ(reply.count, 6u);
    EXPECT_EQ(reply[1].text, "abc");
    EXPECT_EQ(reply[2].number(), -12);
    EXPECT_EQ(reply[5].kind, '_');
    ASSERT_EQ(parse_reply(data, at, reply), Parsed::whole);
    EXPECT_EQ(reply[0].text, "");
    EXPECT_EQ(at, data.size());
    EXPECT_EQ(parse_reply("?\r\n", at = 0, reply), Parsed::broken);
}

TEST(LoadSettings, refuse_every_address_but_loopback) {
    for (const char* address : {"10.0.0.1:6379",
                                "192.168.1.1:1",
                                "0.0.0.0:1",
                                "126.255.255.255:1",
                                "128.0.0.1:1",
                                "localhost:1",
                                "127.0.0.1",
                                "127.0.0.1:0",
                                "127.0.0.1:1,8.8.8.8:1",
                                "[::1]:1",
                                ""}) {
        EXPECT_TRUE(std::holds_alternative<std::string>(parse_settings({"--at", address})))
            << address;
    }
    const auto good = parse_settings({"--at", "127.0.0.1:1,127.255.0.9:65535"});
    ASSERT_TRUE(std::holds_alternative<Settings>(good));
    EXPECT_EQ(std::get<Settings>(good).servers.size(), 2u);
}

TEST(LoadSettings, refuse_what_they_do_not_know) {
    for (const auto& more :
         std::vector<std::vector<std::string_view>>{{"--connections", "0"},
                                                    {"--connections", "x"},
                                                    {"--rate"},
                                                    {"--nothing", "1"},
                                                    {"--as", "mysql"},
                                                    {"--pid", "latchd"},
                                                    {"--wait", "5", "--pipeline", "2"}}) {
        std::vector<std::string_view> arguments = {"--at", "127.0.0.1:1"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        EXPECT_TRUE(std::holds_alternative<std::string>(parse_settings(arguments))) << more[0];
    }
}

}  // namespace
}  // namespace latchd::load
