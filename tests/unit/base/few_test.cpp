// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/base/few.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace latchd {
namespace {

using Strings = Few<std::string>;
using Model = std::vector<std::string>;

Model all(const Strings& few) { return {few.begin(), few.end()}; }

// Some on the heap, so that a sanitizer sees what is freed twice or never.
std::string any_text(std::mt19937& random) { return std::string(random() % 40, 'x') + "!"; }

TEST(Few, agrees_with_a_vector_under_any_order_of_changes) {
    const unsigned seed = 20261130;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Strings few;
    Model model;
    for (int round = 0; round < 20'000; ++round) {
        switch (random() % 9) {
            case 0:
            case 1:
                few.push_back(any_text(random));
                model.push_back(few.back());
                break;
            case 2:
                if (model.empty()) break;
                few.push_back(few.front());  // an element of its own
                model.push_back(Model(model).front());
                break;
            case 3: {
                if (model.empty()) break;
                const std::size_t at = random() % model.size();
                few.erase(few.begin() + at);
                model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            }
            case 4: {
                const std::size_t size = random() % 30;
                const auto is_it = [size](const std::string& text) { return text.size() == size; };
                few.erase_if(is_it);
                std::erase_if(model, is_it);
                break;
            }
            case 5: {
                Strings other = few;
                EXPECT_EQ(other, few);
                few = std::move(other);
                break;
            }
            case 6: {
                const std::size_t count = random() % 4;
                few.resize(count, "new");
                model.resize(count, "new");
                break;
            }
            case 7: {
                Strings other{"a"};
                if (random() % 2 == 0) other.push_back("b");
                std::swap(other, few);
                ASSERT_EQ(all(other), model);
                few = other;
                break;
            }
            default:
                if (random() % 4 != 0) break;
                few.clear();
                model.clear();
        }
        ASSERT_EQ(all(few), model);
        ASSERT_EQ(few.empty(), model.empty());
    }
}

TEST(Few, is_empty_when_it_was_moved_from) {
    for (const std::size_t count : {0u, 1u, 2u, 9u}) {
        Strings from;
        from.resize(count, "a text that is too long for the inside of a string");
        const Strings to(std::move(from));
        EXPECT_EQ(to.size(), count);
        EXPECT_TRUE(from.empty());
        from.push_back("again");
        EXPECT_EQ(all(from), Model{"again"});
    }
}

}  // namespace
}  // namespace latchd
