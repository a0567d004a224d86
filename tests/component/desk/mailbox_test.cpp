// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/runtime/mailbox.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace latchd::runtime {
namespace {

struct Letter {
    int from = 0;
    int number = 0;
};

TEST(Mailbox, gives_all_letters_to_its_loop_in_the_order_of_each_sender) {
    constexpr int senders = 3;
    constexpr int letters = 20'000;
    boost::asio::io_context context(1);
    std::map<int, int> last;
    int received = 0;
    Mailbox<Letter> box(context, senders * letters, [&](std::vector<Letter>& mail) {
        for (const Letter& one : mail) {
            EXPECT_EQ(one.number, ++last[one.from]);
            ++received;
        }
        if (received == senders * letters) context.stop();
    });
    auto work = boost::asio::make_work_guard(context);
    std::vector<std::thread> threads;
    for (int from = 0; from < senders; ++from) {
        threads.emplace_back([&box, from] {
            std::vector<Letter> batch;
            for (int number = 1; number <= letters; ++number) {
                batch.push_back({from, number});
                if (number % 7 == 0 || number == letters) {
                    EXPECT_TRUE(box.put(batch));
                    EXPECT_TRUE(batch.empty());
                }
            }
        });
    }
    context.run();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(received, senders * letters);
}

TEST(Mailbox, gives_each_letter_once_or_takes_it_back) {
    constexpr int letters = 50'000;
    boost::asio::io_context context(1);
    std::set<int> received;
    Mailbox<Letter> box(context, letters, [&](std::vector<Letter>& mail) {
        for (const Letter& one : mail) EXPECT_TRUE(received.insert(one.number).second);
    });
    auto work = boost::asio::make_work_guard(context);
    std::thread loop([&context] { context.run(); });
    std::set<int> back;
    for (int number = 0; number < letters; ++number) {
        std::vector<Letter> mail = {{0, number}};
        EXPECT_TRUE(box.put(mail));
        if (number % 5 != 0) continue;
        for (const Letter& one : box.take_back()) EXPECT_TRUE(back.insert(one.number).second);
    }
    work.reset();
    loop.join();
    for (const int number : back) EXPECT_EQ(received.count(number), 0u) << number;
    EXPECT_EQ(received.size() + back.size(), static_cast<std::size_t>(letters));
}

TEST(Mailbox, takes_a_batch_whole_or_not_at_all) {
    boost::asio::io_context context(1);
    std::vector<int> received;
    Mailbox<int> box(context, 4, [&](std::vector<int>& mail) { received = mail; });
    std::vector<int> mail = {1, 2, 3};
    EXPECT_TRUE(box.put(mail));
    mail = {4, 5};
    EXPECT_FALSE(box.put(mail));
    EXPECT_EQ(mail, (std::vector{4, 5}));
    mail = {4};
    EXPECT_TRUE(box.put(mail));
    context.run();
    EXPECT_EQ(received, (std::vector{1, 2, 3, 4}));
}

TEST(Mailbox, that_is_closed_gives_nothing) {
    boost::asio::io_context context(1);
    int received = 0;
    Mailbox<int> box(context, 4, [&](std::vector<int>&) { ++received; });
    std::vector<int> mail = {1};
    EXPECT_TRUE(box.put(mail));
    box.close();
    context.run();
    EXPECT_EQ(received, 0);
}

}  // namespace
}  // namespace latchd::runtime
