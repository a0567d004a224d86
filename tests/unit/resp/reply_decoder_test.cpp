// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/resp/reply_decoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace latchd::resp::test {
namespace {

using namespace std::string_literals;
using Type = Value::Type;

Value text(Type type, std::string string) {
    Value value;
    value.type = type;
    value.string = std::move(string);
    return value;
}

Value integer(std::int64_t number) {
    Value value;
    value.type = Type::integer;
    value.integer = number;
    return value;
}

Value array(std::vector<Value> elements) {
    Value value;
    value.type = Type::array;
    value.elements = std::move(elements);
    return value;
}

struct ReplyRow {
    std::string bytes;
    Value value;
};

const std::vector<ReplyRow>& table() {
    static const std::vector<ReplyRow> rows{
        {"+OK\r\n", text(Type::simple_string, "OK")},
        {"+\r\n", text(Type::simple_string, "")},
        {"-NOSCRIPT No matching script.\r\n", text(Type::error, "NOSCRIPT No matching script.")},
        {":0\r\n", integer(0)},
        {":-9007199254740993\r\n", integer(-9007199254740993)},
        {"$5\r\na\r\n\0b\r\n"s, text(Type::bulk, "a\r\n\0b"s)},
        {"$0\r\n\r\n", text(Type::bulk, "")},
        {"$-1\r\n", Value{}},
        {"*-1\r\n", Value{}},
        {"*0\r\n", array({})},
        {"*3\r\n:1\r\n$-1\r\n+x\r\n", array({integer(1), Value{}, text(Type::simple_string, "x")})},
        {"*3\r\n*2\r\n:1\r\n*1\r\n:2\r\n*0\r\n$1\r\ny\r\n",
         array({array({integer(1), array({integer(2)})}), array({}), text(Type::bulk, "y")})},
        {"*2\r\n-ERR in a list\r\n*-1\r\n", array({text(Type::error, "ERR in a list"), Value{}})},
        {"$5000\r\n" + std::string(5000, 'z') + "\r\n", text(Type::bulk, std::string(5000, 'z'))},
    };
    return rows;
}

std::vector<Value> drain(ReplyDecoder& decoder) {
    std::vector<Value> values;
    for (;;) {
        DecodedReply decoded = decoder.next();
        EXPECT_NE(decoded.status, ReplyStatus::protocol_error) << decoded.error;
        if (decoded.status != ReplyStatus::reply) {
            return values;
        }
        values.push_back(std::move(decoded.value));
    }
}

TEST(ReplyDecoderTest, yields_each_type) {
    for (const ReplyRow& row : table()) {
        ReplyDecoder decoder;
        decoder.feed(row.bytes);
        EXPECT_EQ(drain(decoder), std::vector<Value>{row.value}) << row.bytes.substr(0, 40);
        EXPECT_TRUE(decoder.is_empty());
    }
}

TEST(ReplyDecoderTest, random_pieces_give_the_same_replies) {
    const unsigned seed = std::random_device{}();
    RecordProperty("seed", std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 100; ++round) {
        std::string bytes;
        std::vector<Value> expected;
        for (int i = 0; i < 30; ++i) {
            const ReplyRow& row = table()[random() % table().size()];
            bytes += row.bytes;
            expected.push_back(row.value);
        }
        const std::size_t piece_max = round % 2 == 0 ? 1 : 1 + random() % 3000;
        ReplyDecoder decoder;
        std::vector<Value> got;
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t size = std::min(bytes.size() - at, 1 + random() % piece_max);
            const std::vector<char> block(bytes.begin() + std::ptrdiff_t(at),
                                          bytes.begin() + std::ptrdiff_t(at + size));
            decoder.feed({block.data(), block.size()});
            std::ranges::move(drain(decoder), std::back_inserter(got));
            at += size;
        }
        ASSERT_EQ(got, expected) << "seed " << seed;
    }
}

TEST(ReplyDecoderTest, is_not_empty_while_a_part_of_a_reply_is_held) {
    const std::string bytes = "*2\r\n$3\r\nabc\r\n:12\r\n";
    ReplyDecoder decoder;
    EXPECT_TRUE(decoder.is_empty());
    for (const char c : bytes.substr(0, bytes.size() - 1)) {
        decoder.feed({&c, 1});
        EXPECT_EQ(decoder.next().status, ReplyStatus::need_more);
        EXPECT_FALSE(decoder.is_empty());
    }
    decoder.feed("\n");
    EXPECT_EQ(drain(decoder).size(), 1u);
    EXPECT_TRUE(decoder.is_empty());
}

