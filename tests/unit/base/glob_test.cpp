// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/base/glob.hpp>

#include <gtest/gtest.h>

#include <string>

namespace latchd {
namespace {

TEST(Glob, matches_as_redis_does) {
    struct {
        const char* pattern;
        const char* text;
        bool matches;
    } const cases[] = {
        {"*", "", true},
        {"*", "abc", true},
        {"", "", true},
        {"", "a", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"a*c", "abbbc", true},
        {"a*c", "abbb", false},
        {"[abc]x", "bx", true},
        {"[^abc]x", "bx", false},
        {"[a-c]x", "bx", true},
        {"[c-a]x", "bx", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"a[", "a[", false},
        {"order:*:1", "order:settle:1", true},
        {"*a*b*c*", "xxaxxbxxcxx", true},
        {"*a*b*c*", "xxaxxcxxbxx", false},
        {"[\\]]", "]", true},
        {"**a", "bba", true},
        {"a**", "a", true},
        {"?", "", false},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(glob_matches(c.pattern, c.text), c.matches) << c.pattern << " ~ " << c.text;
    }
}

TEST(Glob, takes_no_exponential_time) {
    std::string pattern;
    for (int i = 0; i < 40; ++i) pattern += "*a";
    pattern += "b";
    EXPECT_FALSE(glob_matches(pattern, std::string(2'000, 'a')));
}

}  // namespace
}  // namespace latchd
