// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/core/lock/table.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

// Rules T12 to T14: whose turn it is when a lock becomes free.
namespace latchd::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TableQueue : public ::testing::Test {
protected:
    Acquire wish(const std::string& node, bool waits) {
        Acquire wish;
        wish.key = key_;
        wish.request = RequestId("q" + std::to_string(++number_));
        wish.attempt = {1, number_};
        wish.token = Token("t-" + node);
        wish.node = NodeName(node);
        wish.ttl = seconds(10);
        wish.retry_window = seconds(15);
        wish.waits = waits;
        return wish;
    }
    Reply acquire(const std::string& node) { return apply(wish(node, false)).reply; }
    Reply wait(const std::string& node) { return apply(wish(node, true)).reply; }
    OperationReply release(const std::string& node) {
        return apply(Release{key_, Token("t-" + node), NodeName(node), std::nullopt});
    }
    Status step_out(const std::string& node) {
        return apply(StepOut{key_, NodeName(node)}).reply.status;
    }
    OperationReply apply(const Operation& operation) {
        OperationReply reply = table_.apply(now_, operation);
        for (const Table::Told& told : table_.take_told()) {
            if (told.message.kind == NodeMessage::Kind::offered) {
                EXPECT_EQ(told.message.key, key_);
                offered_.push_back(told.node.str());
            }
        }
        return reply;
    }
    std::string queue() {
        std::string all;
        for (const NodeName& node : table_.queue(now_, key_).nodes) all += node.str();
        return all;
    }
    std::vector<std::string> offered() { return std::exchange(offered_, {}); }
    using Names = std::vector<std::string>;

    const LockKey key_{ResourceName("r"), LockId("1")};
    Time now_{std::chrono::hours(1)};
    Table table_{7};
    std::uint64_t number_ = 0;
    std::vector<std::string> offered_;
};

TEST_F(TableQueue, who_waits_leaves_its_name_once_and_who_does_not_leaves_none) {
    EXPECT_EQ(acquire("a").status, Status::granted);
    EXPECT_EQ(acquire("b").status, Status::held);
    EXPECT_EQ(wait("c").status, Status::held);
    EXPECT_EQ(wait("c").status, Status::held);
    EXPECT_EQ(wait("d").status, Status::held);
    EXPECT_EQ(queue(), "cd");
}

TEST_F(TableQueue, a_freed_lock_is_reserved_for_the_first_who_alone_is_told) {
    acquire("a");
    wait("b");
    wait("c");
    EXPECT_EQ(release("a").reply.status, Status::released);
    EXPECT_EQ(offered(), Names{"b"});
    const Reply late = acquire("a");
    EXPECT_EQ(late.status, Status::held) << "reserved for an earlier waiter";
    EXPECT_EQ(late.left, milliseconds(200));
    EXPECT_EQ(late.fence_seen, 0u) << "nobody holds it";
    EXPECT_EQ(wait("a").status, Status::held);
    EXPECT_EQ(queue(), "bca");
    EXPECT_EQ(wait("b").status, Status::granted);
    EXPECT_EQ(queue(), "ca");
    EXPECT_EQ(offered(), Names{});
}

TEST_F(TableQueue, an_unused_reservation_drops_its_node_and_wakes_the_next) {
    acquire("a");
    wait("b");
    wait("c");
    release("a");
    EXPECT_EQ(offered(), Names{"b"});
    now_ += milliseconds(199);
    EXPECT_EQ(acquire("d").left, milliseconds(1));
    now_ += milliseconds(1);
    EXPECT_EQ(wait("d").left, milliseconds(200));
    EXPECT_EQ(offered(), Names{"c"});
    EXPECT_EQ(queue(), "cd");
    now_ += milliseconds(200);
    EXPECT_EQ(wait("d").status, Status::granted) << "it is the next itself";
    EXPECT_EQ(queue(), "");
}

TEST_F(TableQueue, a_lock_whose_lease_ended_goes_to_the_first_whoever_asks_first) {
    acquire("a");
    wait("b");
    wait("c");
    now_ += seconds(10);
    EXPECT_EQ(wait("c").status, Status::held);
    EXPECT_EQ(offered(), Names{"b"});
    EXPECT_EQ(acquire("b").status, Status::granted);
}

