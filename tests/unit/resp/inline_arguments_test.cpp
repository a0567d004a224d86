// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "inline_arguments.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace latchd::resp::test {
namespace {

using namespace std::string_literals;
using Words = std::vector<std::string>;

// Empty optional: refused. The line lies in a heap block of just its size.
std::optional<Words> split(const std::string& text) {
    std::vector<char> line(text.begin(), text.end());
    std::vector<std::string_view> arguments;
    if (split_inline(line, 100, arguments) != InlineSplit::done) {
        return std::nullopt;
    }
    return Words(arguments.begin(), arguments.end());
}

struct Row {
    std::string line;
    Words words;
};

TEST(InlineArgumentsTest, splits_as_redis_does) {
    const std::vector<Row> table{
        {"", {}},
        {" \t\r\v\f ", {}},
        {"PING", {"PING"}},
        {"  SET a  b\t c \r", {"SET", "a", "b", "c"}},
        {R"(SET a "x y" NX)", {"SET", "a", "x y", "NX"}},
        {R"(a "" '' b)", {"a", "", "", "b"}},
        {R"("\n\r\t\b\a\\\"\q")", {"\n\r\t\b\a\\\"q"}},
        {R"("\x41\x0a\xFf\x00")", {"A\n\xff\0"s}},
        {R"("\xzz\x4" "\x")", {"xzzx4", "x"}},
        {R"('a\'b' '\n' '"' "'")", {"a'b", "\\n", "\"", "'"}},
        {R"(a"b c" d)", {"ab c", "d"}},
        {"a'b c'\td", {"ab c", "d"}},
        {"\va\vb\f c", {"a\vb\f", "c"}},
        {"a\0b c"s, {"a\0b"s, "c"}},
        {R"(a\n b\)", {"a\\n", "b\\"}},
        {"\"a\"\r", {"a"}},
    };
    for (const Row& row : table) {
        const auto words = split(row.line);
        ASSERT_TRUE(words.has_value()) << row.line;
        EXPECT_EQ(*words, row.words) << row.line;
    }
}

TEST(InlineArgumentsTest, refuses_unbalanced_quotes) {
    for (const char* line : {"\"",
                             "'",
                             "a \"b",
                             "a 'b",
                             R"("a\")",
                             R"('a\')",
                             R"("a"b)",
                             "'a'b",
                             "'a'\"b\"",
                             R"("\)",
                             R"('\)",
                             R"("\x4)",
                             "a\"b"}) {
        EXPECT_FALSE(split(line).has_value()) << line;
    }
}

TEST(InlineArgumentsTest, stops_at_the_limit_of_arguments) {
    std::string line = "a b c";
    std::vector<std::string_view> arguments;
    EXPECT_EQ(split_inline(line, 3, arguments), InlineSplit::done);
    line = "a b c";  // the first call was free to rewrite it
    EXPECT_EQ(split_inline(line, 2, arguments), InlineSplit::too_many_arguments);
}

}  // namespace
}  // namespace latchd::resp::test
