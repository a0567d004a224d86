// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "value.hpp"

#include <gtest/gtest.h>

namespace latchd::config {
namespace {

using namespace std::chrono_literals;

TEST(Duration, is_digits_and_a_unit) {
    EXPECT_EQ(parse_duration("50us").value, 50us);
    EXPECT_EQ(parse_duration("250ms").value, 250ms);
    EXPECT_EQ(parse_duration("2s").value, 2s);
    EXPECT_EQ(parse_duration("3m").value, 3min);
    EXPECT_EQ(parse_duration("4h").value, 4h);
    EXPECT_EQ(parse_duration("0s").value, 0s);
}

TEST(Duration, without_a_unit_names_two_that_would_do) {
    EXPECT_EQ(parse_duration("2").error, "'2' has no unit; write '2s' or '2ms'");
}

TEST(Size, without_a_unit_names_two_that_would_do) {
    EXPECT_EQ(parse_size("64").error, "'64' has no unit; write '64KiB' or '64B'");
}

TEST(Numbers, that_are_not_exactly_digits_and_unit_are_refused) {
    for (const auto* text : {"",
                             "s",
                             "-1s",
                             "+1s",
                             "1.5s",
                             "1 s",
                             "1S",
                             "01s",
                             "1s ",
                             " 1s",
                             "1d",
                             "1sms",
                             "nan",
                             "inf",
                             "0x1s",
                             "99999999999999999999s",
                             "9223372036854775807h"}) {
        EXPECT_FALSE(parse_duration(text)) << text;
    }
    for (const auto* text :
         {"", "KiB", "-1B", "1KB", "1kib", "1.5MiB", "1 MiB", "0001B", "99999999999GiB"}) {
        EXPECT_FALSE(parse_size(text)) << text;
    }
    for (const auto* text : {"",
                             "-1",
                             "+1",
                             "1.0",
                             "1e3",
                             "0777",
                             "0x10",
                             "ten",
                             "NaN",
                             "1 ",
                             "18446744073709551616",
                             "9223372036854775808"}) {
        EXPECT_FALSE(parse_count(text)) << text;
    }
}

TEST(Numbers, are_formatted_in_the_largest_unit_that_is_exact) {
    EXPECT_EQ(format_duration(0s), "0s");
    EXPECT_EQ(format_duration(1500ms), "1500ms");
    EXPECT_EQ(format_duration(90s), "90s");
    EXPECT_EQ(format_duration(120s), "2m");
    EXPECT_EQ(format_size(1536), "1536B");
    EXPECT_EQ(format_size(64 * kibibyte), "64KiB");
}

TEST(Boolean, is_true_or_false_and_nothing_else) {
    EXPECT_EQ(parse_boolean("true").value, true);
    EXPECT_EQ(parse_boolean("false").value, false);
    for (const auto* text : {"yes", "on", "True", "1", ""}) EXPECT_FALSE(parse_boolean(text));
}

TEST(Rate, is_lines_in_a_time) {
    EXPECT_EQ(parse_rate("10/5s").value, (Rate{10, 5s}));
    for (const auto* text : {"10", "/", "10/", "/5s", "0/5s", "10/0s", "10/5", "10/2h", "-1/5s"}) {
        EXPECT_FALSE(parse_rate(text)) << text;
    }
}

TEST(Name, has_1_to_64_harmless_bytes) {
    EXPECT_EQ(parse_name("a-1.B_c:2").value, "a-1.B_c:2");
    EXPECT_TRUE(parse_name(std::string(64, 'x')));
    EXPECT_FALSE(parse_name(std::string(65, 'x')));
    for (const auto* text : {"", "a b", "a/b", "ä", "a{b}"}) EXPECT_FALSE(parse_name(text)) << text;
}

TEST(Address, is_a_host_and_port_or_a_socket) {
    EXPECT_EQ(parse_address("127.0.0.1:6385").value, (Address{"127.0.0.1", 6385, ""}));
    EXPECT_EQ(parse_address("redis-1.internal:0").value, (Address{"redis-1.internal", 0, ""}));
    EXPECT_EQ(parse_address("[::1]:6385").value, (Address{"::1", 6385, ""}));
    EXPECT_EQ(parse_address("unix:/run/a.sock").value, (Address{"", 0, "/run/a.sock"}));
}

TEST(Address, reads_back_what_it_prints) {
    for (const auto* text : {"127.0.0.1:6385", "[::1]:6385", "unix:/run/a.sock", "host:0"}) {
        EXPECT_EQ(parse_address(text).value->to_string(), text);
    }
}

TEST(Address, that_is_incomplete_or_ambiguous_is_refused) {
    EXPECT_EQ(parse_address("127.0.0.1").error,
              "'127.0.0.1' has no port; write 'host:port' or 'unix:/path'");
    EXPECT_EQ(parse_address("::1:6385").error,
              "'::1:6385' has several colons; write IPv6 as '[address]:port'");
    const std::string too_long = "unix:/" + std::string(107, 'x');
    for (const std::string& text : {std::string(""),
                                    std::string(":6385"),
                                    std::string("host:"),
                                    std::string("host:65536"),
                                    std::string("host:-1"),
                                    std::string("host:x"),
                                    std::string("[::1]"),
                                    std::string("[::1"),
                                    std::string("[::1]x:1"),
                                    std::string("[]:1"),
                                    std::string("*:1"),
                                    std::string("a b:1"),
                                    std::string("unix:"),
                                    std::string("unix:run/a"),
                                    too_long}) {
        EXPECT_FALSE(parse_address(text)) << text;
    }
}

TEST(Address, is_loopback_only_by_a_literal_or_localhost) {
    for (const auto* text : {"127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "localhost:1", "unix:/a"}) {
        EXPECT_TRUE(parse_address(text).value->is_loopback()) << text;
    }
    for (const auto* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.example.org:1"}) {
        EXPECT_FALSE(parse_address(text).value->is_loopback()) << text;
    }
}

TEST(LogTarget, is_a_word_or_a_file) {
    for (const auto* text : {"auto", "journal", "stderr", "file:/var/log/latchd.log"}) {
        EXPECT_EQ(format_log_target(*parse_log_target(text).value), text);
    }
    for (const auto* text : {"", "file:", "file:a.log", "stdout", "/var/log/latchd.log"}) {
        EXPECT_FALSE(parse_log_target(text)) << text;
    }
}

TEST(InQuotes, cuts_long_text_and_hides_control_bytes) {
    EXPECT_EQ(in_quotes("a\x1b[1m\n"), "'a?[1m?'");
    EXPECT_EQ(in_quotes(std::string(100, 'x')), "'" + std::string(80, 'x') + "...'");
}

}  // namespace
}  // namespace latchd::config
