// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "request_scan.hpp"

#include "argument_reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace latchd::resp::test {
namespace {

// The scan works on the buffer itself, so here it gets every prefix of a request in a heap block
// of just that size.
TEST(RequestScanTest, never_reads_past_what_has_arrived) {
    const std::string request =
        "*5\r\n$4\r\nLOCK\r\n$12\r\norder:settle\r\n$0\r\n\r\n$10\r\n0123456789\r\n$1\r\nx\r\n";
    for (std::size_t size = 1; size <= request.size(); ++size) {
        const std::vector<char> block(request.begin(), request.begin() + std::ptrdiff_t(size));
        RequestScan scan;
        const auto status =
            scan.advance({block.data(), block.size()}, {}, ClientTrust::authenticated);
        if (size < request.size()) {
            EXPECT_EQ(status, RequestScan::Status::need_more) << size;
        } else {
            EXPECT_EQ(status, RequestScan::Status::complete);
            EXPECT_EQ(scan.size(), request.size());
        }
    }
}

TEST(RequestScanTest, resumes_over_blocks_that_move) {
    const std::string request = "*2\r\n$10\r\n0123456789\r\n$00000\r\n";
    RequestScan scan;
    RequestScan::Status status = RequestScan::Status::need_more;
    for (std::size_t size = 1; size <= request.size(); ++size) {
        ASSERT_EQ(status, RequestScan::Status::need_more) << size;
        const std::vector<char> block(request.begin(), request.begin() + std::ptrdiff_t(size));
        status = scan.advance({block.data(), block.size()}, {}, ClientTrust::authenticated);
    }
    EXPECT_EQ(status, RequestScan::Status::failed);
    EXPECT_EQ(scan.error(), "Protocol error: invalid bulk length");
}

TEST(RequestScanTest, takes_integers_as_redis_writes_them_and_no_others) {
    EXPECT_EQ(parse_integer("0"), 0);
    EXPECT_EQ(parse_integer("-1"), -1);
    EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807);
    EXPECT_EQ(parse_integer("-9223372036854775807"), -9223372036854775807);
    for (const char* text : {"",
                             "-",
                             "-0",
                             "00",
                             "01",
                             "-01",
                             "+1",
                             " 1",
                             "1 ",
                             "1a",
                             "0x1",
                             "1.0",
                             "--1",
                             "9223372036854775808",
                             "99999999999999999999"}) {
        EXPECT_FALSE(parse_integer(text).has_value()) << text;
    }
}

// What is read at once is what is read with care; anything unusual is left to that.
TEST(PlainRequestTest, takes_whole_plain_requests_from_blocks_of_just_their_size) {
    const std::string request =
        "*4\r\n$4\r\nLOCK\r\n$12\r\norder:settle\r\n$0\r\n\r\n$10\r\n01234\r\n789\r\n";
    std::vector<std::string_view> arguments;
    for (std::size_t size = 1; size <= request.size(); ++size) {
        const std::vector<char> block(request.begin(), request.begin() + std::ptrdiff_t(size));
        const std::size_t taken = take_plain_request(
            {block.data(), block.size()}, {}, ClientTrust::authenticated, arguments);
        ASSERT_EQ(taken, size < request.size() ? 0 : size);
        if (taken == 0) continue;
        ASSERT_EQ(arguments.size(), 4u);
        EXPECT_EQ(arguments[1], "order:settle");
        EXPECT_EQ(arguments[2], "");
        EXPECT_EQ(arguments[3], "01234\r\n789");
        EXPECT_EQ(arguments[0].data(), block.data() + 8);
    }
}

TEST(PlainRequestTest, stops_behind_the_first_request) {
    const std::string ping = "*1\r\n$4\r\nPING\r\n";
    std::vector<std::string_view> arguments;
    EXPECT_EQ(take_plain_request(ping + ping, {}, ClientTrust::authenticated, arguments),
              ping.size());
    EXPECT_EQ(arguments.size(), 1u);
}

