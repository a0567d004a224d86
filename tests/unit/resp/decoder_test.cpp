// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "transcript.hpp"

#include <latchd/resp/decoder.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace latchd::resp::test {
namespace {

using namespace std::string_literals;
using Requests = std::vector<std::vector<std::string>>;

Transcript decode(const std::string& bytes, ClientTrust trust = ClientTrust::authenticated) {
    return decode_whole(Decoder(trust), bytes);
}

std::string error_of(const std::string& bytes, ClientTrust trust = ClientTrust::authenticated) {
    const Transcript transcript = decode(bytes, trust);
    EXPECT_EQ(transcript.requests, Requests{});
    return transcript.error;
}

std::string bulk(std::size_t bytes) {
    return "$" + std::to_string(bytes) + "\r\n" + std::string(bytes, 'v') + "\r\n";
}

TEST(DecoderTest, yields_the_arguments_of_an_array) {
    EXPECT_EQ(decode("*3\r\n$4\r\nLOCK\r\n$1\r\na\r\n$0\r\n\r\n").requests,
              (Requests{{"LOCK", "a", ""}}));
}

TEST(DecoderTest, yields_pipelined_requests_in_order_and_keeps_the_rest) {
    Decoder decoder(ClientTrust::authenticated);
    decoder.feed("*1\r\n$1\r\na\r\nPING b\r\n*1\r\n$1\r\nc\r\n*1\r\n$5\r\nab");
    Transcript transcript;
    drain(decoder, transcript);
    EXPECT_EQ(transcript.requests, (Requests{{"a"}, {"PING", "b"}, {"c"}}));
    EXPECT_EQ(decoder.buffered_bytes(), 10u);
}

TEST(DecoderTest, takes_any_bytes_as_a_bulk) {
    std::string all;
    for (int c = 0; c < 256; ++c) {
        all += static_cast<char>(c);
    }
    for (const std::string& bytes : {"\r\n"s, "\r\n*1\r\n$4\r\nPING\r\n"s, all, "\0"s}) {
        const std::string request =
            "*2\r\n$4\r\nECHO\r\n$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
        EXPECT_EQ(decode(request).requests, (Requests{{"ECHO", bytes}}));
    }
}

TEST(DecoderTest, passes_over_empty_lines_and_empty_arrays) {
    const Transcript transcript =
        decode("\r\n\n*0\r\n*-1\r\n*-5\r\n \t \r\nPING\r\n\r\n*0\r\n*1\r\n$4\r\nECHO\r\n");
    EXPECT_EQ(transcript.requests, (Requests{{"PING"}, {"ECHO"}}));
    EXPECT_EQ(transcript.error, "");
}

TEST(DecoderTest, takes_a_first_byte_that_is_no_asterisk_as_an_inline_command) {
    EXPECT_EQ(decode("+PING\r\n$4\r\nPING\n").requests, (Requests{{"+PING"}, {"$4"}, {"PING"}}));
}

TEST(DecoderTest, asterisk_inside_a_line_does_not_begin_an_array) {
    EXPECT_EQ(decode(" *1\r\nPING\r\n").requests, (Requests{{"*1"}, {"PING"}}));
}

struct Refused {
    std::string bytes;
    std::string error;
};

TEST(DecoderTest, refuses_what_redis_refuses_in_the_same_words) {
    const std::string digits(70'000, '1');
    const std::vector<Refused> table{
        {"*2147483647\r\n", "invalid multibulk length"},
        {"*2147483648\r\n", "invalid multibulk length"},
        {"*1000000000\r\n", "invalid multibulk length"},
        {"*99999999999999999999\r\n", "invalid multibulk length"},
        {"*-99999999999999999999\r\n", "invalid multibulk length"},
        {"*1025\r\n", "invalid multibulk length"},
        {"*\r\n", "invalid multibulk length"},
        {"*a\r\n", "invalid multibulk length"},
        {"*1a\r\n", "invalid multibulk length"},
        {"*01\r\n", "invalid multibulk length"},
        {"*00\r\n", "invalid multibulk length"},
        {"*-0\r\n", "invalid multibulk length"},
        {"*+1\r\n", "invalid multibulk length"},
        {"* 1\r\n", "invalid multibulk length"},
        {"*1\rx\r\n", "invalid multibulk length"},
        {"*1\n\r\n", "invalid multibulk length"},
        {"*" + digits, "too big mbulk count string"},
        {"*1\r\n$" + digits, "too big bulk count string"},
        {"*1\r\n$-1\r\n", "invalid bulk length"},
        {"*1\r\n$-5\r\n", "invalid bulk length"},
        {"*1\r\n$65537\r\n", "invalid bulk length"},
        {"*1\r\n$2147483647\r\n", "invalid bulk length"},
        {"*1\r\n$9223372036854775807\r\n", "invalid bulk length"},
        {"*1\r\n$18446744073709551615\r\n", "invalid bulk length"},
        {"*1\r\n$99999999999999999999\r\n", "invalid bulk length"},
        {"*1\r\n$\r\n", "invalid bulk length"},
        {"*1\r\n$ 4\r\nPING\r\n", "invalid bulk length"},
        {"*1\r\n$04\r\nPING\r\n", "invalid bulk length"},
        {"*1\r\n$4\r\nPINGxxPING\r\n", "invalid bulk length"},
        {"*1\r\nx", "expected '$', got 'x'"},
        {"*1\r\n:1\r\n", "expected '$', got ':'"},
        {"*1\r\n+OK\r\n", "expected '$', got '+'"},
        {"*1\r\n-ERR\r\n", "expected '$', got '-'"},
        {"*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"},
        {"*2\r\n$4\r\nPING\r\n_\r\n", "expected '$', got '_'"},
        {"*1\r\n\r\n", "expected '$', got '?'"},
        {"PING \"a\r\n", "unbalanced quotes in request"},
        {"PING 'a\r\n", "unbalanced quotes in request"},
        {"PING \"a\"b\r\n", "unbalanced quotes in request"},
        {std::string(64 * 1024, 'a'), "too big inline request"},
        {std::string(64 * 1024, 'a') + "\r\n", "too big inline request"},
    };
    for (const Refused& row : table) {
        EXPECT_EQ(error_of(row.bytes), "Protocol error: " + row.error) << row.bytes.substr(0, 40);
    }
}

TEST(DecoderTest, hands_out_what_came_before_an_error_first) {
    const Transcript transcript =
        decode("PING\r\n*1\r\n$4\r\nECHO\r\n*1\r\n$-5\r\n*1\r\n$4\r\nLOST\r\n");
    EXPECT_EQ(transcript.requests, (Requests{{"PING"}, {"ECHO"}}));
    EXPECT_EQ(transcript.error, "Protocol error: invalid bulk length");
}

TEST(DecoderTest, reads_nothing_more_after_an_error_and_keeps_nothing) {
    Decoder decoder(ClientTrust::authenticated);
    decoder.feed("*x\r\n");
    EXPECT_EQ(decoder.next().status, DecodeStatus::protocol_error);
    decoder.feed("PING\r\n" + std::string(100'000, 'x'));
    const Decoded again = decoder.next();
    EXPECT_EQ(again.status, DecodeStatus::protocol_error);
    EXPECT_EQ(again.error, "Protocol error: invalid multibulk length");
    EXPECT_EQ(decoder.buffered_bytes(), 0u);
    EXPECT_LT(decoder.memory_bytes(), 1024u);
}

TEST(DecoderTest, takes_requests_up_to_each_limit_and_none_past_it) {
    const RequestLimits limits{.arguments_max = 3, .bulk_bytes_max = 20, .request_bytes_max = 40};
    const auto run = [&](const std::string& bytes) {
        return decode_whole(Decoder(ClientTrust::authenticated, limits), bytes);
    };
    EXPECT_EQ(run("*3\r\n" + bulk(1) + bulk(1) + bulk(1)).requests.size(), 1u);
    EXPECT_EQ(run("*4\r\n").error, "Protocol error: invalid multibulk length");
    EXPECT_EQ(run("*1\r\n" + bulk(20)).requests.size(), 1u);
    EXPECT_EQ(run("*1\r\n$21\r\n").error, "Protocol error: invalid bulk length");
    // 4 bytes of header, 27 of the first bulk, 9 of the second: 40.
    EXPECT_EQ(run("*2\r\n" + bulk(20) + bulk(3)).requests.size(), 1u);
    EXPECT_EQ(run("*2\r\n" + bulk(20) + "$4\r\n").error, "Protocol error: invalid bulk length");
    EXPECT_EQ(run("a b c\r\n").requests.size(), 1u);
    EXPECT_EQ(run("a b c d\r\n").error, "Protocol error: too big inline request");
}

TEST(DecoderTest, takes_a_request_of_the_default_limits) {
    std::string bytes = "*16\r\n";
    for (int i = 0; i < 15; ++i) {
        bytes += bulk(64 * 1024);
    }
    bytes += bulk(100);
    EXPECT_EQ(decode(bytes + "PING\r\n").requests.size(), 2u);

    bytes = "*1024\r\n";
    for (int i = 0; i < 1024; ++i) {
        bytes += bulk(1);
    }
    const Transcript transcript = decode(bytes + "PING\r\n");
    ASSERT_EQ(transcript.requests.size(), 2u);
    EXPECT_EQ(transcript.requests[0].size(), 1024u);
    EXPECT_EQ(decode(std::string(64 * 1024 - 1, 'a') + "\n").requests.size(), 1u);
}

TEST(DecoderTest, grants_a_stranger_less) {
    constexpr auto stranger = ClientTrust::unauthenticated;
    EXPECT_EQ(error_of("*11\r\n", stranger), "Protocol error: unauthenticated multibulk length");
    EXPECT_EQ(error_of("*1025\r\n", stranger), "Protocol error: invalid multibulk length");
    EXPECT_EQ(error_of("*1\r\n$16385\r\n", stranger),
              "Protocol error: unauthenticated bulk length");
    EXPECT_EQ(error_of("*1\r\n$65537\r\n", stranger), "Protocol error: invalid bulk length");
    std::string ten = "*10\r\n" + bulk(16 * 1024);
    for (int i = 0; i < 9; ++i) {
        ten += bulk(1);
    }
    EXPECT_EQ(decode(ten, stranger).requests.size(), 1u);
    EXPECT_EQ(decode("a b c d e f g h i j k l\r\n", stranger).requests.size(), 1u);
}

TEST(DecoderTest, trust_holds_from_the_next_header_on_within_one_feed) {
    Decoder decoder(ClientTrust::unauthenticated);
    decoder.feed("AUTH pw\r\n*1\r\n" + bulk(20'000) + "RESET\r\n*1\r\n" + bulk(20'000));
    EXPECT_EQ(decoder.next().arguments[0], "AUTH");
    decoder.set_trust(ClientTrust::authenticated);
    EXPECT_EQ(decoder.next().arguments[0].size(), 20'000u);
    EXPECT_EQ(decoder.next().arguments[0], "RESET");
    decoder.set_trust(ClientTrust::unauthenticated);
    EXPECT_EQ(decoder.next().error, "Protocol error: unauthenticated bulk length");
}

TEST(DecoderTest, needs_more_when_nothing_was_fed) {
    Decoder decoder(ClientTrust::authenticated);
    EXPECT_EQ(decoder.next().status, DecodeStatus::need_more);
    decoder.feed("");
    EXPECT_EQ(decoder.next().status, DecodeStatus::need_more);
}

TEST(DecoderTest, forgets_how_far_it_looked_once_a_request_is_whole) {
    Decoder decoder(ClientTrust::authenticated);
    decoder.feed("*1\r");
    EXPECT_EQ(decoder.next().status, DecodeStatus::need_more);
    decoder.feed("\n$4\r\nPING\r\n*\r\n");
    EXPECT_EQ(decoder.next().arguments[0], "PING");
    EXPECT_EQ(decoder.next().error, "Protocol error: invalid multibulk length");
}

TEST(DecoderTest, goes_on_after_a_move) {
    Decoder first(ClientTrust::authenticated);
    first.feed("*1\r\n$4\r\nPI");
    EXPECT_EQ(first.next().status, DecodeStatus::need_more);
    Decoder second = std::move(first);
    second.feed("NG\r\n");
    EXPECT_EQ(second.next().arguments[0], "PING");
}

}  // namespace
}  // namespace latchd::resp::test
