// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/runtime/random.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <string>

namespace latchd::runtime {
namespace {

TEST(RandomNames, are_22_characters_of_base64url_and_never_repeat) {
    RandomNames names;
    std::set<std::string> seen;
    std::set<char> letters;
    std::array<std::set<char>, 22> letters_at;
    for (int i = 0; i < 10'000; ++i) {
        const std::string name = names.draw();
        ASSERT_EQ(name.size(), 22u);
        letters.insert(name.begin(), name.end());
        for (std::size_t at = 0; at < letters_at.size(); ++at) letters_at[at].insert(name[at]);
        ASSERT_TRUE(seen.insert(name).second) << name;
    }
    EXPECT_EQ(letters.size(), 64u);
    for (const std::set<char>& each : letters_at) EXPECT_EQ(each.size(), 64u);
    const std::string alphabet(letters.begin(), letters.end());
    EXPECT_EQ(alphabet, "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz");
}

TEST(RandomNames, numbers_are_exact_in_every_client) {
    RandomNames names;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t number = names.draw_number();
        ASSERT_GT(number, 0u);
        ASSERT_LT(number, 1ull << 53);
    }
}

}  // namespace
}  // namespace latchd::runtime