TEST_F(TableQueue, each_way_in_which_a_lock_becomes_free_wakes_the_next) {
    const Acquire first = wish("a", false);
    const std::vector<Operation> ways{
        Undo{key_, first.request, first.attempt, NodeName("a"), std::nullopt},
        Force{key_, NodeName("x"), std::nullopt},
        Cancel{key_, first.request, NodeName("a"), seconds(1)},
    };
    for (const Operation& way : ways) {
        EXPECT_EQ(apply(first).reply.status, Status::granted);
        wait("b");
        apply(way);
        EXPECT_EQ(offered(), Names{"b"});
        EXPECT_EQ(wait("b").status, Status::granted);
        release("b");
    }
}

TEST_F(TableQueue, a_hand_over_comes_before_the_queue_unless_it_yields) {
    acquire("a");
    wait("b");
    Release release{key_, Token("t-a"), NodeName("a"), wish("a", true)};
    EXPECT_EQ(apply(release).then->status, Status::granted);
    EXPECT_EQ(offered(), Names{});
    release.then = wish("a", true);
    release.yields = true;
    EXPECT_EQ(apply(release).then->status, Status::held);
    EXPECT_EQ(offered(), Names{"b"});
    EXPECT_EQ(queue(), "ba");
    EXPECT_EQ(wait("b").status, Status::granted);
    release = {key_, Token("t-b"), NodeName("b"), wish("b", true), true};
    EXPECT_EQ(apply(release).then->status, Status::held);
    EXPECT_EQ(offered(), Names{"a"});
}

TEST_F(TableQueue, a_hand_over_that_freed_nothing_is_an_ordinary_lock) {
    acquire("a");
    wait("b");
    wait("c");
    release("a");
    Release again{key_, Token("t-a"), NodeName("a"), wish("a", false)};
    const OperationReply reply = apply(again);
    EXPECT_EQ(reply.reply.status, Status::not_held);
    EXPECT_EQ(reply.then->status, Status::held);
}

TEST_F(TableQueue, a_hand_over_to_a_cancelled_request_wakes_the_queue) {
    acquire("a");
    wait("b");
    Release release{key_, Token("t-a"), NodeName("a"), wish("a", true)};
    apply(Cancel{key_, release.then->request, NodeName("a"), seconds(60)});
    EXPECT_EQ(apply(release).then->status, Status::cancelled);
    EXPECT_EQ(offered(), Names{"b"});
}

TEST_F(TableQueue, who_leaves_passes_on_what_is_reserved_for_it_and_nothing_else) {
    acquire("a");
    wait("b");
    wait("c");
    wait("d");
    EXPECT_EQ(step_out("c"), Status::undone);
    EXPECT_EQ(step_out("c"), Status::nothing);
    EXPECT_EQ(offered(), Names{});
    release("a");
    EXPECT_EQ(offered(), Names{"b"});
    EXPECT_EQ(step_out("b"), Status::undone);
    EXPECT_EQ(offered(), Names{"d"});
    EXPECT_EQ(step_out("d"), Status::undone);
    EXPECT_EQ(offered(), Names{});
    EXPECT_EQ(acquire("x").status, Status::granted);
}

TEST_F(TableQueue, only_to_join_looks_at_no_queue) {
    acquire("a");
    wait("b");
    release("a");
    Acquire join = wish("c", true);
    join.join_only = true;
    const Reply reply = apply(join).reply;
    EXPECT_EQ(reply.status, Status::held);
    EXPECT_EQ(reply.left, Duration::zero());
    EXPECT_EQ(queue(), "b");
}

TEST_F(TableQueue, is_bounded_and_forgotten) {
    acquire("a");
    for (std::size_t i = 0; i < queue_nodes_max + 3; ++i) wait("n" + std::to_string(i));
    EXPECT_EQ(table_.queue(now_, key_).nodes.size(), queue_nodes_max);
    now_ += queue_kept;
    EXPECT_EQ(queue(), "");
    EXPECT_EQ(acquire("x").status, Status::granted);
}

}  // namespace
}  // namespace latchd::core
