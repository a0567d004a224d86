// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "replies.hpp"

#include "record_json.hpp"
#include "values.hpp"

#include <gtest/gtest.h>

namespace latchd::store::redis {
namespace {

using core::Failure;
using core::Status;
using resp::Value;
using std::chrono::milliseconds;
using Type = Value::Type;

const LockKey lock_key{ResourceName("r"), LockId("1")};

constexpr std::string_view lock_text =
    R"({"token":"t1","fence":764504178688001,"since_ms":4000,"lease_ms":5500,"delay_ms":2000,)"
    R"("owner":"o","holds":[)"
    R"({"token":"t1","request":"q1","attempts":["9007199254740991.1","2.3"],"adopt_ms":7000},)"
    R"({"token":"t2","request":"q2","attempts":["2.4"],"adopt_ms":5000}],"version":3,)"
    R"("ttl_ms":5000,"hard_ms":8000,"renewals":1,"renew_max":7,)"
    R"("node":"n","client":"c","epoch":178000,"nonce":"x"})";

Refusal refusal_of(const Answer& answer) {
    const auto* refusal = std::get_if<Refusal>(&answer);
    return refusal != nullptr ? *refusal : Refusal{Failure::unsent, Cause::other, "answered", 0};
}

TEST(RedisReplies, turn_a_record_s_instants_into_what_is_left) {
    const Answer answer =
        read_operation(lock_key, list({bulk("renewed"), bulk("10000"), bulk(lock_text)}));
    const Answered& answered = std::get<Answered>(answer);
    EXPECT_EQ(answered.server_ms, 10'000);
    EXPECT_EQ(answered.reply.reply.status, Status::renewed);
    core::GrantRecord expected;
    expected.key = lock_key;
    expected.holds = {
        {Token("t1"), RequestId("q1"), {{9007199254740991, 1}, {2, 3}}, milliseconds(1'000)},
        {Token("t2"), RequestId("q2"), {{2, 4}}, milliseconds(0)}};
    expected.owner = OwnerName("o");
    expected.fence = 764504178688001;
    expected.version = 3;
    expected.left = -milliseconds(500);  // in its DELAY
    expected.ttl = milliseconds(5'000);
    expected.hard_left = milliseconds(2'000);
    expected.renewals = 1;
    expected.renew_max = 7;
    expected.delay = milliseconds(2'000);
    expected.age = milliseconds(6'000);
    expected.node = NodeName("n");
    expected.client = ClientName("c");
    EXPECT_EQ(answered.reply.reply.record, expected);
}

TEST(RedisReplies, have_a_second_part_after_a_hand_over) {
    const Answer answer = read_operation(lock_key,
                                         list({bulk("released"),
                                               number(10'000),
                                               bulk(lock_text),
                                               bulk(""),
                                               bulk(""),
                                               bulk("held"),
                                               bulk(""),
                                               number(1'500),
                                               number(77)}));
    const core::OperationReply& reply = std::get<Answered>(answer).reply;
    EXPECT_EQ(reply.reply.status, Status::released);
    ASSERT_TRUE(reply.then);
    EXPECT_EQ(reply.then->status, Status::held);
    EXPECT_EQ(reply.then->left, milliseconds(1'500));
    EXPECT_EQ(reply.then->fence_seen, 77u);
    EXPECT_EQ(counter_shown(reply, 178'000), 1u);
    EXPECT_EQ(counter_shown(reply, 1), 0u);
}

core::Acquire some_wish() {
    core::Acquire wish;
    wish.key = lock_key;
    wish.request = RequestId("q");
    wish.attempt = {7, 3};
    wish.token = Token("t");
    wish.node = NodeName("n");
    wish.ttl = milliseconds(9'000);
    wish.hold_max = milliseconds(4'000);
    wish.retry_window = milliseconds(15'000);
    return wish;
}

TEST(RedisReplies, in_short_say_of_a_grant_what_its_value_says) {
    const core::Acquire wish = some_wish();
    const Answer answer = read_operation(wish, bulk("granted 10000 764504178688001"));
    const Answered& answered = std::get<Answered>(answer);
    EXPECT_EQ(answered.server_ms, 10'000);
    EXPECT_EQ(answered.reply.reply.status, Status::granted);
    const std::string value = grant_head(wish.token) + "764504178688001,\"since_ms\":10000" +
                              grant_body(wish, record_tail(178'000, "x"));
    EXPECT_EQ(answered.reply.reply.record, parse_record(lock_key, value, 10'000));
}

TEST(RedisReplies, in_short_refuse_release_and_hand_over) {
    const Answer refused = read_operation(some_wish(), bulk("held 10000 1500 77"));
    EXPECT_EQ(std::get<Answered>(refused).reply.reply.status, Status::held);
    EXPECT_EQ(std::get<Answered>(refused).reply.reply.left, milliseconds(1'500));
    EXPECT_EQ(std::get<Answered>(refused).reply.reply.fence_seen, 77u);

    core::Release release{lock_key, Token("t1"), NodeName("n"), std::nullopt};
    const std::string ended(lock_text);
    const Answer released = read_operation(release, bulk("released 10000 " + ended));
    EXPECT_EQ(std::get<Answered>(released).reply.reply.status, Status::released);
    EXPECT_EQ(std::get<Answered>(released).reply.reply.record,
              parse_record(lock_key, lock_text, 10'000));
    release.then = some_wish();
    const Answer handed = read_operation(release, bulk("handed 10000 764504178688002 " + ended));
    const core::OperationReply& reply = std::get<Answered>(handed).reply;
    EXPECT_EQ(reply.reply.status, Status::released);
    ASSERT_TRUE(reply.then && reply.then->record);
    EXPECT_EQ(reply.then->record->fence, 764504178688002u);
    EXPECT_EQ(reply.then->record->left, milliseconds(4'000));
}

TEST(RedisReplies, in_short_that_are_cut_or_of_another_operation_are_in_doubt) {
    const core::Release release{lock_key, Token("t1"), NodeName("n"), std::nullopt};
    for (const char* text : {"",
                             "granted",
                             "granted 10000",
                             "granted x 1",
                             "held 10000 1500",
                             "released 10000 {}",
                             "handed 10000 1 {}"}) {
        for (const core::Operation& operation :
             {core::Operation(some_wish()), core::Operation(release)}) {
            EXPECT_EQ(refusal_of(read_operation(operation, bulk(text))).failure, Failure::in_doubt)
                << text;
        }
    }
    EXPECT_EQ(refusal_of(read_operation(release, bulk("granted 1 2"))).failure, Failure::in_doubt);
    EXPECT_EQ(refusal_of(read_operation(core::Inspect{lock_key}, bulk("granted 1 2"))).failure,
              Failure::in_doubt);
}

TEST(RedisReplies, that_are_cut_anywhere_or_strange_are_in_doubt) {
    for (std::size_t size = 0; size < lock_text.size(); ++size) {
        EXPECT_FALSE(parse_record(lock_key, lock_text.substr(0, size), 0)) << size;
    }
    const std::vector<Value> strange = {
        {},
        number(1),
        bulk("granted"),
        list({}),
        list({bulk("granted")}),
        list({bulk("granted"), bulk("10000x"), bulk(lock_text)}),
        list({bulk("unheard of"), number(1)}),
        list({bulk("STALE"), number(1)}),
        list({number(1), number(1)}),
        list({bulk("granted"), number(1), bulk("{}")}),
        list({bulk("released"), number(1), bulk(""), bulk(""), bulk(""), bulk("unheard of")})};
    for (const Value& value : strange) {
        EXPECT_EQ(refusal_of(read_operation(lock_key, value)).failure, Failure::in_doubt);
    }
}

TEST(RedisReplies, refuse_a_record_with_a_field_missing_or_of_another_type) {
    const std::string whole(lock_text);
    for (const char* field : {"\"fence\"",
                              "\"owner\"",
                              "\"holds\"",
                              "\"version\"",
                              "\"ttl_ms\"",
                              "\"lease_ms\"",
                              "\"hard_ms\"",
                              "\"renewals\"",
                              "\"renew_max\"",
                              "\"delay_ms\"",
                              "\"since_ms\"",
                              "\"node\"",
                              "\"client\"",
                              "\"attempts\"",
                              "\"adopt_ms\"",
                              "\"request\""}) {
        std::string text = whole;
        text.replace(text.find(field) + 1, 1, "_");
        EXPECT_FALSE(parse_record(lock_key, text, 0)) << field;
        text = whole;
        text.insert(text.find(field) + std::string_view(field).size() + 1, "null,\"x\":");
        EXPECT_FALSE(parse_record(lock_key, text, 0)) << field;
    }
    for (const char* attempt : {"", "1", "1.", ".1", "1.2.3", "-1.2", "1.2 ", "x.1"}) {
        std::string text = whole;
        text.replace(text.find("2.4"), 3, attempt);
        EXPECT_FALSE(parse_record(lock_key, text, 0)) << attempt;
    }
}

TEST(RedisReplies, tell_stale_and_clock_apart) {
    Refusal refusal = refusal_of(
        read_operation(lock_key, list({bulk("STALE"), bulk("4"), bulk("n"), bulk("9")})));
    EXPECT_EQ(refusal.failure, Failure::stale);
    EXPECT_EQ(refusal.cause, Cause::marker);
    EXPECT_EQ(refusal.text, "STALE: the marker has epoch 4, nonce n, counter 9");
    refusal = refusal_of(read_operation(lock_key, list({bulk("CLOCK"), number(12'345)})));
    EXPECT_EQ(refusal.failure, Failure::clock);
    EXPECT_EQ(refusal.server_ms, 12'345);
}

TEST(RedisReplies, to_many_are_each_one_s_answer_or_a_refusal_of_all) {
    core::Acquire wish;
    wish.key = lock_key;
    const core::Operation lock = wish;
    const core::Operation unlock = core::Release{lock_key, Token("t1"), NodeName("n"), {}};
    const std::vector<const core::Operation*> both = {&lock, &unlock};
    const Value released = bulk("released 10000 " + std::string(record_text));
    const auto read = [&](Value value) { return read_many(both, value); };
    const auto refused = [&](Value value) {
        const auto answers = read(std::move(value));
        const auto* const refusal = std::get_if<Refusal>(&answers);
        return refusal != nullptr ? refusal->cause : Cause::unwell;
    };

    auto answers = std::get<0>(read(list({bulk("granted 10000 764504178688001"), released})));
    ASSERT_EQ(answers.size(), 2u);
    EXPECT_EQ(std::get<Answered>(answers[0]).reply.reply.status, Status::granted);
    EXPECT_EQ(std::get<Answered>(answers[1]).reply.reply.status, Status::released);

    answers = std::get<0>(read(list({{Type::error, 0, "OOM command not allowed", {}}, released})));
    EXPECT_EQ(refusal_of(answers[0]).failure, Failure::refused);
    EXPECT_EQ(std::get<Answered>(answers[1]).reply.reply.status, Status::released);

    EXPECT_EQ(refused(list({bulk("CLOCK"), bulk("10000")})), Cause::clock);
    EXPECT_EQ(refused(list({bulk("STALE"), bulk("1"), bulk("n"), bulk("0")})), Cause::marker);
    EXPECT_EQ(refused({Type::error, 0, "NOSCRIPT No matching script", {}}), Cause::script_missing);
    EXPECT_EQ(refused(list({released})), Cause::other) << "in doubt";
    EXPECT_EQ(refused(list({})), Cause::other);
    EXPECT_EQ(refused(bulk("granted 10000 764504178688001")), Cause::other);
}

TEST(RedisErrors, are_classified_by_their_first_word) {
    struct Case {
        std::string_view error;
        Failure failure;
        Cause cause;
    };
    const std::string wrapped = "ERR Error running script (call to f_0123): @user_script:9: ";
    const std::string oom = wrapped + "@user_script: 9: -OOM command not allowed";
    const std::string role = wrapped + "@user_script: 9: -READONLY You can't write";
    const std::string type = wrapped + "WRONGTYPE Operation against a key";
    const std::string lua = wrapped + "attempt to index a nil value";
    const Case cases[] = {
        {"NOSCRIPT No matching script.", Failure::stale, Cause::script_missing},
        {"READONLY You can't write against a read only replica. script: 1, on @user_script:3.",
         Failure::refused,
         Cause::role},
        {"MASTERDOWN Link with MASTER is down", Failure::refused, Cause::role},
        {"LOADING Redis is loading the dataset in memory", Failure::refused, Cause::loading},
        {"OOM command not allowed when used memory > 'maxmemory'.",
         Failure::refused,
         Cause::unwell},
        {"MISCONF Redis is configured to save RDB snapshots", Failure::refused, Cause::unwell},
        {"NOREPLICAS Not enough good replicas to write.", Failure::refused, Cause::unwell},
        {"BUSY Redis is busy running a script.", Failure::refused, Cause::unwell},
        {"CLUSTERDOWN The cluster is down", Failure::refused, Cause::unwell},
        {"ERR max number of clients reached", Failure::refused, Cause::unwell},
        {"NOAUTH Authentication required.", Failure::refused, Cause::access},
        {"WRONGPASS invalid username-password pair", Failure::refused, Cause::access},
        {"NOPERM this user has no permissions", Failure::refused, Cause::access},
        {"ERR unknown command `EVALSHA`", Failure::refused, Cause::access},
        {"WRONGTYPE Operation against a key holding the wrong kind of value",
         Failure::refused,
         Cause::foreign},
        {"ERR The user executing the script can't run this command or subcommand",
         Failure::in_doubt,
         Cause::access},
        {oom, Failure::refused, Cause::unwell},
        {role, Failure::refused, Cause::role},
        {type, Failure::refused, Cause::foreign},
        {lua, Failure::in_doubt, Cause::other},
        {"ERR user_script:12: attempt to compare", Failure::in_doubt, Cause::other},
        {"READONLYX nothing that we know", Failure::in_doubt, Cause::other},
        {"", Failure::in_doubt, Cause::other}};
    for (const Case& one : cases) {
        const Refusal refusal = read_error(one.error);
        EXPECT_EQ(refusal.failure, one.failure) << one.error;
        EXPECT_EQ(refusal.cause, one.cause) << one.error;
        EXPECT_EQ(refusal.text, one.error);
    }
}

TEST(RedisMessages, are_read_and_nothing_else_is) {
    const Keys keys;
    using Kind = core::NodeMessage::Kind;
    auto message = read_message(keys, "released 764504178688001 lock:r:1");
    ASSERT_TRUE(message);
    EXPECT_EQ(message->kind, Kind::released);
    EXPECT_EQ(message->key, lock_key);
    EXPECT_EQ(message->fence, 764504178688001u);
    message = read_message(keys, std::string_view("cancelled 0 lock:r:1 a b\0c", 26));
    ASSERT_TRUE(message);
    EXPECT_EQ(message->kind, Kind::cancelled);
    EXPECT_EQ(message->request.view(), std::string_view("a b\0c", 5));
    message = read_message(keys, "moved 5 lock:r:1 7 =a =b");
    ASSERT_TRUE(message);
    EXPECT_EQ(message->version, 7u);
    EXPECT_TRUE(message->keep);
    EXPECT_EQ(message->hold, "a =b");
    message = read_message(keys, "moved 5 lock:r:1 7 -");
    ASSERT_TRUE(message);
    EXPECT_FALSE(message->keep);
    EXPECT_EQ(read_message(keys, "forced 5 lock:r:1")->kind, Kind::forced);
    for (const char* payload : {"",
                                "released",
                                "released 1",
                                "released x lock:r:1",
                                "released 1 lock:r",
                                "released 1 lock:r:1 more",
                                "freed 1 lock:r:1",
                                "moved 1 lock:r:1",
                                "moved 1 lock:r:1 1",
                                "moved 1 lock:r:1 x -",
                                "moved 1 lock:r:1 7 2",
                                "released -1 lock:r:1"}) {
        EXPECT_FALSE(read_message(keys, payload)) << payload;
    }
}

TEST(RedisPages, are_read_or_refused) {
    const auto page = read_scan(list({bulk("17"), list({bulk("lock:r:1"), bulk("lock:r:2")})}));
    EXPECT_EQ(std::get<ScanPage>(page).cursor, 17u);
    EXPECT_EQ(std::get<ScanPage>(page).redis_keys.size(), 2u);
    for (const Value& value : {list({}),
                               list({bulk("x"), list({})}),
                               list({bulk("1"), bulk("")}),
                               list({bulk("1"), list({number(1)})}),
                               bulk("")}) {
        EXPECT_TRUE(std::holds_alternative<Refusal>(read_scan(value)));
    }
    const std::vector<std::string> names = {"lock:r:1", "lock:r:2", "lock:s:3", "strange"};
    const Answer rows = read_list(Keys(),
                                  names,
                                  "r:*",
                                  list({bulk("listed"),
                                        number(10'000),
                                        bulk(lock_text),
                                        Value{},
                                        bulk(lock_text),
                                        bulk(lock_text)}));
    ASSERT_EQ(std::get<Answered>(rows).reply.rows.size(), 1u);
    EXPECT_EQ(std::get<Answered>(rows).reply.rows[0].key, lock_key);
    EXPECT_TRUE(
        std::get<Answered>(read_list(Keys(),
                                     std::span(names).first(1),
                                     "",
                                     list({bulk("listed"), number(11'500), bulk(lock_text)})))
            .reply.rows.empty())
        << "its DELAY is over";
    EXPECT_EQ(refusal_of(read_list(Keys(), names, "", list({bulk("listed"), number(1)}))).failure,
              Failure::in_doubt);
}

}  // namespace
}  // namespace latchd::store::redis
