// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_scripts_fixture.hpp"

// Every status of every script, seen through the dialect. That the rules agree with core::Table is
// redis_conformance_test's matter.
namespace latchd::testing {
namespace {

using core::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisLockScripts : public RedisScripts {
protected:
    Make make;
};

TEST_F(RedisLockScripts, acquire_grants_a_free_lock_with_the_whole_record) {
    core::Acquire wish = make.acquire("owner");
    wish.hold_max = seconds(20);
    wish.renew_max = 3;
    wish.delay = seconds(2);
    const core::Reply reply = this->reply(wish).reply;
    ASSERT_EQ(reply.status, Status::granted);
    core::GrantRecord expected;
    expected.key = wish.key;
    expected.holds = {{wish.token, wish.request, {wish.attempt}, wish.retry_window}};
    expected.owner = wish.owner;
    expected.fence = make_fence(epoch, 1);
    expected.version = 1;
    expected.left = seconds(20);  // the hard end
    expected.ttl = seconds(30);
    expected.hard_left = seconds(20);
    expected.renew_max = 3;
    expected.delay = seconds(2);
    expected.node = wish.node;
    expected.client = wish.client;
    EXPECT_EQ(reply.record, expected);
    EXPECT_TRUE(text_at("lock:order:settle:1001").starts_with("{\"token\":\"token-1\","));
    const std::int64_t ttl = command({"PTTL", "lock:order:settle:1001"}).integer;
    EXPECT_GT(ttl, 21'000);
    EXPECT_LE(ttl, 22'000);
}

TEST_F(RedisLockScripts, fences_rise_by_one_with_each_grant) {
    for (std::uint32_t i = 1; i <= 3; ++i) {
        const core::Acquire wish = make.acquire();
        EXPECT_EQ(reply(wish).reply.record->fence, make_fence(epoch, i));
        EXPECT_EQ(status(Make::release(wish)), Status::released);
    }
}

TEST_F(RedisLockScripts, acquire_of_a_held_lock_says_for_how_long) {
    core::Acquire first = make.acquire();
    first.delay = seconds(5);
    (void)reply(first);
    const core::Reply reply = this->reply(make.acquire()).reply;
    EXPECT_EQ(reply.status, Status::held);
    EXPECT_GT(reply.left, seconds(34));
    EXPECT_LE(reply.left, seconds(35));
    EXPECT_EQ(reply.fence_seen, make_fence(epoch, 1));
    EXPECT_FALSE(reply.record);
}

TEST_F(RedisLockScripts, acquire_with_join_only_takes_no_free_lock) {
    core::Acquire wish = make.acquire("owner");
    wish.join_only = true;
    EXPECT_EQ(status(wish), Status::held);
    EXPECT_EQ(command({"EXISTS", lock_name()}).integer, 0);
    (void)reply(make.acquire("owner"));
    EXPECT_EQ(status(wish), Status::reentered);
}

TEST_F(RedisLockScripts, acquire_sent_again_finds_itself) {
    const core::Acquire wish = make.acquire();
    (void)reply(wish);
    const core::Reply again = reply(wish).reply;
    EXPECT_EQ(again.status, Status::adopted);
    EXPECT_EQ(again.record->holds.size(), 1u);
    EXPECT_EQ(again.record->holds[0].attempts.size(), 1u);
    EXPECT_EQ(again.record->fence, make_fence(epoch, 1));
}

TEST_F(RedisLockScripts, acquire_adopts_by_request_id_until_sixteen_attempts) {
    core::Acquire wish = make.acquire();
    (void)reply(wish);
    for (int i = 2; i <= 16; ++i) {
        ++wish.attempt.number;
        wish.token = Token("another");
        const core::Reply reply = this->reply(wish).reply;
        ASSERT_EQ(reply.status, Status::adopted);
        EXPECT_EQ(reply.record->holds[0].token, Token("token-1"));
        EXPECT_EQ(reply.record->holds[0].attempts.size(), static_cast<std::size_t>(i));
    }
    core::Renew renew = Make::renew(wish);
    renew.token = Token("token-1");
    renew.stands = wish.attempt;
    EXPECT_EQ(status(renew), Status::renewed) << "it is one of them";
    ++wish.attempt.number;
    EXPECT_EQ(status(wish), Status::holds_full);
    renew.stands = wish.attempt;
    EXPECT_EQ(status(renew), Status::holds_full);
}

TEST_F(RedisLockScripts, acquire_re_enters_until_sixty_four_holds) {
    (void)reply(make.acquire("owner"));
    for (std::size_t i = 2; i <= 64; ++i) {
        const core::Reply reply = this->reply(make.acquire("owner")).reply;
        ASSERT_EQ(reply.status, Status::reentered);
        ASSERT_EQ(reply.record->holds.size(), i);
        ASSERT_EQ(reply.record->version, i);
    }
    EXPECT_EQ(status(make.acquire("owner")), Status::holds_full);
    EXPECT_EQ(status(make.acquire("somebody else")), Status::held);
}

TEST_F(RedisLockScripts, release_takes_out_one_hold_and_then_the_lock) {
    const core::Acquire first = make.acquire("owner");
    const core::Acquire second = make.acquire("owner");
    EXPECT_EQ(status(Make::release(first)), Status::not_held);
    (void)reply(first);
    EXPECT_EQ(status(Make::release(second)), Status::held_by_other);
    (void)reply(second);
    const core::Reply removed = reply(Make::release(first)).reply;
    EXPECT_EQ(removed.status, Status::hold_removed);
    EXPECT_EQ(removed.record->holds.size(), 1u);
    EXPECT_TRUE(text_at(lock_name()).starts_with("{\"token\":\"token-2\","));
    const core::Reply released = reply(Make::release(second)).reply;
    EXPECT_EQ(released.status, Status::released);
    EXPECT_EQ(released.record->fence, make_fence(epoch, 1));
    EXPECT_EQ(command({"EXISTS", lock_name()}).integer, 0);
}

TEST_F(RedisLockScripts, release_hands_over_with_a_new_fence) {
    const core::Acquire first = make.acquire();
    const core::Acquire next = make.acquire();
    (void)reply(first);
    core::Release release = Make::release(first);
    release.then = next;
    const core::OperationReply reply = this->reply(release);
    EXPECT_EQ(reply.reply.status, Status::released);
    ASSERT_TRUE(reply.then);
    EXPECT_EQ(reply.then->status, Status::granted);
    EXPECT_EQ(reply.then->record->fence, make_fence(epoch, 2));
    EXPECT_EQ(reply.then->record->holds[0].token, next.token);
}

TEST_F(RedisLockScripts, release_with_a_strange_token_hands_nothing_over) {
    (void)reply(make.acquire());
    core::Release release = Make::release(make.acquire());
    release.then = make.acquire();
    const core::OperationReply reply = this->reply(release);
    EXPECT_EQ(reply.reply.status, Status::held_by_other);
    EXPECT_EQ(reply.reply.fence_seen, make_fence(epoch, 1));
    EXPECT_EQ(reply.then->status, Status::held);
}

TEST_F(RedisLockScripts, release_of_a_free_lock_still_tries_the_waiter) {
    core::Release release = Make::release(make.acquire());
    release.then = make.acquire();
    const core::OperationReply reply = this->reply(release);
    EXPECT_EQ(reply.reply.status, Status::not_held);
    EXPECT_EQ(reply.then->status, Status::granted);
}

TEST_F(RedisLockScripts, renew_extends_and_never_shortens) {
    const core::Acquire wish = make.acquire();
    core::Renew renew = Make::renew(wish);
    EXPECT_EQ(status(renew), Status::not_held);
    EXPECT_EQ(command({"EXISTS", lock_name()}).integer, 0);
    (void)reply(wish);
    renew.ttl = seconds(50);
    core::Reply reply = this->reply(renew).reply;
    EXPECT_EQ(reply.status, Status::renewed);
    EXPECT_EQ(reply.record->left, seconds(50));
    EXPECT_EQ(reply.record->renewals, 1u);
    renew.ttl = seconds(1);
    reply = this->reply(renew).reply;
    EXPECT_GT(reply.record->left, seconds(40));
    EXPECT_EQ(reply.record->ttl, seconds(1));
    EXPECT_GT(command({"PTTL", lock_name()}).integer, 40'000);
    EXPECT_EQ(status(Make::renew(make.acquire())), Status::held_by_other);
}

TEST_F(RedisLockScripts, renew_stops_at_the_limit_and_at_the_hard_end) {
    core::Acquire wish = make.acquire();
    wish.renew_max = 1;
    wish.hold_max = seconds(40);
    (void)reply(wish);
    core::Reply reply = this->reply(Make::renew(wish)).reply;
    EXPECT_EQ(reply.status, Status::renewed);
    core::Renew longer = Make::renew(wish);
    longer.ttl = seconds(60);
    reply = this->reply(longer).reply;
    EXPECT_EQ(reply.status, Status::renew_limit);
    EXPECT_EQ(reply.record->renewals, 1u);
    EXPECT_EQ(reply.record->ttl, seconds(30));
    wish = make.acquire("", {ResourceName("r"), LockId("2")});
    wish.hold_max = seconds(40);
    (void)this->reply(wish);
    longer = Make::renew(wish);
    longer.ttl = seconds(60);
    EXPECT_LE(this->reply(longer).reply.record->left, seconds(40));
}

TEST_F(RedisLockScripts, undo_takes_out_its_own_attempt_only) {
    core::Acquire wish = make.acquire();
    const core::Undo first = Make::undo(wish);
    EXPECT_EQ(status(first), Status::nothing);
    (void)reply(wish);
    ++wish.attempt.number;
    (void)reply(wish);
    core::Reply reply = this->reply(first).reply;
    EXPECT_EQ(reply.status, Status::undone);
    EXPECT_EQ(reply.record->holds[0].attempts, Few<Attempt>{wish.attempt});
    EXPECT_EQ(status(first), Status::nothing);
    EXPECT_EQ(status(Make::undo(wish)), Status::undone);
    EXPECT_EQ(command({"EXISTS", lock_name()}).integer, 0);
}

TEST_F(RedisLockScripts, a_tombstone_refuses_its_attempt_and_no_other) {
    core::Acquire wish = make.acquire();
    core::Undo undo = Make::undo(wish);
    undo.tombstone = seconds(75);
    EXPECT_EQ(status(undo), Status::nothing);
    core::Undo shorter = undo;
    shorter.attempt.number = 77;
    shorter.tombstone = seconds(1);
    EXPECT_EQ(status(shorter), Status::nothing);
    EXPECT_GT(command({"PTTL", keys_.bar(wish.key, wish.request)}).integer, 70'000);
    EXPECT_EQ(status(wish), Status::cancelled);
    wish.attempt.number = 77;
    EXPECT_EQ(status(wish), Status::cancelled);
    wish.attempt.number = 7;
    EXPECT_EQ(status(wish), Status::granted);
}

TEST_F(RedisLockScripts, cancel_ends_the_grant_and_bars_the_request_id) {
    core::Acquire wish = make.acquire("owner");
    const core::Acquire other = make.acquire("owner");
    const core::Cancel cancel{wish.key, wish.request, wish.node, seconds(120)};
    (void)reply(wish);
    (void)reply(other);
    core::Reply reply = this->reply(cancel).reply;
    EXPECT_EQ(reply.status, Status::ended);
    EXPECT_EQ(reply.record->holds.size(), 1u);
    EXPECT_EQ(status(cancel), Status::nothing);
    ++wish.attempt.number;
    EXPECT_EQ(status(wish), Status::cancelled);
    EXPECT_EQ(status(core::Cancel{other.key, other.request, other.node, seconds(1)}),
              Status::ended);
    EXPECT_EQ(command({"EXISTS", lock_name()}).integer, 0);
    core::Release release = Make::release(other);
    release.then = wish;
    EXPECT_EQ(this->reply(release).then->status, Status::cancelled);
}

TEST_F(RedisLockScripts, force_ends_only_the_grant_that_it_names) {
    const core::Acquire wish = make.acquire();
    EXPECT_EQ(status(core::Force{wish.key, wish.node, std::nullopt}), Status::nothing);
    (void)reply(wish);
    EXPECT_EQ(status(core::Force{wish.key, wish.node, make_fence(epoch, 2)}), Status::nothing);
    const core::Reply reply =
        this->reply(core::Force{wish.key, wish.node, make_fence(epoch, 1)}).reply;
    EXPECT_EQ(reply.status, Status::ended);
    EXPECT_EQ(reply.record->holds[0].token, wish.token);
    (void)this->reply(make.acquire());
    EXPECT_EQ(status(core::Force{wish.key, wish.node, std::nullopt}), Status::ended);
}

TEST_F(RedisLockScripts, inspect_shows_the_record_and_changes_nothing) {
    EXPECT_EQ(status(core::Inspect{settle_1001}), Status::not_held);
    (void)reply(make.acquire());
    const std::string before = text_at(lock_name());
    const core::Reply reply = this->reply(core::Inspect{settle_1001}).reply;
    EXPECT_EQ(reply.status, Status::found);
    EXPECT_EQ(reply.record->version, 1u);
    EXPECT_EQ(text_at(lock_name()), before);
}

TEST_F(RedisLockScripts, restore_puts_back_keeps_or_gives_way) {
    const core::Acquire wish = make.acquire("owner");
    core::GrantRecord record = *reply(wish).reply.record;
    record.version = 9;
    EXPECT_EQ(reply(core::Restore{record, false}).reply.record->version, 1u) << "as it is";
    (void)reply(Make::release(wish));
    record.left = milliseconds(12'345);
    core::Reply put = reply(core::Restore{record, false}).reply;
    EXPECT_EQ(put.status, Status::restored);
    EXPECT_EQ(put.record->fence, make_fence(epoch, 2));
    EXPECT_EQ(put.record->version, 1u);
    EXPECT_EQ(put.record->left, milliseconds(12'345));
    EXPECT_EQ(put.record->holds[0].token, wish.token);
    (void)reply(Make::release(wish));
    record.fence = make_fence(epoch, 40);
    put = reply(core::Restore{record, true}).reply;
    EXPECT_EQ(put.record->fence, make_fence(epoch, 40));
    EXPECT_EQ(put.record->version, 9u);
    (void)reply(Make::release(wish));
    EXPECT_EQ(reply(make.acquire()).reply.record->fence, make_fence(epoch, 41));
    EXPECT_EQ(status(core::Restore{record, false}), Status::held);
    record.left = -seconds(1);
    EXPECT_EQ(status(core::Restore{record, false}), Status::not_held);
}

TEST_F(RedisLockScripts, restore_replaces_a_carried_grant_with_a_lower_fence) {
    core::GrantRecord carried = *reply(make.acquire()).reply.record;
    core::GrantRecord later =
        *reply(make.acquire("", {ResourceName("r"), LockId("x")})).reply.record;
    later.key = carried.key;
    ASSERT_GT(later.fence, carried.fence);
    EXPECT_EQ(status(core::Restore{carried, false}), Status::restored) << "as it is";
    const core::Reply put = reply(core::Restore{later, false}).reply;
    ASSERT_EQ(put.status, Status::restored);
    EXPECT_GT(put.record->fence, later.fence);
    EXPECT_EQ(put.record->holds[0].token, later.holds[0].token);
    EXPECT_EQ(status(core::Restore{carried, false}), Status::held);
}

TEST_F(RedisLockScripts, restore_leaves_out_what_was_cancelled_or_undone) {
    core::Acquire one = make.acquire("owner");
    core::Acquire two = make.acquire("owner");
    (void)reply(one);
    const core::GrantRecord record = *reply(two).reply.record;
    ASSERT_EQ(record.holds.size(), 2u);
    (void)reply(core::Cancel{one.key, one.request, one.node, seconds(9)});
    (void)reply(Make::release(two));
    const core::Reply put = reply(core::Restore{record, false}).reply;
    ASSERT_EQ(put.status, Status::restored);
    ASSERT_EQ(put.record->holds.size(), 1u);
    EXPECT_EQ(put.record->holds[0].token, two.token);
    (void)reply(Make::release(two));
    (void)reply(core::Undo{two.key, two.request, two.attempt, two.node, seconds(9)});
    EXPECT_EQ(status(core::Restore{record, false}), Status::not_held);
    EXPECT_EQ(text_at(lock_name()), "");
}

TEST_F(RedisLockScripts, names_of_any_bytes_come_back_as_they_were) {
    std::string bytes;
    for (int i = 0; i < 64; ++i) bytes += static_cast<char>(i * 37 + 5);
    bytes += std::string("\0\xff\xc3(\"\\/\x7f:%{}\r\n", 14);
    core::Acquire wish = make.acquire(bytes, {ResourceName("r:s"), LockId(bytes)});
    wish.request = RequestId(bytes);
    wish.token = Token(bytes);
    wish.node = NodeName("node-\xfe");
    wish.client = ClientName(bytes);
    core::Reply reply = this->reply(wish).reply;
    ASSERT_EQ(reply.status, Status::granted);
    EXPECT_EQ(reply.record->owner.view(), bytes);
    EXPECT_EQ(reply.record->client.view(), bytes);
    EXPECT_EQ(reply.record->holds[0].token.view(), bytes);
    EXPECT_EQ(reply.record->holds[0].request.view(), bytes);
    core::Acquire again = make.acquire(bytes, wish.key);
    reply = this->reply(again).reply;
    ASSERT_EQ(reply.status, Status::reentered);
    EXPECT_EQ(reply.record->holds[0].token.view(), bytes);
    EXPECT_EQ(reply.record->owner.view(), bytes);
    const core::GrantRecord record = *reply.record;
    EXPECT_EQ(status(Make::release(wish)), Status::hold_removed);
    (void)this->reply(Make::release(again));
    reply = this->reply(core::Restore{record, false}).reply;
    ASSERT_EQ(reply.status, Status::restored);
    EXPECT_EQ(reply.record->holds[0].token.view(), bytes);
    EXPECT_EQ(reply.record->client, record.client);
    EXPECT_EQ(status(core::Cancel{wish.key, wish.request, wish.node, seconds(9)}), Status::ended);
}

TEST_F(RedisLockScripts, numbers_stay_exact_up_to_their_limits) {
    command({"HSET", keys_.marker(), "counter", "4294967293"});
    core::Acquire wish = make.acquire();
    wish.attempt = {(std::uint64_t{1} << 53) - 1, (std::uint64_t{1} << 53) - 1};
    wish.renew_max = 0xffffffff;
    const core::Reply reply = this->reply(wish).reply;
    EXPECT_EQ(reply.record->fence, make_fence(epoch, 0xfffffffe));
    EXPECT_EQ(reply.record->holds[0].attempts[0], wish.attempt);
    EXPECT_EQ(reply.record->renew_max, 0xffffffff);
    core::Renew renew = Make::renew(wish);
    EXPECT_EQ(this->reply(renew).reply.record->fence, make_fence(epoch, 0xfffffffe));
    EXPECT_EQ(status(core::Force{wish.key, wish.node, make_fence(epoch, 0xfffffffe)}),
              Status::ended);
    EXPECT_EQ(this->reply(make.acquire()).reply.record->fence, make_fence(epoch, 0xffffffff));
    EXPECT_EQ(refusal(make.acquire("", {ResourceName("r"), LockId("1")})).failure,
              core::Failure::stale)
        << "a used-up counter asks for an epoch";
}

}  // namespace
}  // namespace latchd::testing
