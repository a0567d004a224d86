// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "transcript.hpp"

#include <latchd/resp/command_writer.hpp>
#include <latchd/resp/decoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace latchd::resp::test {
namespace {

constexpr int million = 1'000'000;

std::string lock_commands(int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) {
        append_command(bytes, {"LOCK", "order:settle", std::to_string(i), "PX", "30000"});
    }
    return bytes;
}

int count_requests(Decoder& decoder) {
    int count = 0;
    while (decoder.next().status == DecodeStatus::request) {
        ++count;
    }
    return count;
}

// Time by the square of the input would be hours here.
TEST(DecoderMemoryTest, a_million_commands_in_one_feed_are_read_and_their_memory_given_back) {
    Decoder decoder(ClientTrust::authenticated);
    decoder.feed(lock_commands(million));
    EXPECT_EQ(count_requests(decoder), million);
    EXPECT_EQ(decoder.buffered_bytes(), 0u);
    EXPECT_LT(decoder.memory_bytes(), 16u * 1024);
}

TEST(DecoderMemoryTest, a_million_commands_in_small_feeds_never_need_much_memory) {
    const std::string bytes = lock_commands(million);
    Decoder decoder(ClientTrust::authenticated);
    int count = 0;
    std::size_t memory_max = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 16'000) {
        decoder.feed(std::string_view(bytes).substr(at, 16'000));
        count += count_requests(decoder);
        memory_max = std::max(memory_max, decoder.memory_bytes());
    }
    EXPECT_EQ(count, million);
    EXPECT_LT(memory_max, 64u * 1024);
}

// The caller stops while a LOCK waits; the bytes behind it are used up one by one later.
TEST(DecoderMemoryTest, reading_one_request_per_feed_is_linear_too) {
    constexpr int count = 100'000;
    const std::string first = lock_commands(count);
    Decoder decoder(ClientTrust::authenticated);
    decoder.feed(first);
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(decoder.next().status, DecodeStatus::request);
        decoder.feed("PING\r\n");
    }
    EXPECT_EQ(count_requests(decoder), count);
}

TEST(DecoderMemoryTest, a_million_empty_lines_are_passed_over_in_one_call) {
    std::string bytes;
    for (int i = 0; i < million; ++i) {
        bytes += i % 2 == 0 ? "\r\n" : "*0\r\n";
    }
    Decoder decoder(ClientTrust::authenticated);
    decoder.feed(bytes);
    EXPECT_EQ(decoder.next().status, DecodeStatus::need_more);
    EXPECT_EQ(decoder.buffered_bytes(), 0u);
}

TEST(DecoderMemoryTest, a_long_line_byte_by_byte_is_linear) {
    RequestLimits limits;
    limits.line_bytes_max = 200'000;
    for (const char* begin : {"a", "*", "*1\r\n$"}) {
        Decoder decoder(ClientTrust::authenticated, limits);
        decoder.feed(begin);
        DecodeStatus status = DecodeStatus::need_more;
        for (int i = 0; i < 200'002 && status == DecodeStatus::need_more; ++i) {
            decoder.feed("1");
            status = decoder.next().status;
        }
        EXPECT_EQ(status, DecodeStatus::protocol_error) << begin;
    }
}

TEST(DecoderMemoryTest, announced_sizes_reserve_nothing) {
    for (const char* header : {"*1024\r\n", "*1\r\n$65536\r\n", "*1024\r\n$65536\r\n"}) {
        Decoder decoder(ClientTrust::authenticated);
        decoder.feed(header);
        EXPECT_EQ(decoder.next().status, DecodeStatus::need_more);
        EXPECT_LT(decoder.memory_bytes(), 512u) << header;
    }
}

TEST(DecoderMemoryTest, an_idle_client_keeps_next_to_nothing) {
    Decoder decoder(ClientTrust::authenticated);
    std::string bytes = "*1024\r\n";
    for (int i = 0; i < 1024; ++i) {
        bytes += "$20\r\n01234567890123456789\r\n";
    }
    decoder.feed(bytes);
    EXPECT_EQ(count_requests(decoder), 1);
    EXPECT_GT(decoder.memory_bytes(), 16u * 1024);
    decoder.release_idle_memory();
    EXPECT_LT(decoder.memory_bytes(), 256u);
    decoder.feed("PING\r\n");
    EXPECT_EQ(count_requests(decoder), 1);
}

TEST(DecoderMemoryTest, releasing_memory_keeps_a_request_that_has_not_all_arrived) {
    for (const std::string& bytes :
         {std::string("*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n"), std::string("ECHO hello\r\n")}) {
        Decoder decoder(ClientTrust::authenticated);
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            ASSERT_EQ(decoder.next().status, DecodeStatus::need_more);
            decoder.release_idle_memory();
            EXPECT_EQ(decoder.buffered_bytes(), i);
            decoder.feed(bytes.substr(i, 1));
        }
        const Decoded decoded = decoder.next();
        ASSERT_EQ(decoded.status, DecodeStatus::request);
        EXPECT_EQ(decoded.arguments[1], "hello");
    }
}

}  // namespace
}  // namespace latchd::resp::test
