// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "transcript.hpp"

#include <latchd/resp/command_writer.hpp>
#include <latchd/resp/decoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace latchd::resp::test {
namespace {

// Small, so that short inputs get to each of them.
constexpr RequestLimits small_limits{.arguments_max = 6,
                                     .bulk_bytes_max = 30,
                                     .request_bytes_max = 90,
                                     .line_bytes_max = 40,
                                     .unauthenticated_arguments_max = 3,
                                     .unauthenticated_bulk_bytes_max = 12};

// What a client could send, right and wrong.
const std::vector<std::string>& fragments() {
    static const std::vector<std::string> list{
        "*1\r\n$4\r\nPING\r\n",
        "*3\r\n$4\r\nLOCK\r\n$1\r\na\r\n$1\r\nb\r\n",
        "*2\r\n$4\r\nECHO\r\n$6\r\n\r\n*1\r\n\r\n",
        "*2\r\n$4\r\nECHO\r\n$12\r\n012345678901\r\n",
        "*1\r\n$13\r\n0123456789012\r\n",
        "*1\r\n$0\r\n\r\n",
        "*0\r\n",
        "*-1\r\n",
        "\r\n",
        "\n",
        "PING\r\n",
        "SET a \"x \\x41\\n\" 'it\\'s' b\r\n",
        "PING \"\r\n",
        "PING \"a\"b\r\n",
        "*4\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n",
        "*7\r\n",
        "*2147483647\r\n",
        "$5\r\nhello\r\n",
        "*1\r\n$31\r\n",
        "*1\r\n$-5\r\n",
        "*1\r\n:5\r\n",
        "*1\r\n$99999999999999999999\r\n",
        "*1\r\n$4\r\nPINGPING\r\n",
        "*4\r\n$30\r\n012345678901234567890123456789\r\n$30\r\n012345678901234567890123456789\r\n",
        std::string(41, 'x'),
        "*" + std::string(45, '1'),
        "*1\r\n$" + std::string(45, '1'),
        "*00000000000000000001\r\n",
        std::string("a\0b\r\n", 5),
    };
    return list;
}

std::string random_input(std::mt19937& random) {
    std::string bytes;
    const auto count = std::uniform_int_distribution<int>(1, 8)(random);
    for (int i = 0; i < count; ++i) {
        // The first few are right, so that most inputs get somewhere.
        const std::size_t range = random() % 4 == 0 ? fragments().size() : 12;
        bytes += fragments()[random() % range];
    }
    if (random() % 4 == 0) {
        bytes[random() % bytes.size()] = "*$\r\n\"'\\x0159-+: a"[random() % 17];
    }
    return bytes;
}

TEST(DecoderSplitTest, a_cut_at_any_byte_changes_nothing) {
    for (const ClientTrust trust : {ClientTrust::unauthenticated, ClientTrust::authenticated}) {
        for (const std::string& fragment : fragments()) {
            const std::string bytes = "PING\r\n" + fragment + "*1\r\n$4\r\nTAIL\r\n";
            const Transcript expected = reference_transcript(bytes, trust, small_limits);
            for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
                std::size_t next = cut;
                const Transcript got =
                    decode(Decoder(trust, small_limits), bytes, [&](std::size_t rest) {
                        return std::min(std::exchange(next, rest), rest);
                    });
                ASSERT_EQ(got, expected) << bytes << "\ncut at " << cut;
            }
        }
    }
}

TEST(DecoderSplitTest, single_bytes_give_the_same_as_the_whole) {
    for (const std::string& fragment : fragments()) {
        const std::string bytes = fragment + "PING\r\n";
        ASSERT_EQ(decode(Decoder(ClientTrust::authenticated, small_limits),
                         bytes,
                         [](std::size_t) { return std::size_t{1}; }),
                  decode_whole(Decoder(ClientTrust::authenticated, small_limits), bytes))
            << bytes;
    }
}

TEST(DecoderSplitTest, random_input_in_random_pieces_reads_as_the_reference_does) {
    const unsigned seed = std::random_device{}();
    RecordProperty("seed", std::to_string(seed));
    std::mt19937 random(seed);
    int with_error = 0;
    int with_requests = 0;
    for (int round = 0; round < 20'000; ++round) {
        const std::string bytes = random_input(random);
        const auto trust =
            random() % 2 == 0 ? ClientTrust::unauthenticated : ClientTrust::authenticated;
        const Transcript expected = reference_transcript(bytes, trust, small_limits);
        with_error += expected.error.empty() ? 0 : 1;
        with_requests += expected.requests.empty() ? 0 : 1;
        ASSERT_EQ(decode_whole(Decoder(trust, small_limits), bytes), expected)
            << "seed " << seed << " input " << bytes;
        const auto cut = [&](std::size_t rest) {
            return 1 + random() % std::min<std::size_t>(rest, 12);
        };
        ASSERT_EQ(decode(Decoder(trust, small_limits), bytes, cut), expected)
            << "seed " << seed << " input " << bytes;
    }
    // The input is worth something only if it gets into both.
    EXPECT_GT(with_error, 2'000);
    EXPECT_GT(with_requests, 2'000);
}

TEST(DecoderSplitTest, large_requests_in_random_pieces_keep_their_arguments) {
    const unsigned seed = std::random_device{}();
    RecordProperty("seed", std::to_string(seed));
    std::mt19937 random(seed);
    std::string bytes;
    Transcript expected;
    for (int i = 0; i < 200; ++i) {
        std::vector<std::string> request{"ECHO"};
        const std::size_t count = random() % 5;
        for (std::size_t j = 0; j < count; ++j) {
            std::string argument(random() % 3 == 0 ? random() % 65'536 : random() % 50, '\0');
            std::generate(argument.begin(), argument.end(), [&] { return char(random()); });
            request.push_back(std::move(argument));
        }
        append_command(bytes, std::vector<std::string_view>(request.begin(), request.end()));
        expected.requests.push_back(std::move(request));
    }
    const auto cut = [&](std::size_t rest) {
        return 1 + random() % std::min<std::size_t>(rest, 40'000);
    };
    const Transcript got = decode(Decoder(ClientTrust::authenticated), bytes, cut);
    EXPECT_TRUE(got == expected) << "seed " << seed;  // too much to print
    EXPECT_TRUE(decode_whole(Decoder(ClientTrust::authenticated), bytes) == expected);
}

// The views of one request must not be touched by work on those behind it in the buffer: hiredis'
// reader moves its buffer at every 1,024 bytes read.
TEST(DecoderSplitTest, views_hold_until_the_next_call) {
    std::string bytes;
    for (int i = 0; i < 1'000; ++i) {
        append_command(bytes, {"LOCK", "order:settle", std::to_string(i), "PX", "30000"});
    }
    Decoder decoder(ClientTrust::authenticated);
    decoder.feed(bytes);
    for (int i = 0; i < 1'000; ++i) {
        const Decoded decoded = decoder.next();
        ASSERT_EQ(decoded.arguments.size(), 5u);
        EXPECT_EQ(decoded.arguments[0], "LOCK");
        EXPECT_EQ(decoded.arguments[1], "order:settle");
        EXPECT_EQ(decoded.arguments[2], std::to_string(i));
        EXPECT_EQ(decoded.arguments[4], "30000");
    }
}

}  // namespace
}  // namespace latchd::resp::test