std::string reply_error_of(const std::string& bytes, const ReplyLimits& limits = {}) {
    ReplyDecoder decoder(limits);
    decoder.feed(bytes);
    for (;;) {
        const DecodedReply decoded = decoder.next();
        if (decoded.status == ReplyStatus::protocol_error) {
            decoder.feed("+OK\r\n");
            EXPECT_EQ(decoder.next().status, ReplyStatus::protocol_error);
            return std::string(decoded.error);
        }
        if (decoded.status == ReplyStatus::need_more) {
            return "";
        }
    }
}

TEST(ReplyDecoderTest, refuses_what_is_no_resp2_reply) {
    for (const char* bytes : {"%1\r\n",
                              "_\r\n",
                              ">2\r\n",
                              "HTTP/1.1 400\r\n",
                              ":x\r\n",
                              ":\r\n",
                              "$x\r\n",
                              "$-2\r\n",
                              "*-2\r\n",
                              "*x\r\n",
                              "*2147483648\r\n",
                              "\r\n",
                              "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"}) {
        EXPECT_NE(reply_error_of(bytes), "") << bytes;
    }
}

TEST(ReplyDecoderTest, refuses_sizes_past_the_limits_as_soon_as_they_are_announced) {
    EXPECT_EQ(reply_error_of("$16777217\r\n"), "reply too large");
    EXPECT_EQ(reply_error_of("*2\r\n:1\r\n$9223372036854775807\r\n"), "reply too large");
    EXPECT_EQ(reply_error_of("$16777216\r\n"), "");
    EXPECT_EQ(reply_error_of("*1000001\r\n"), "too many elements in a reply");
    EXPECT_EQ(reply_error_of("*2147483647\r\n"), "too many elements in a reply");
    EXPECT_EQ(reply_error_of("*1000000\r\n"), "");
    EXPECT_EQ(reply_error_of("*2\r\n*999998\r\n"), "");
    EXPECT_EQ(reply_error_of("*2\r\n*999999\r\n"), "too many elements in a reply");
    EXPECT_EQ(reply_error_of("+" + std::string(70'000, 'x')), "line too long");
    const ReplyLimits limits{.bulk_bytes_max = 10, .reply_bytes_max = 15};
    EXPECT_EQ(reply_error_of("$11\r\nhello world\r\n", limits), "reply too large");
    EXPECT_EQ(reply_error_of("*2\r\n$8\r\n12345678\r\n$8\r\n", limits), "");
    EXPECT_EQ(reply_error_of("*2\r\n$8\r\n12345678\r\n$8\r\n12345678\r\n", limits),
              "reply too large");
    EXPECT_EQ(reply_error_of("$8\r\n12345678\r\n$8\r\n12345678\r\n", limits), "");
}

TEST(ReplyDecoderTest, replies_before_an_error_come_first) {
    ReplyDecoder decoder;
    decoder.feed("+OK\r\n:1\r\n?\r\n");
    EXPECT_EQ(decoder.next().value, text(Type::simple_string, "OK"));
    EXPECT_EQ(decoder.next().value, integer(1));
    EXPECT_EQ(decoder.next().status, ReplyStatus::protocol_error);
}

// Time by the square of the input would be many minutes here.
TEST(ReplyDecoderTest, many_replies_in_one_feed_are_read_in_linear_time) {
    constexpr int count = 100'000;
    std::string bytes;
    for (int i = 0; i < count; ++i) {
        bytes += "*2\r\n:" + std::to_string(i) + "\r\n$20\r\n01234567890123456789\r\n";
    }
    ReplyDecoder decoder;
    decoder.feed(bytes);
    for (int i = 0; i < count; ++i) {
        const DecodedReply decoded = decoder.next();
        ASSERT_EQ(decoded.status, ReplyStatus::reply);
        ASSERT_EQ(decoded.value.elements[0].integer, i);
    }
    EXPECT_TRUE(decoder.is_empty());
}

}  // namespace
}  // namespace latchd::resp::test
