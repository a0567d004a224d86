// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "support/world.hpp"

#include <gtest/gtest.h>

// What the fault suite found, step by step.
namespace latchd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// tests/fault/redis_refuses_test.py, a copy of a lock comes after its unlock.
TEST(NodeFault, where_kill_is_forbidden_the_first_copy_of_a_lock_is_barred_before_it_goes_again) {
    World world;
    Member& a = world.at(0);
    a.link = Link::frozen;
    const auto ticket = a.send(1, lock());
    const core::Operation first = a.first_under_way();
    a.close("reset");
    a.break_off();
    a.link = Link::instant;
    a.open("redis", {}, false);
    const core::Granted grant = granted(a.outcome(ticket));
    const auto release = a.send(1, unlock(grant.token.str()));
    EXPECT_EQ(got(a, release), "1");
    EXPECT_EQ(world.table.apply(world.now, first).reply.status, core::Status::cancelled);
    EXPECT_EQ(world.table.size(), 0u);
}

TEST(NodeFault, where_kill_works_the_same_attempt_goes_again) {
    World world;
    Member& a = world.at(0);
    a.link = Link::lose_answers;
    const auto ticket = a.send(1, lock());
    a.close("reset");
    a.break_off();
    a.link = Link::instant;
    a.open();
    EXPECT_EQ(got(a, ticket), "granted");
    EXPECT_EQ(a.sent<core::Undo>(), 0u);
    EXPECT_EQ(world.table.counter(), 1u);
}

// tests/fault/replies_lost_test.py, of a cancel: "none was found" was told, and the record stayed.
TEST(NodeFault, a_cancel_whose_answer_was_lost_has_undone_the_grant) {
    World world;
    Member& a = world.at(0);
    a.send(1, lock({.req = "wish"}));
    a.link = Link::lose_answers;
    core::CancelCommand cancel;
    cancel.key = key();
    cancel.request = RequestId("wish");
    const auto ticket = a.send(2, std::move(cancel));
    a.close("reset");
    a.break_off();
    a.link = Link::instant;
    a.open();
    EXPECT_EQ(got(a, ticket), "1");
    EXPECT_EQ(a.node.counts().held, 0u);
    EXPECT_EQ(got(a, a.send(3, lock())), "granted");
}

TEST(NodeFault, a_forceunlock_whose_answer_was_lost_has_ended_the_grant) {
    World world;
    Member& a = world.at(0);
    a.send(1, lock());
    a.link = Link::lose_answers;
    core::ForceCommand force;
    force.key = key();
    const auto ticket = a.send(2, std::move(force));
    a.close("reset");
    a.break_off();
    a.link = Link::instant;
    a.open();
    EXPECT_EQ(got(a, ticket), "1");
    EXPECT_EQ(a.happened.back().kind, core::Happened::Kind::revoked);
    EXPECT_EQ(a.node.counts().held, 0u);
    EXPECT_EQ(got(a, a.send(3, lock())), "granted");
}

TEST(NodeFault, a_forceunlock_that_ends_nothing_is_no_line_for_the_audit) {
    World world;
    Member& a = world.at(0);
    const auto force = [&] {
        a.notices.clear();
        core::ForceCommand command;
        command.key = key();
        const std::string reply = got(a, a.send(2, std::move(command)));
        for (const core::Notice& notice : a.notices) {
            if (std::string(notice.event) != "audit.forceunlock") continue;
            return reply + (notice.level == core::Notice::Level::debug ? " debug" : " warning");
        }
        return reply;
    };
    EXPECT_EQ(force(), "0 debug");
    a.send(1, lock());
    EXPECT_EQ(force(), "1 warning");
}

// tests/fault/resend_test.py: the first node kept a record of what was released through the other,
// told it lost at the lease's end, and put it back into a Redis that had restarted.
TEST(NodeFault, a_record_goes_with_its_lock_to_the_node_that_renewed_it) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto grant = granted(a.outcome(a.send(1, lock())));
    EXPECT_EQ(got(b, b.send(1, renew(grant.token.str()))), "10000");
    EXPECT_EQ(a.node.counts().held, 0u);
    EXPECT_EQ(b.node.counts().held, 1u);
    EXPECT_EQ(a.journal.at(key()).node, NodeName()) << "to be handed over, and no more";
    EXPECT_EQ(got(b, b.send(1, unlock(grant.token.str()))), "1");
    a.close("redis restarted", true);
    a.open();
    world.advance(seconds(20));
    EXPECT_TRUE(a.happened.empty());
    EXPECT_TRUE(a.journal.empty());
    EXPECT_EQ(world.table.size(), 0u);
}