TEST(PlainRequestTest, leaves_what_is_unusual_or_wrong_to_the_careful_way) {
    std::vector<std::string_view> arguments;
    for (const char* bytes : {"*0\r\n*1\r\n",
                              "*-1\r\n*1\r\n",
                              "*01\r\n$4\r\nPING\r\n",
                              "*\r\n$4\r\nPING\r\n",
                              "*1\n$4\r\nPING\r\n",
                              "*1\r\n$-1\r\nPING\r\n",
                              "*1\r\n$04\r\nPING\r\n",
                              "*1\r\n$4\rxPING\r\n",
                              "*1\r\n$4\r\nPINGxx",
                              "*1\r\n$5\r\nPING\r\nx",
                              "*1\r\n:4\r\nPING\r\n",
                              "*1\r\n$4 \r\nPING\r\n",
                              "*2\r\n$4\r\nPING\r\n$99999\r\nx"}) {
        EXPECT_EQ(take_plain_request(bytes, {}, ClientTrust::authenticated, arguments), 0u)
            << bytes;
    }
    std::string many = "*100\r\n";
    for (int i = 0; i < 100; ++i) many += "$1\r\nx\r\n";
    EXPECT_EQ(take_plain_request(many, {}, ClientTrust::authenticated, arguments), 0u);
}

TEST(PlainRequestTest, keeps_every_limit) {
    const std::string request = "*3\r\n$4\r\nECHO\r\n$5\r\nhello\r\n$1\r\nx\r\n";
    std::vector<std::string_view> arguments;
    const auto taken = [&](const RequestLimits& limits, ClientTrust trust) {
        return take_plain_request(request, limits, trust, arguments);
    };
    for (const auto trust : {ClientTrust::authenticated, ClientTrust::unauthenticated}) {
        EXPECT_EQ(taken({}, trust), request.size());
        EXPECT_EQ(taken({.arguments_max = 2}, trust), 0u);
        EXPECT_EQ(taken({.bulk_bytes_max = 4}, trust), 0u);
        EXPECT_EQ(taken({.request_bytes_max = request.size() - 1}, trust), 0u);
        EXPECT_EQ(taken({.request_bytes_max = request.size()}, trust), request.size());
    }
    EXPECT_EQ(taken({.unauthenticated_arguments_max = 2}, ClientTrust::unauthenticated), 0u);
    EXPECT_EQ(taken({.unauthenticated_bulk_bytes_max = 4}, ClientTrust::unauthenticated), 0u);
    EXPECT_EQ(taken({.unauthenticated_arguments_max = 2}, ClientTrust::authenticated),
              request.size());
}

// The second line of defence, by itself.
TEST(ArgumentReaderTest, refuses_all_but_a_complete_array_of_bulk_strings) {
    for (const char* bytes : {"+PING\r\n",
                              ":1\r\n",
                              "-ERR\r\n",
                              "$4\r\nPING\r\n",
                              "$-1\r\n",
                              "*-1\r\n",
                              "*0\r\n",
                              "PING\r\n",
                              "*1\r\n:1\r\n",
                              "*1\r\n+OK\r\n",
                              "*1\r\n-ERR\r\n",
                              "*1\r\n$-1\r\n",
                              "*1\r\n*-1\r\n",
                              "*1\r\n*1\r\n$4\r\nPING\r\n",
                              "*2147483647\r\n",
                              "*1025\r\n",
                              "*2\r\n$4\r\nPING\r\n",
                              "*1\r\n$4\r\nPI",
                              "*1\r\n$4\r\nPING\r\n*1\r\n"}) {
        ArgumentReader reader;
        std::vector<std::string_view> arguments;
        EXPECT_FALSE(reader.read(bytes, {}, arguments)) << bytes;
        EXPECT_LT(arguments.capacity(), 1025u);
    }
    ArgumentReader reader;
    std::vector<std::string_view> arguments;
    EXPECT_FALSE(reader.read("*1\r\n$5\r\nhello\r\n", {.bulk_bytes_max = 4}, arguments));
}

TEST(ArgumentReaderTest, views_point_into_the_request) {
    ArgumentReader reader;
    std::vector<std::string_view> arguments;
    const std::string request = "*2\r\n$4\r\nPING\r\n$2000\r\n" + std::string(2000, 'x') + "\r\n";
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(reader.read(request, {}, arguments));
        ASSERT_EQ(arguments.size(), 2u);
        EXPECT_EQ(arguments[0].data(), request.data() + 8);
        EXPECT_EQ(arguments[1].data(), request.data() + 21);
        EXPECT_EQ(arguments[1].size(), 2000u);
    }
}

}  // namespace
}  // namespace latchd::resp::test
