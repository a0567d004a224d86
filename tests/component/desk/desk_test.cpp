// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The embedded table through real loops on real threads.
#include "../../support/stalls.hpp"
#include "loops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace latchd::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

constexpr auto answer_max = 2'600ms;  // design: two seconds

core::Granted grant_of(const core::Outcome& outcome) {
    const auto* const granted = std::get_if<core::Granted>(&outcome);
    EXPECT_NE(granted, nullptr) << text_of(outcome);
    return granted == nullptr ? core::Granted{} : *granted;
}

// Asks until it is granted: what is undone behind a client's back takes its time.
core::Granted lock_at_last(NodeLoop& loop, const std::string& id) {
    for (int i = 0; i < 50; ++i) {
        const core::Outcome outcome = loop.ask(lock(id, 20'000, 200)).outcome;
        if (const auto* granted = std::get_if<core::Granted>(&outcome)) return *granted;
    }
    ADD_FAILURE() << id << " is never free";
    return {};
}

TEST(Desk, lets_a_lock_be_held_by_one_loop_at_a_time) {
    Loops loops(2);
    const core::Granted first = grant_of(loops.at(1).ask(lock("a")).outcome);
    EXPECT_EQ(text_of(loops.at(0).ask(lock("a")).outcome), "nil");
    EXPECT_EQ(text_of(loops.at(0).ask(unlock("a", first.token)).outcome), "1");
    const core::Granted second = grant_of(loops.at(0).ask(lock("a")).outcome);
    EXPECT_GT(second.fence, first.fence);
    EXPECT_EQ(text_of(loops.at(1).ask(unlock("a", Token("wrong"))).outcome), "-1");
}

TEST(Desk, keeps_loops_apart_under_load) {
    Loops loops(3);
    constexpr int rounds = 400;
    std::array<std::atomic<int>, 4> holders{};
    std::array<std::atomic<Fence>, 4> fences{};
    std::atomic<int> grants = 0;
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < 6; ++i) {
        clients.emplace_back([&, i] {
            NodeLoop& loop = loops.at(i % loops.size());
            for (int round = 0; round < rounds; ++round) {
                const std::size_t which = (i + static_cast<std::size_t>(round)) % holders.size();
                const std::string id = std::to_string(which);
                const core::Outcome outcome = loop.ask(lock(id, 20'000, 1'000)).outcome;
                const auto* const granted = std::get_if<core::Granted>(&outcome);
                if (granted == nullptr) continue;
                ++grants;
                EXPECT_EQ(holders[which].fetch_add(1), 0) << id;
                EXPECT_LT(fences[which].exchange(granted->fence), granted->fence) << id;
                holders[which].fetch_sub(1);
                // Any loop may release it.
                NodeLoop& other = loops.at((i + static_cast<std::size_t>(round)) % loops.size());
                EXPECT_EQ(text_of(other.ask(unlock(id, granted->token)).outcome), "1");
            }
        });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_GT(grants.load(), rounds);
    EXPECT_TRUE(loops.paper.written().empty());
}

TEST(Desk, writes_down_what_any_loop_holds_before_it_answers) {
    Loops loops(2);
    const LockKey key{ResourceName("r"), LockId("a")};
    const core::Granted granted = grant_of(loops.at(1).ask(lock("a")).outcome);
    EXPECT_EQ(loops.paper.written()[key], granted.fence);
    EXPECT_EQ(text_of(loops.at(0).ask(unlock("a", granted.token)).outcome), "1");
    EXPECT_EQ(loops.paper.written().count(key), 0u);
}

TEST(Desk, drops_from_the_paper_what_a_loop_sees_over) {
    Loops loops(2);
    // Short leases, and longer than a busy machine leaves a thread without a processor.
    (void)grant_of(loops.at(1).ask(lock("short", 700)).outcome);
    (void)lock_at_last(loops.at(1), "short");  // its lease ended: a later fence is written
    const auto before = loops.paper.written();
    ASSERT_EQ(before.size(), 1u);
    const core::Granted other = grant_of(loops.at(1).ask(lock("brief", 700)).outcome);
    EXPECT_TRUE(loops.paper.wait_until_dropped({ResourceName("r"), LockId("brief")}, other.fence));
}

TEST(Desk, refuses_a_further_lock_that_the_paper_has_no_room_for) {
    Loops loops(2);
    loops.paper.set_room(0);
    EXPECT_THAT(text_of(loops.at(1).ask(lock("a")).outcome), StartsWith("LIMIT journal"));
    loops.paper.set_room(10);
    (void)lock_at_last(loops.at(1), "a");
}

// Issue 4: the mailbox's owner loop blocked for 2 s.
TEST(Desk, answers_within_the_deadline_while_the_owner_hangs) {
    const Stalls stalls;
    Loops loops(2);
    NodeLoop& other = loops.at(1);
    const core::Granted held = grant_of(other.ask(lock("held")).outcome);

    Gate gate;
    gate.close();
    loops.at(0).hold_at(gate);
    ASSERT_TRUE(gate.wait_for_somebody());
    auto fresh = other.begin(lock("fresh"));
    auto waits = other.begin(lock("waits", 20'000, 300));
    auto renewed = other.begin(renew("held", held.token));
    auto released = other.begin(unlock("held", held.token));
    for (auto* one : {&fresh, &waits, &renewed, &released}) {
        const NodeLoop::Answer answer = one->get();
        EXPECT_LT(answer.took, answer_max + stalls.sum());
        EXPECT_THAT(text_of(answer.outcome), AnyOf(StartsWith("NOSTORE"), StartsWith("UNCERTAIN")));
    }
    // Nothing was taken by the owner, so that is certain for what asks for something.
    const NodeLoop::Answer later = other.ask(lock("later"));
    EXPECT_LT(later.took, answer_max + stalls.sum());
    EXPECT_THAT(text_of(later.outcome), StartsWith("NOSTORE the first event loop"));
    gate.open();

    for (const char* id : {"fresh", "waits", "later"}) (void)lock_at_last(loops.at(0), id);
    // The UNLOCK that nobody was told of is carried out once the owner answers.
    const core::Granted next = lock_at_last(loops.at(0), "held");
    EXPECT_GT(next.fence, held.fence);
    (void)lock_at_last(other, "after");
}

// It hangs in the middle of what it was asked: that may have happened, and must not stay.
TEST(Desk, undoes_what_was_in_doubt_when_the_owner_is_back) {
    const Stalls stalls;
    Loops loops(2);
    NodeLoop& other = loops.at(1);
    const core::Granted before = grant_of(other.ask(lock("doubt")).outcome);
    ASSERT_EQ(text_of(other.ask(unlock("doubt", before.token)).outcome), "1");

    loops.paper.gate.close();
    auto doubtful = other.begin(lock("doubt"));
    ASSERT_TRUE(loops.paper.gate.wait_for_somebody());
    auto unseen = other.begin(lock("unseen"));
    const NodeLoop::Answer answer = doubtful.get();
    EXPECT_LT(answer.took, answer_max + stalls.sum());
    EXPECT_THAT(text_of(answer.outcome), StartsWith("UNCERTAIN"));
    const NodeLoop::Answer refused = unseen.get();
    EXPECT_LT(refused.took, answer_max + stalls.sum());
    EXPECT_THAT(text_of(refused.outcome), StartsWith("NOSTORE"));
    loops.paper.gate.open();

    const core::Granted after = lock_at_last(loops.at(0), "doubt");
    EXPECT_GT(after.fence, before.fence + 1) << "the grant in doubt had a fence of its own";
    EXPECT_EQ(text_of(other.ask(lock("doubt")).outcome), "nil");
    (void)lock_at_last(loops.at(0), "unseen");
}

// With the same REQ the client gets what it was granted while nobody could say so.
TEST(Desk, lets_a_retry_meet_the_grant_that_was_in_doubt) {
    Loops loops(2);
    NodeLoop& other = loops.at(1);
    loops.paper.gate.close();
    core::LockCommand wish = lock("a", 20'000);
    wish.request = RequestId("once");
    auto doubtful = other.begin(wish);
    ASSERT_TRUE(loops.paper.gate.wait_for_somebody());
    EXPECT_THAT(text_of(doubtful.get().outcome), StartsWith("UNCERTAIN"));
    auto again = other.begin(wish);
    loops.paper.gate.open();
    core::Outcome outcome = again.get().outcome;
    for (int i = 0; i < 20 && text_of(outcome) != "granted"; ++i) outcome = other.ask(wish).outcome;
    const core::Granted granted = grant_of(outcome);
    EXPECT_EQ(granted.holds, 1u);
    EXPECT_EQ(text_of(loops.at(0).ask(unlock("a", granted.token)).outcome), "1");
}

TEST(Desk, says_that_its_mailbox_is_full) {
    const Stalls stalls;
    store::local::DeskLimits limits;
    limits.operations_max = 3;
    Loops loops(2, limits);
    (void)grant_of(loops.at(1).ask(lock("open")).outcome);
    Gate gate;
    gate.close();
    loops.at(0).hold_at(gate);
    ASSERT_TRUE(gate.wait_for_somebody());
    std::vector<std::future<NodeLoop::Answer>> asked;
    for (int i = 0; i < 4; ++i) asked.push_back(loops.at(1).begin(lock(std::to_string(i))));
    const NodeLoop::Answer refused = asked.back().get();
    EXPECT_LT(refused.took, 500ms + stalls.sum()) << "it is known at once";
    EXPECT_THAT(text_of(refused.outcome), HasSubstr("is full: 3 operations wait"));
    gate.open();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(text_of(asked[i].get().outcome), "granted");
}

TEST(Desk, tells_a_loop_that_hung_of_what_it_missed) {
    store::local::DeskLimits limits;
    limits.messages_max = 2;
    Loops loops(2, limits);
    NodeLoop& other = loops.at(1);
    for (int i = 0; i < 6; ++i) (void)grant_of(other.ask(lock(std::to_string(i))).outcome);
    Gate gate;
    gate.close();
    other.hold_at(gate);
    ASSERT_TRUE(gate.wait_for_somebody());
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(text_of(loops.at(0).ask(force(std::to_string(i))).outcome), "1");
    }
    gate.open();
    // It believes to hold all of them until it has heard, and asks for those that it did not hear
    // of.
    for (int i = 0; i < 6; ++i) (void)lock_at_last(other, std::to_string(i));
}

}  // namespace
}  // namespace latchd::test
