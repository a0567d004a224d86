// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace latchd::journal {
namespace {

std::uint32_t* find(Index& index, std::uint32_t tag, std::uint32_t place) {
    return index.find(tag, [place](std::uint32_t other) { return other == place; });
}

// Places are never used twice, so they name the entries.
using Model = std::map<std::uint32_t, std::uint32_t>;  // place -> tag

void expect_same(Index& index, const Model& model) {
    ASSERT_EQ(index.size(), model.size());
    for (const auto& [place, tag] : model) ASSERT_NE(find(index, tag, place), nullptr) << place;
}

// Tags that crowd at the ends of the slots, whatever their number is, and ones that don't.
std::uint32_t any_tag(std::mt19937& random) {
    const auto tag = static_cast<std::uint32_t>(random());
    switch (random() % 4) {
        case 0:
            return tag | 0x3ff0;
        case 1:
            return tag & 0xffffc00f;
        default:
            return tag;
    }
}

TEST(Index, finds_all_entries_and_no_others_while_it_grows_and_shrinks) {
    for (unsigned seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        Index index(5'000);
        Model model;
        std::vector<std::uint32_t> places;
        std::uint32_t last = 0;
        for (const std::size_t most : {600u, 300u, 3'000u, 2'500u, 5'000u, 0u}) {
            while (places.size() != most) {
                // Now and then the other way, so that gaps come and go.
                const bool grows = (places.size() < most) == (random() % 8 != 0);
                if (grows && places.size() < 5'000) {
                    const std::uint32_t tag = any_tag(random);
                    index.insert(tag, ++last);
                    model.emplace(last, tag);
                    places.push_back(last);
                } else if (!places.empty()) {
                    std::swap(places[random() % places.size()], places.back());
                    const auto it = model.find(places.back());
                    std::uint32_t* const found = find(index, it->second, it->first);
                    ASSERT_NE(found, nullptr);
                    index.erase(found);
                    EXPECT_EQ(find(index, it->second, it->first), nullptr);
                    model.erase(it);
                    places.pop_back();
                }
            }
            expect_same(index, model);
        }
    }
}

}  // namespace
}  // namespace latchd::journal
