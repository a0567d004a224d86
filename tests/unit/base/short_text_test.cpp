// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/base/ids.hpp>
#include <latchd/base/short_text.hpp>

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>
#include <vector>

namespace latchd {
namespace {

// Lengths around the border to the heap; bytes of all values, zeros at the ends too.
std::vector<std::string> samples() {
    std::vector<std::string> all;
    for (const std::size_t size :
         {0u, 1u, 15u, 16u, 22u, 23u, 24u, 25u, 30u, 31u, 32u, 33u, 48u, 63u, 64u, 128u, 1000u}) {
        std::string text;
        for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * 37 + size);
        all.push_back(text);
        if (size == 0) continue;
        all.emplace_back(size, '\0');
        all.emplace_back(size, '\xff');
        text.back() = '\0';
        all.push_back(text);
    }
    return all;
}

// Both sizes.
template <class Text>
class ShortTextTest : public testing::Test {};
using Texts = testing::Types<ShortText, BriefText>;
TYPED_TEST_SUITE(ShortTextTest, Texts);

TYPED_TEST(ShortTextTest, keeps_bytes_of_any_length_and_value) {
    for (const std::string& text : samples()) {
        const TypeParam it(text);
        EXPECT_EQ(it.view(), text);
        EXPECT_EQ(it.empty(), text.empty()) << text.size();
    }
    EXPECT_TRUE(TypeParam().empty());
    EXPECT_EQ(TypeParam().view(), "");
}

TYPED_TEST(ShortTextTest, compares_and_hashes_as_its_bytes_do) {
    const auto all = samples();
    for (const std::string& a : all) {
        for (const std::string& b : all) {
            const TypeParam x(a);
            const TypeParam y(b);
            EXPECT_EQ(x == y, a == b);
            EXPECT_EQ(x < y, std::string_view(a) < std::string_view(b));
            EXPECT_EQ(x.hash() == y.hash(), a == b) << a.size() << ' ' << b.size();
        }
    }
}

TYPED_TEST(ShortTextTest, copies_and_moves_between_all_lengths) {
    for (const std::string& a : samples()) {
        for (const std::string& b : samples()) {
            TypeParam from(a);
            TypeParam to(b);
            to = from;
            EXPECT_EQ(to.view(), a);
            EXPECT_EQ(from.view(), a);
            TypeParam third(std::move(to));
            EXPECT_EQ(third.view(), a);
            from = TypeParam(b);
            EXPECT_EQ(from.view(), b);
            from = std::move(third);
            EXPECT_EQ(from.view(), a);
        }
        TypeParam self(a);
        const TypeParam& same = self;
        self = same;
        EXPECT_EQ(self.view(), a);
    }
}

TYPED_TEST(ShortTextTest, hashes_of_counted_names_fill_any_table) {
    // As business keys come: they differ in a few digits.
    constexpr std::size_t count = 1 << 16;
    for (const std::size_t shift : {0u, 16u, 32u, 48u}) {
        std::unordered_set<std::size_t> places;
        for (std::size_t i = 0; i < count; ++i) {
            places.insert(TypeParam("2026-11-29-" + std::to_string(i)).hash() >> shift &
                          (count - 1));
        }
        // By chance it would be 1 - 1/e of them.
        EXPECT_GT(places.size(), count * 62 / 100) << shift;
        EXPECT_LT(places.size(), count * 65 / 100) << shift;
    }
}

TEST(Name, is_what_it_was_made_from) {
    const Token token("AAAAAAAAAAAAAAAAAAAAAA");
    EXPECT_EQ(token.str(), "AAAAAAAAAAAAAAAAAAAAAA");
    EXPECT_EQ(token, Token(std::string("AAAAAAAAAAAAAAAAAAAAAA")));
    EXPECT_LT(token, Token("B"));
    const LockKey key{ResourceName("a"), LockId("bc")};
    const LockKey other{ResourceName("ab"), LockId("c")};
    EXPECT_NE(std::hash<LockKey>{}(key), std::hash<LockKey>{}(other));
}

}  // namespace
}  // namespace latchd