// The answer to the later RENEW came before the message about the earlier one.
TEST(NodeFault, a_message_older_than_the_record_takes_nothing_away) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto grant = granted(a.outcome(a.send(1, lock())));
    a.hears_messages = false;
    b.send(1, renew(grant.token.str()));
    a.send(1, renew(grant.token.str()));
    core::NodeMessage late;
    late.kind = core::NodeMessage::Kind::moved;
    late.key = key();
    late.fence = grant.fence;
    late.version = 2;
    a.feed(core::Event(late));
    EXPECT_EQ(a.node.counts().held, 1u);
    EXPECT_EQ(b.node.counts().held, 0u);
}

// The answer to LOCK was overtaken by what became of the grant through another node.
TEST(NodeFault, a_record_that_comes_after_the_message_is_not_kept) {
    for (const auto kind : {core::NodeMessage::Kind::moved, core::NodeMessage::Kind::released}) {
        World world;
        Member& a = world.at(0);
        a.link = Link::frozen;
        const auto ticket = a.send(1, lock());
        core::NodeMessage message;
        message.kind = kind;
        message.key = key();
        message.fence = make_fence(world.table.epoch(), world.table.counter() + 1);
        message.version = 2;
        a.feed(core::Event(message));
        a.thaw();
        ASSERT_EQ(granted(a.outcome(ticket)).fence, message.fence);
        EXPECT_EQ(a.node.counts().held, 0u);
        const bool has_moved = kind == core::NodeMessage::Kind::moved;
        EXPECT_EQ(a.hand_over(101).records.size(), has_moved ? 1u : 0u);
        ASSERT_EQ(a.journal.size(), has_moved ? 1u : 0u);
        if (has_moved) {
            EXPECT_EQ(a.journal.at(key()).node, NodeName());
        }
    }
}

// KEEP goes on where its client is, whoever else renewed once.
TEST(NodeFault, a_kept_lock_that_was_renewed_elsewhere_comes_back_to_its_keeper) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto grant = granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .keep = true}))));
    b.send(1, renew(grant.token.str()));
    world.advance(milliseconds(1));
    EXPECT_EQ(a.node.counts().held, 1u);
    EXPECT_EQ(b.node.counts().held, 0u);
    EXPECT_EQ(got(b, b.send(1, unlock(grant.token.str()))), "1");
    EXPECT_EQ(a.node.counts().held, 0u);
    world.advance(seconds(5));
    EXPECT_TRUE(a.happened.empty());
}

// The first copy of a Restore came after its client had unlocked what the second one put back.
TEST(NodeFault, where_kill_is_forbidden_a_late_restore_revives_nothing) {
    World world;
    Member& a = world.at(0);
    const auto grant = granted(a.outcome(a.send(1, lock({.req = "q"}))));
    a.close("settling", true);
    world.table = core::Table(101);
    a.link = Link::frozen;
    a.open("redis", {}, false);
    const core::Operation late = a.first_under_way();
    ASSERT_TRUE(std::holds_alternative<core::Restore>(late));
    a.close("reset");
    a.break_off();
    a.link = Link::instant;
    a.open("redis", {}, false);
    EXPECT_EQ(world.table.size(), 1u);
    EXPECT_EQ(got(a, a.send(1, unlock(grant.token.str()))), "1");
    EXPECT_EQ(world.table.apply(world.now, late).reply.status, core::Status::not_held);
    EXPECT_EQ(world.table.size(), 0u);
}

TEST(NodeFault, a_restore_leaves_out_what_was_cancelled_and_keeps_the_rest) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.owner = "o", .req = "q"}))));
    granted(a.outcome(a.send(1, lock({.owner = "o", .req = "p"}))));
    const auto record = world.table.apply(world.now, core::Inspect{key()}).reply.record;
    world.table = core::Table(101);
    core::Cancel cancel{key(), RequestId("q"), NodeName("b"), seconds(60)};
    EXPECT_EQ(world.table.apply(world.now, cancel).reply.status, core::Status::nothing);
    const auto restored = world.table.apply(world.now, core::Restore{*record, false}).reply;
    EXPECT_EQ(restored.status, core::Status::restored);
    ASSERT_EQ(restored.record->holds.size(), 1u);
    EXPECT_EQ(restored.record->holds[0].request, RequestId("p"));
}

