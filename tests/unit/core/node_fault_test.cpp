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

// The told lease ends before the store's, by the margin: a renewal that is carried out in between
// would keep a lock that nobody has any more.
TEST(NodeFault, a_renewal_that_comes_when_the_lock_was_told_lost_leaves_no_ghost) {
    World world;
    Member& a = world.at(0);
    a.open("redis", milliseconds(50));
    const auto ticket = a.send(1, lock({.ttl_ms = 3'000, .keep = true}));
    EXPECT_EQ(got(a, ticket), "granted");
    a.link = Link::frozen;
    world.advance(milliseconds(2'960));
    ASSERT_EQ(a.happened.back().kind, core::Happened::Kind::lost);
    EXPECT_GE(a.under_way(), 1u);
    a.link = Link::instant;
    a.thaw();
    EXPECT_EQ(world.table.size(), 0u);
    EXPECT_EQ(a.node.counts().held, 0u);
    world.advance(seconds(70));
    EXPECT_EQ(a.node.next_deadline().has_value(), false);
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

}  // namespace
}  // namespace latchd::test
