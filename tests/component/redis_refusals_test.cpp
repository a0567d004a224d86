// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_scripts_fixture.hpp"

#include <latchd/resp/command_writer.hpp>

#include <algorithm>
#include <array>

// When the scripts refuse, what they leave alone, and what a server in trouble makes of them.
namespace latchd::testing {
namespace {

using core::Failure;
using core::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;
using store::redis::Answer;
using store::redis::Answered;
using store::redis::Cause;
using store::redis::Refusal;

class RedisRefusals : public RedisScripts {
protected:
    // One of each operation that concerns the lock, held by `holder`.
    std::vector<core::Operation> all_operations(const core::Acquire& holder) {
        core::Release with_waiter = Make::release(holder);
        with_waiter.then = make.acquire();
        core::GrantRecord record;
        record.key = holder.key;
        record.holds = {{Token("kept"), RequestId("kept"), {{1, 1}}, {}}};
        record.left = seconds(5);
        return {make.acquire(),
                Make::release(holder),
                with_waiter,
                Make::renew(holder),
                Make::undo(holder),
                core::Cancel{holder.key, holder.request, holder.node, seconds(9)},
                core::Force{holder.key, holder.node, std::nullopt},
                core::Inspect{holder.key},
                core::Restore{record, false}};
    }

    // Everything in the database, with times to live left out.
    std::vector<std::string> everything() {
        std::vector<std::string> all;
        for (const resp::Value& key : command({"KEYS", "*"}).elements) {
            all.push_back(key.string + " " + command({"DUMP", key.string}).string);
        }
        std::sort(all.begin(), all.end());
        return all;
    }

    // Together, as one command.
    std::variant<std::vector<Answer>, Refusal> many(
        const std::vector<core::Operation>& operations) {
        std::vector<const core::Operation*> all;
        for (const core::Operation& operation : operations) all.push_back(&operation);
        std::string out;
        append_many(out, {keys_, scripts_, guard_}, all);
        return read_many(all, client_->round_trip(out));
    }
    // What each of them was answered: its status, or the cause of its refusal.
    struct Said {
        std::optional<Status> status;
        std::optional<Cause> cause;
        bool operator==(const Said&) const = default;
    };
    std::vector<Said> each_of(const std::vector<core::Operation>& operations) {
        std::vector<Said> all;
        const auto answers = std::get<std::vector<Answer>>(many(operations));
        for (const Answer& answer : answers) {
            const auto* const refusal = std::get_if<Refusal>(&answer);
            all.push_back(refusal != nullptr
                              ? Said{{}, refusal->cause}
                              : Said{std::get<Answered>(answer).reply.reply.status, {}});
        }
        return all;
    }