// What is told of an UNLOCK whose answer was lost with the connection, once that is back.
std::string unlock_in_doubt(Member& a, const Token& token) {
    a.link = Link::lose_answers;
    const auto release = a.send(1, unlock(token.str()));
    a.close("reset");
    a.break_off();
    a.link = Link::instant;
    a.open();
    return got(a, release);
}

// "Not held" was told of what this very UNLOCK had released.
TEST(NodeFault, an_unlock_in_doubt_through_a_node_without_the_record_has_released) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto grant = granted(b.outcome(b.send(1, lock())));
    EXPECT_EQ(unlock_in_doubt(a, grant.token), "1");
}

// Found by a newcomer: "released" was told of a lock that this node had given to somebody else.
TEST(NodeFault, an_unlock_in_doubt_of_what_is_another_s_by_now_has_not_released) {
    World world;
    Member& a = world.at(0);
    const auto grant = granted(a.outcome(a.send(1, lock({.ttl_ms = 1'000}))));
    world.advance(seconds(2));
    granted(a.outcome(a.send(2, lock())));
    EXPECT_EQ(unlock_in_doubt(a, grant.token), "-1");
}

// Its other holds were left to their lease, though their clients lived.
TEST(NodeFault, a_renew_keep_elsewhere_takes_over_the_hold_that_it_names) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto one =
        granted(a.outcome(a.send(1, lock({.ttl_ms = 3'000, .owner = "o", .keep = true}))));
    granted(a.outcome(a.send(2, lock({.ttl_ms = 3'000, .owner = "o", .keep = true}))));
    EXPECT_EQ(got(b, b.send(3, renew(one.token.str(), 0, true))), "3000");
    EXPECT_EQ(a.node.counts().keeping, 1u);
    b.feed(core::ClientGone{ClientId{3}});
    world.advance(seconds(30));
    EXPECT_EQ(a.node.counts().held, 1u);
    EXPECT_EQ(a.node.counts().lost, 0u);
}

TEST(NodeFault, an_unlock_of_nothing_is_answered_the_same_again) {
    World world;
    Member& a = world.at(0);
    const auto grant = granted(a.outcome(a.send(1, lock())));
    EXPECT_EQ(got(a, a.send(2, unlock("other"))), "-1");
    EXPECT_EQ(got(a, a.send(2, unlock("other"))), "-1");
    EXPECT_EQ(got(a, a.send(2, unlock(grant.token.str(), "2"))), "0");
    EXPECT_EQ(got(a, a.send(2, unlock(grant.token.str(), "2"))), "0");
    EXPECT_EQ(a.sent<core::Release>(), 2u);
    EXPECT_EQ(got(a, a.send(1, unlock(grant.token.str()))), "1") << "of the lock that it is of";
    EXPECT_EQ(got(a, a.send(1, unlock(grant.token.str()))), "1");
    world.advance(seconds(61));
    EXPECT_EQ(got(a, a.send(1, unlock(grant.token.str()))), "0") << "forgotten";
}

TEST(NodeFault, nil_at_the_end_of_a_wait_is_not_older_than_the_wait) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    a.hears_messages = false;
    const auto grant = granted(b.outcome(b.send(1, lock())));
    const auto first = a.send(1, lock({.wait_ms = 1'500}));
    const auto second = a.send(2, lock({.wait_ms = 1'500}));
    world.advance(milliseconds(1'200));
    EXPECT_EQ(got(b, b.send(1, unlock(grant.token.str()))), "1");
    EXPECT_EQ(got(a, first), "pending") << "nobody tells it";
    world.advance(milliseconds(300));
    EXPECT_EQ(got(a, first), "granted");
    EXPECT_EQ(got(a, second), "nil");
    EXPECT_EQ(a.sent<core::Acquire>(), 3u);
}

}  // namespace
}  // namespace latchd::test
