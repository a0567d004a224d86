// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// What loops do for each other when one of them does not turn. What they do when all turn is in
// tests/integration/threads_test.py.
#include "crew_member.hpp"
#include "gatherer.hpp"

#include <latchd/server/crew.hpp>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace latchd::server {
namespace {

using std::chrono::milliseconds;

// Counts what it is asked for.
class Hand final : public CrewMember {
public:
    void take_in(Accepted&&) override {}
    void kill_client(ClientId) override { ++killed; }
    void hear(const core::Happened&) override {}
    void set_resource(const core::authority::WriteResource&) override {}
    void report(const command::Gathering&, std::size_t asker, std::uint64_t number) override {
        asked.emplace_back(asker, number);
    }
    void reported(std::uint64_t, std::shared_ptr<const command::Report>) override {}
    void list(const core::ListCommand&, std::vector<core::LockView>) override {}
    void answered(const core::Ticket&, const core::Outcome&) override {}
    void begin_drain() override {}
    void finish() override { ++finished; }
    void stop() override {}

    int killed = 0;
    int finished = 0;
    std::vector<std::pair<std::size_t, std::uint64_t>> asked;
};

class CrewOfThree : public testing::Test {
protected:
    CrewOfThree() {
        for (std::size_t i = 0; i < 3; ++i) crew.join(i, contexts[i], hands[i]);
    }

    Crew crew{3};
    boost::asio::io_context contexts[3];
    Hand hands[3];
    Time now{std::chrono::hours(1)};
    std::vector<Gathered> done;
    Gatherer gatherer{crew, 0, [this](const core::Ticket&, Gathered&& gathered) {
                          done.push_back(std::move(gathered));
                      }};
};

TEST_F(CrewOfThree, is_reported_to_by_all_others) {
    gatherer.begin({ClientId{1}, 0}, now, {});
    for (const std::size_t i : {1, 2}) {
        contexts[i].poll();
        ASSERT_EQ(hands[i].asked.size(), 1u);
        EXPECT_EQ(hands[i].asked[0].first, 0u);
        EXPECT_TRUE(done.empty());
        gatherer.reported(hands[i].asked[0].second, nullptr);
    }
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].reports.size(), 2u);
    EXPECT_EQ(done[0].silent, 0u);
    EXPECT_TRUE(hands[0].asked.empty());
}

TEST_F(CrewOfThree, does_without_a_loop_that_is_silent) {
    gatherer.begin({ClientId{1}, 0}, now, {});
    contexts[1].poll();
    const std::uint64_t number = hands[1].asked[0].second;
    gatherer.reported(number, nullptr);
    gatherer.on_tick(now + milliseconds(499));
    EXPECT_TRUE(done.empty());
    gatherer.on_tick(now + milliseconds(500));
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].reports.size(), 1u);
    EXPECT_EQ(done[0].silent, 1u);
    gatherer.reported(number, nullptr);  // too late, and of no use
    EXPECT_EQ(done.size(), 1u);
}

TEST_F(CrewOfThree, gives_no_more_than_a_bounded_number_to_a_loop_that_hangs) {
    std::size_t taken = 0;
    while (crew.post(1, [](CrewMember& member) { member.kill_client(ClientId{1}); })) {
        ASSERT_LT(++taken, 100'000u);
    }
    EXPECT_EQ(crew.post_to_others(0, [](CrewMember& member) { member.kill_client({}); }), 1u);
    gatherer.begin({ClientId{1}, 0}, now, {});
    contexts[2].poll();
    gatherer.reported(hands[2].asked.at(0).second, nullptr);
    ASSERT_EQ(done.size(), 1u) << "it is known at once that the other one is silent";
    EXPECT_EQ(done[0].silent, 1u);
    crew.finish();  // always gets through
    contexts[1].poll();
    EXPECT_EQ(hands[1].killed, static_cast<int>(taken));
    EXPECT_EQ(hands[1].finished, 1);
    EXPECT_TRUE(crew.post(1, [](CrewMember&) {})) << "it turns again";
}

TEST_F(CrewOfThree, runs_nothing_on_a_loop_that_has_left) {
    EXPECT_TRUE(crew.post(1, [](CrewMember& member) { member.kill_client({}); }));
    crew.leave(1);
    contexts[1].poll();
    EXPECT_EQ(hands[1].killed, 0);
}

}  // namespace
}  // namespace latchd::server