    Make make;
};

TEST_F(RedisRefusals, every_script_refuses_under_another_marker) {
    const core::Acquire holder = make.acquire();
    (void)reply(holder);
    const std::array<std::array<std::string, 2>, 3> changes = {
        {{"epoch", std::to_string(epoch + 1)}, {"nonce", "another"}, {"counter", "junk"}}};
    for (const auto& [field, value] : changes) {
        const std::string was = command({"HGET", keys_.marker(), field}).string;
        command({"HSET", keys_.marker(), field, value});
        const auto before = everything();
        for (const core::Operation& operation : all_operations(holder)) {
            const store::redis::Refusal refusal = this->refusal(operation);
            EXPECT_EQ(refusal.failure, Failure::stale) << field << " " << operation.index();
            EXPECT_EQ(refusal.cause, Cause::marker);
        }
        EXPECT_EQ(everything(), before);
        command({"HSET", keys_.marker(), field, was});
    }
    command({"DEL", keys_.marker()});
    for (const core::Operation& operation : all_operations(holder)) {
        EXPECT_EQ(refusal(operation).text, "STALE: there is no marker");
    }
}

TEST_F(RedisRefusals, a_counter_below_the_one_seen_refuses) {
    const core::Acquire holder = make.acquire();
    guard_.counter_seen = store::redis::counter_shown(reply(holder), epoch);
    EXPECT_EQ(guard_.counter_seen, 1u);
    EXPECT_EQ(status(core::Inspect{holder.key}), Status::found);
    guard_.counter_seen = 2;
    for (const core::Operation& operation : all_operations(holder)) {
        EXPECT_EQ(refusal(operation).failure, Failure::stale) << operation.index();
    }
}

TEST_F(RedisRefusals, what_may_grant_or_renew_refuses_under_another_clock) {
    const core::Acquire holder = make.acquire();
    const std::int64_t now = answered(holder).server_ms;
    guard_.window = milliseconds(1'000);
    for (const std::int64_t off : {-60'000, 60'000}) {
        guard_.expected_ms = now + off;
        const auto before = everything();
        std::vector<core::Operation> checked = all_operations(holder);
        for (const std::size_t index : {0, 2, 3, 8}) {
            const store::redis::Refusal refusal = this->refusal(checked[index]);
            EXPECT_EQ(refusal.failure, Failure::clock) << index;
            EXPECT_NEAR(double(refusal.server_ms), double(now), 10'000);
        }
        EXPECT_EQ(everything(), before);
        EXPECT_EQ(status(core::Inspect{holder.key}), Status::found);
    }
    EXPECT_EQ(status(Make::release(holder)), Status::released) << "ends locks under any clock";
    guard_.window = seconds(60);
    guard_.expected_ms = now;
    EXPECT_EQ(status(make.acquire()), Status::granted);
}

TEST_F(RedisRefusals, the_clock_window_is_exact_at_both_ends) {
    // Inside by one second less than the window, outside by one second more: the server's clock
    // moves on by far less than that between both readings.
    const std::int64_t now = answered(core::Inspect{settle_1001}).server_ms;
    guard_.window = seconds(100);
    guard_.expected_ms = now - 99'000;
    EXPECT_EQ(status(make.acquire()), Status::granted);
    guard_.expected_ms = now + 101'000;
    EXPECT_EQ(refusal(make.acquire()).cause, Cause::clock);
}

TEST_F(RedisRefusals, another_epoch_s_scripts_are_not_known) {
    scripts_ = store::redis::Scripts(epoch, "a nonce that was never loaded");
    const store::redis::Refusal refusal = this->refusal(make.acquire());
    EXPECT_EQ(refusal.failure, Failure::stale);
    EXPECT_EQ(refusal.cause, Cause::script_missing);
}

TEST_F(RedisRefusals, values_of_others_are_busy_and_stay) {
    const core::Acquire holder = make.acquire("", {ResourceName("r"), LockId("foreign")});
    const std::string name = lock_name(holder.key);
    const std::vector<std::vector<std::string_view>> makers = {
        {"SET", name, "a token of another library"},
        {"SET", name, "{\"token\":\"looks like ours\"}"},
        {"SET", name, "{\"token\":"},
        {"SET", name, ""},
        {"HSET", name, "field", "value"},
        {"RPUSH", name, "element"}};
    for (const auto& maker : makers) {
        command({"DEL", name});
        std::string out;
        resp::append_command(out, maker);
        ASSERT_FALSE(client_->round_trip(out).is(resp::Value::Type::error));
        const std::string before = command({"DUMP", name}).string;
        EXPECT_EQ(status(holder), Status::foreign_value) << maker.back();
        EXPECT_EQ(status(Make::release(holder)), Status::foreign_value);
        core::Release with_waiter = Make::release(holder);
        with_waiter.then = holder;
        EXPECT_EQ(reply(with_waiter).then->status, Status::foreign_value);
        EXPECT_EQ(status(Make::renew(holder)), Status::foreign_value);
        EXPECT_EQ(status(Make::undo(holder)), Status::nothing);
        EXPECT_EQ(status(core::Cancel{holder.key, RequestId("other"), holder.node, seconds(1)}),
                  Status::nothing);
        EXPECT_EQ(status(core::Force{holder.key, holder.node, std::nullopt}),
                  Status::foreign_value);
        EXPECT_EQ(status(core::Inspect{holder.key}), Status::foreign_value);
        core::GrantRecord record;
        record.key = holder.key;
        record.holds = {{holder.token, holder.request, {holder.attempt}, {}}};
        record.left = seconds(5);
        EXPECT_EQ(status(core::Restore{record, false}), Status::foreign_value);
        EXPECT_EQ(command({"DUMP", name}).string, before) << maker.back();
    }
}

TEST_F(RedisRefusals, a_record_of_another_epoch_or_nonce_is_void_and_overwritten_by_a_grant) {
    const core::Acquire holder = make.acquire();
    for (const auto& [field, value] :
         {std::pair{"\"nonce\":\"", "x"}, std::pair{"\"epoch\":", "1"}}) {
        (void)reply(holder);
        std::string text = text_at(lock_name());
        text.insert(text.find(field) + std::string_view(field).size(), value);
        command({"SET", lock_name(), text, "PX", "60000"});
        EXPECT_EQ(status(core::Inspect{holder.key}), Status::not_held);
        EXPECT_EQ(status(Make::release(holder)), Status::not_held);
        EXPECT_EQ(status(Make::renew(holder)), Status::not_held);
        EXPECT_EQ(text_at(lock_name()), text) << "only a grant touches it";
        const core::Acquire next = make.acquire();
        EXPECT_EQ(status(next), Status::granted);
        EXPECT_EQ(status(Make::release(next)), Status::released);
    }
}

TEST_F(RedisRefusals, full_memory_refuses_before_anything_is_written) {
    const core::Acquire holder = make.acquire("owner");
    (void)reply(holder);
    const auto before = everything();
    ASSERT_EQ(command({"CONFIG", "SET", "maxmemory", "1"}).string, "OK");
    core::Undo with_tombstone = Make::undo(holder);
    with_tombstone.tombstone = seconds(9);
    core::GrantRecord record;
    record.key = {ResourceName("r"), LockId("free")};
    record.holds = {{Token("kept"), RequestId("kept"), {{1, 1}}, {}}};
    record.left = seconds(5);
    for (const core::Operation& operation : std::initializer_list<core::Operation>{
             make.acquire("", {ResourceName("r"), LockId("free")}),
             make.acquire("owner"),
             Make::renew(holder),
             with_tombstone,
             core::Restore{record, false},
             core::Cancel{holder.key, holder.request, holder.node, seconds(9)}}) {
        const store::redis::Refusal refusal = this->refusal(operation);
        EXPECT_EQ(refusal.failure, Failure::refused) << operation.index() << refusal.text;
        EXPECT_EQ(refusal.cause, Cause::unwell) << refusal.text;
    }
    std::string out;
    store::redis::append_probe(out, {keys_, scripts_, guard_});
    EXPECT_EQ(
        std::get<store::redis::Refusal>(store::redis::read_probe(client_->round_trip(out))).cause,
        Cause::unwell)
        << "the probe is a write: PING would succeed";
    EXPECT_EQ(everything(), before);

    core::Release hand_over = Make::release(holder);
    hand_over.then = make.acquire();
    const core::OperationReply reply = this->reply(hand_over);
    EXPECT_EQ(reply.reply.status, Status::released) << "what ends locks works";
    EXPECT_EQ(reply.then->status, Status::granted);
    EXPECT_EQ(status(Make::release(*hand_over.then)), Status::released);
    command({"CONFIG", "SET", "maxmemory", "0"});
}

TEST_F(RedisRefusals, a_replica_refuses_before_anything_is_written) {
    const core::Acquire holder = make.acquire();
    (void)reply(holder);
    const auto before = everything();
    ASSERT_EQ(command({"REPLICAOF", "127.0.0.1", "1"}).string, "OK");
    std::vector<core::Operation> operations = all_operations(holder);
    for (std::size_t i : {1, 2, 3, 4, 5, 6}) {
        const store::redis::Refusal refusal = this->refusal(operations[i]);
        EXPECT_EQ(refusal.failure, Failure::refused) << refusal.text;
        EXPECT_EQ(refusal.cause, Cause::role) << refusal.text;
    }
    EXPECT_EQ(everything(), before);
    ASSERT_EQ(command({"REPLICAOF", "NO", "ONE"}).string, "OK");
}

TEST_F(RedisRefusals, a_server_without_enough_replicas_refuses) {
    ASSERT_EQ(command({"CONFIG", "SET", "min-replicas-to-write", "1"}).string, "OK");
    EXPECT_EQ(refusal(make.acquire()).cause, Cause::unwell);
    ASSERT_EQ(command({"CONFIG", "SET", "min-replicas-to-write", "0"}).string, "OK");
}

TEST_F(RedisRefusals, a_user_who_may_not_publish_still_gets_locks) {
    command(
        {"ACL", "SETUSER", "quiet", "on", "nopass", "~*", "+@all", "-publish", "resetchannels"});
    command({"AUTH", "quiet", "x"});
    const core::Acquire holder = make.acquire();
    (void)reply(holder);
    core::Release release = Make::release(holder);
    release.node = NodeName("node-b");
    EXPECT_EQ(status(release), Status::released);
    (void)reply(make.acquire());
    EXPECT_EQ(
        status(core::Cancel{settle_1001, RequestId("request-2"), NodeName("node-b"), seconds(9)}),
        Status::ended);
}

TEST_F(RedisRefusals, a_user_who_may_not_write_is_refused_without_a_trace) {
    const auto before = everything();
    command({"ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@all", "-hincrby", "-set"});
    command({"AUTH", "reader", "x"});
    const store::redis::Refusal refusal = this->refusal(make.acquire());
    EXPECT_EQ(refusal.cause, Cause::access) << refusal.text;
    command({"AUTH", "default", ""});
    EXPECT_EQ(everything(), before);
}

// ---- many in one command -----------------------------------------------------------------------

LockKey lock_named(const char* id) { return {ResourceName("r"), LockId(id)}; }

TEST_F(RedisRefusals, many_are_refused_together_by_marker_and_clock) {
    const core::Acquire holder = make.acquire();
    (void)reply(holder);
    const std::int64_t now = answered(core::Inspect{holder.key}).server_ms;
    const auto before = everything();
    const std::vector<core::Operation> both = {Make::release(holder), make.acquire()};
    guard_.window = seconds(1);
    guard_.expected_ms = now + 60'000;
    EXPECT_EQ(std::get<Refusal>(many(both)).cause, Cause::clock);
    EXPECT_EQ(everything(), before);
    EXPECT_EQ(each_of({Make::release(holder)}), (std::vector<Said>{{Status::released, {}}}))
        << "ends locks under any clock";
    guard_.expected_ms = 0;
    command({"HSET", keys_.marker(), "nonce", "another"});
    EXPECT_EQ(std::get<Refusal>(many(both)).cause, Cause::marker);
    scripts_ = store::redis::Scripts(epoch, "a nonce that was never loaded");
    EXPECT_EQ(std::get<Refusal>(many(both)).cause, Cause::script_missing);
}

TEST_F(RedisRefusals, of_many_only_those_are_refused_that_would_be_alone) {
    const core::Acquire holder = make.acquire();
    (void)reply(holder);
    command({"RPUSH", lock_name(lock_named("foreign")), "element"});
    const auto acquire = [this](const char* id) { return make.acquire("", lock_named(id)); };
    const core::Acquire first = acquire("first");
    EXPECT_EQ(each_of({acquire("foreign"), first, make.acquire(), Make::release(holder)}),
              (std::vector<Said>{{Status::foreign_value, {}},
                                 {Status::granted, {}},
                                 {Status::held, {}},
                                 {Status::released, {}}}));

    ASSERT_EQ(command({"CONFIG", "SET", "maxmemory", "1"}).string, "OK");
    const auto before = everything();
    EXPECT_EQ(each_of({acquire("second"), acquire("third")}),
              (std::vector<Said>{{{}, Cause::unwell}, {{}, Cause::unwell}}));
    EXPECT_EQ(everything(), before);
    // What follows a write is not refused, as in a hand-over.
    EXPECT_EQ(
        each_of({acquire("second"), Make::release(first), acquire("third")}),
        (std::vector<Said>{{{}, Cause::unwell}, {Status::released, {}}, {Status::granted, {}}}));
    EXPECT_EQ(command({"EXISTS", lock_name(lock_named("second"))}).integer, 0);
    command({"CONFIG", "SET", "maxmemory", "0"});
}

TEST_F(RedisRefusals, of_many_that_may_not_be_carried_out_none_counts_as_refused) {
    const core::Acquire holder = make.acquire();
    (void)reply(holder);
    command({"ACL", "SETUSER", "default", "-set"});
    const core::Acquire other = make.acquire("", lock_named("other"));
    const auto said = each_of({other, Make::release(holder), other});
    command({"ACL", "SETUSER", "default", "+set"});
    EXPECT_EQ(
        said,
        (std::vector<Said>{{{}, Cause::access}, {Status::released, {}}, {{}, Cause::access}}));
}

}  // namespace
}  // namespace latchd::testing
