// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <batch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace latchd::testing {
namespace {

using namespace store::mysql;
using core::Failure;
using std::chrono::seconds;

core::Acquire wish(const std::string& id) {
    core::Acquire wish;
    wish.key = {ResourceName("r"), LockId(id)};
    wish.request = RequestId("q");
    wish.token = Token("t");
    wish.attempt = {1, 1};
    wish.node = NodeName("a");
    wish.ttl = seconds(30);
    return wish;
}

Guard guard() {
    Guard guard;
    guard.cluster = "c";
    guard.since = 7;
    guard.nonce = core::authority::Nonce("n");
    return guard;
}

void put(Rows& rows, const std::string& cell) { rows.add(cell.data(), cell.size()); }

Rows placed(bool is_placed = true, bool is_writable = true) {
    Rows rows(4);
    put(rows, is_placed ? "1" : "0");
    put(rows, "1800000000000000");
    put(rows, is_writable ? "0" : "1");
    put(rows, "0");
    return rows;
}

// As if so many statements had succeeded and the next one failed.
Answer failed(unsigned code, std::size_t after, ErrorClass kind) {
    Answer answer;
    answer.sets.resize(after);
    answer.error = Error{code, "", "text", kind, false};
    return answer;
}
Answer failed(unsigned code, std::size_t after = 1) { return failed(code, after, class_of(code)); }

class MysqlBatch : public ::testing::Test {
protected:
    Batch batch(Strategy strategy = Strategy::upsert) {
        Batch batch(strategy, {wish("1"), wish("2")}, stamps_);
        (void)batch.text(guard());
        return batch;
    }
    static void expect_all(const Batch& batch, Failure failure) {
        ASSERT_TRUE(batch.is_done());
        for (const Batch::Result& result : batch.results()) {
            EXPECT_FALSE(result.reply);
            EXPECT_EQ(result.failure, failure) << result.text;
        }
    }
    Stamps stamps_{1};
};

// safety.md 4.3, row by row: what each error means for the operations that met it.
TEST_F(MysqlBatch, busy_is_a_no_and_says_so) {
    for (const Strategy strategy :
         {Strategy::upsert, Strategy::optimistic, Strategy::pessimistic}) {
        Batch one = batch(strategy);
        one.answered(failed(1205));
        expect_all(one, Failure::refused);
        EXPECT_TRUE(one.results()[0].text.starts_with("busy"));
        EXPECT_FALSE(one.is_doubtful());
    }
}

TEST_F(MysqlBatch, a_deadlock_is_tried_again_three_times) {
    Batch one = batch();
    for (int i = 0; i < 3; ++i) {
        one.answered(failed(1213));
        ASSERT_FALSE(one.is_done());
        EXPECT_TRUE(one.should_pause());
        EXPECT_TRUE(one.text(guard()).starts_with("START TRANSACTION"));
        EXPECT_FALSE(one.should_pause());
    }
    one.answered(failed(1213));
    expect_all(one, Failure::refused);
}

TEST_F(MysqlBatch, a_deadlock_of_the_commit_was_rolled_back) {
    Batch one = batch();
    one.answered(failed(1213, 4));
    EXPECT_TRUE(one.should_pause());
}

TEST_F(MysqlBatch, a_read_only_server_did_nothing_and_is_looked_at) {
    for (const unsigned code : {1290u, 1792u, 1836u, 1047u}) {
        Batch one = batch();
        one.answered(failed(code));
        expect_all(one, Failure::unsent);
        EXPECT_TRUE(one.is_doubtful());
    }
}

TEST_F(MysqlBatch, no_permission_and_no_table_are_a_no) {
    for (const unsigned code : {1044u, 1142u, 1146u, 1054u, 1317u, 1969u, 3024u, 1062u, 1105u}) {
        Batch one = batch();
        one.answered(failed(code));
        expect_all(one, Failure::refused);
        EXPECT_FALSE(one.is_doubtful());
    }
}

TEST_F(MysqlBatch, what_was_sent_and_not_answered_is_in_doubt) {
    for (const unsigned code : {1053u, 1180u, 2006u, 2013u, 0u}) {
        Batch one = batch();
        one.answered(failed(code, 0, code == 0 ? ErrorClass::unknown : class_of(code)));
        expect_all(one, Failure::in_doubt);
    }
}

TEST_F(MysqlBatch, any_other_error_of_the_commit_is_doubt_too) {
    Batch one = batch();
    one.answered(failed(1105, 4));
    expect_all(one, Failure::in_doubt);
}

TEST_F(MysqlBatch, a_look_leaves_no_doubt) {
    for (const Strategy strategy : {Strategy::optimistic, Strategy::pessimistic}) {
        Batch one = batch(strategy);
        one.answered(failed(2013, 0));
        expect_all(one, Failure::unsent);
    }
}

TEST_F(MysqlBatch, what_never_left_is_unsent) {
    Batch one = batch();
    one.answered(failed(2006, 0, ErrorClass::unsent));
    expect_all(one, Failure::unsent);
}

TEST_F(MysqlBatch, another_placement_is_stale) {
    for (const auto& [is_placed, is_writable] : {std::pair{false, true}, {true, false}}) {
        Batch one = batch();
        Answer answer;
        answer.sets.resize(5);
        answer.sets[1] = placed(is_placed, is_writable);
        one.answered(std::move(answer));
        expect_all(one, Failure::stale);
        EXPECT_TRUE(one.is_doubtful());
    }
}

TEST_F(MysqlBatch, a_transaction_of_a_pessimistic_look_is_always_ended) {
    Batch one = batch(Strategy::pessimistic);
    Answer answer;
    answer.sets.resize(3);
    answer.sets[1] = placed(false);
    one.answered(std::move(answer));
    ASSERT_FALSE(one.is_done());
    EXPECT_EQ(one.text(guard()), "COMMIT");
    one.answered({});
    expect_all(one, Failure::stale);
}

TEST_F(MysqlBatch, a_clock_that_is_off_is_asked_once_more) {
    Guard wrong = guard();
    wrong.expected_us = 1'800'000'000'000'000 + 2'000'000;
    wrong.window = seconds(1);
    Batch one(Strategy::optimistic, {wish("1")}, stamps_);
    for (int i = 0; i < 2; ++i) {
        ASSERT_FALSE(one.is_done());
        (void)one.text(wrong);
        Answer answer;
        answer.sets.push_back(placed());
        answer.sets.emplace_back(21);
        one.answered(std::move(answer));
    }
    expect_all(one, Failure::clock);
}

TEST_F(MysqlBatch, the_clock_matters_more_for_strict_locks_and_not_at_all_for_a_release) {
    Guard off = guard();
    off.expected_us = 1'800'000'000'000'000 + 500'000;
    off.window = seconds(1);
    off.strict_window = std::chrono::milliseconds(200);
    const Time shown = server_time(1'800'000'000'000'000);
    core::Acquire acquire = wish("1");
    EXPECT_FALSE(is_clock_off(off, shown, acquire));
    acquire.strict = true;
    EXPECT_TRUE(is_clock_off(off, shown, acquire));
    core::Release release{acquire.key, acquire.token, acquire.node, {}};
    EXPECT_FALSE(is_clock_off(off, shown, release));
    release.then = acquire;
    EXPECT_TRUE(is_clock_off(off, shown, release));
    core::Renew renew{acquire.key, acquire.token, acquire.node, {}, false};
    renew.strict = true;
    EXPECT_TRUE(is_clock_off(off, shown, renew));
    const core::Operation operation = acquire;
    const std::vector<PlainWish> wishes{{&operation, "1.1"}};
    EXPECT_NE(plain_statement(off, wishes).find(",200000 AS v_window"), std::string::npos);
}

TEST_F(MysqlBatch, rows_are_asked_for_in_the_order_of_their_key) {
    Batch one(Strategy::upsert, {wish("b"), wish("10"), wish("9"), wish("a")}, stamps_);
    const std::string text = one.text(guard());
    EXPECT_NE(text.find("IN (x'3130',x'39',x'61',x'62')"), std::string::npos) << text;
}

}  // namespace
}  // namespace latchd::testing
