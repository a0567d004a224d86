// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "slots.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace latchd::server {
namespace {

TEST(Slots, are_found_by_number_while_they_are_open_and_never_else) {
    Slots slots;
    EXPECT_EQ(slots.find(0), nullptr);
    for (std::uint64_t n = 0; n < 100; ++n) {
        EXPECT_EQ(slots.next_number(), n);
        slots.push().reply = std::to_string(n);
    }
    for (std::uint64_t n = 0; n < 40; ++n) slots.pop();
    EXPECT_EQ(slots.find(39), nullptr);
    EXPECT_EQ(slots.find(100), nullptr);
    for (std::uint64_t n = 40; n < 100; ++n) EXPECT_EQ(slots.find(n)->reply, std::to_string(n));
    EXPECT_TRUE(slots.is_front(40));
}

TEST(Slots, keep_their_order_over_growing_and_wrapping) {
    std::mt19937 random(20'260'729);
    Slots slots;
    std::uint64_t popped = 0;
    for (int i = 0; i < 100'000; ++i) {
        if (slots.empty() || random() % 100 < 52) {
            const std::uint64_t number = slots.next_number();
            Slot& slot = slots.push();
            EXPECT_TRUE(slot.reply.empty());
            EXPECT_FALSE(slot.ready);
            slot.reply = std::to_string(number);
            slot.ready = true;
        } else {
            ASSERT_EQ(slots.front().reply, std::to_string(popped));
            slots.pop();
            ++popped;
        }
    }
}

TEST(Slots, go_on_counting_after_their_memory_was_given_back) {
    Slots slots;
    slots.push();
    slots.pop();
    slots.release_idle_memory();
    EXPECT_EQ(slots.next_number(), 1u);
    slots.push();
    EXPECT_NE(slots.find(1), nullptr);
    slots.release_idle_memory();  // not idle: nothing goes
    EXPECT_NE(slots.find(1), nullptr);
}

}  // namespace
}  // namespace latchd::server
