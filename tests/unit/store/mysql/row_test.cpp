// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <decision.hpp>
#include <schema.hpp>
#include <set>
#include <statements.hpp>
#include <string>
#include <utility>

namespace latchd::testing {
namespace {

using namespace store::mysql;
using std::chrono::seconds;

const Time now = server_time(1'800'000'000'000'000);

Rows as_rows(const LockRow& row) {
    Rows rows(21);
    const core::KeptRecord& record = row.record;
    for (const std::string& cell : {row.key.resource.str(),
                                    row.key.id.str(),
                                    std::to_string(row.since),
                                    row.stamp,
                                    std::to_string(record.fence),
                                    std::to_string(row.counter),
                                    std::to_string(record.version),
                                    std::to_string(to_us(record.lease_end)),
                                    std::to_string(to_us(row.free_at)),
                                    std::string("null"),
                                    std::to_string(record.ttl.count()),
                                    std::to_string(record.delay.count()),
                                    std::to_string(record.renewals),
                                    std::to_string(record.renew_max),
                                    record.owner.get().str(),
                                    record.node.get().str(),
                                    record.client.get().str(),
                                    std::to_string(to_us(record.granted_at)),
                                    std::to_string(to_us(row.changed_at)),
                                    holds_text(record),
                                    bars_text(row.bars)}) {
        if (cell == "null") {
            rows.add_null();
        } else {
            rows.add(cell.data(), cell.size());
        }
    }
    return rows;
}

LockRow odd_row() {
    LockRow row;
    row.key = {ResourceName("r"), LockId(std::string("\0\xff'\"\\", 5))};
    row.stamp = "1.2";
    row.since = 7;
    row.counter = make_fence(7, 9);
    row.record.fence = make_fence(7, 8);
    row.record.version = 3;
    row.record.granted_at = now - seconds(5);
    row.record.lease_end = now + seconds(10);
    row.record.ttl = seconds(20);
    row.free_at = now + seconds(10);
    row.changed_at = now;
    row.record.owner = OwnerName("o\n\"");
    row.record.holds = {
        {Token("to\"ken\\"), RequestId(std::string("\x01\x7f\xc3", 3)), {{1, 2}, {3, 4}}, now},
        {Token("b"), RequestId("\"token\":\"c\""), {{5, 6}}, now + seconds(3)}};
    row.bars = {{RequestId("x\"y"), true, {}, now + seconds(60)},
                {RequestId("z"), false, {{7, 8}}, now + seconds(30)}};
    return row;
}

TEST(MysqlRow, comes_back_as_it_was_written_whatever_bytes_are_in_it) {
    const LockRow row = odd_row();
    const LockRow read = read_row(as_rows(row), 0);
    EXPECT_FALSE(read.is_damaged);
    EXPECT_EQ(read.key, row.key);
    EXPECT_EQ(read.counter, row.counter);
    EXPECT_EQ(read.bars, row.bars);
    EXPECT_EQ(core::to_record(read.key, read.record, now),
              core::to_record(row.key, row.record, now));
    EXPECT_EQ(read.bars_until(), now + seconds(60));
}

TEST(MysqlRow, a_tokens_mark_is_found_in_its_own_hold_alone) {
    const std::string holds = holds_text(odd_row().record);
    EXPECT_NE(holds.find(token_mark(Token("to\"ken\\"))), std::string::npos);
    EXPECT_NE(holds.find(token_mark(Token("b"))), std::string::npos);
    // It stands in a request id.
    EXPECT_EQ(holds.find(token_mark(Token("c"))), std::string::npos);
    EXPECT_EQ(holds.find(token_mark(Token(""))), std::string::npos);
}

TEST(MysqlRow, what_somebody_else_wrote_is_no_grant) {
    LockRow row = odd_row();
    Rows rows(21);
    const Rows good = as_rows(row);
    for (std::size_t i = 0; i < 21; ++i) {
        const std::string cell = i == 19 ? "[{]" : std::string(good.text(0, i));
        rows.add(cell.data(), cell.size());
    }
    const LockRow read = read_row(rows, 0);
    EXPECT_TRUE(read.is_damaged);
    const Decision decision = decide(now, 7, 0, read, core::Inspect{row.key});
    EXPECT_EQ(decision.reply.reply.status, core::Status::foreign_value);
    EXPECT_FALSE(decision.is_change);
}

TEST(MysqlDecision, a_row_of_another_epoch_is_void_and_its_fence_is_never_met_again) {
    core::Acquire wish;
    wish.key = odd_row().key;
    wish.ttl = seconds(9);
    wish.request = RequestId("x\"y");  // barred in the former epoch
    const Decision decision = decide(now, 8, make_fence(8, 41), odd_row(), wish);
    EXPECT_EQ(decision.reply.reply.status, core::Status::granted);
    EXPECT_EQ(decision.next.record.fence, make_fence(8, 42)) << "above the floor";
    EXPECT_EQ(decision.next.counter, make_fence(8, 42));
    EXPECT_TRUE(decision.next.bars.empty());
    EXPECT_EQ(decision.next.stamp, "1.2") << "what is compared when it is written";
}

TEST(MysqlDecision, a_bar_in_the_row_stops_what_it_bars) {
    core::Acquire wish;
    wish.key = odd_row().key;
    wish.ttl = seconds(9);
    LockRow row = odd_row();
    row.free_at = Time();
    wish.request = RequestId("z");
    wish.attempt = {7, 8};
    EXPECT_EQ(decide(now, 7, 0, row, wish).reply.reply.status, core::Status::cancelled);
    EXPECT_EQ(decide(now + seconds(30), 7, 0, row, wish).reply.reply.status, core::Status::granted);
    wish.attempt = {7, 9};
    EXPECT_EQ(decide(now, 7, 0, row, wish).reply.reply.status, core::Status::granted);
}

TEST(MysqlDecision, claims_are_what_is_live_and_what_is_cancelled) {
    core::Claims claims;
    append_claims(claims, odd_row(), 7, now);
    append_claims(claims, odd_row(), 6, now);
    ASSERT_EQ(claims.records.size(), 1u);
    ASSERT_EQ(claims.cancelled.size(), 1u) << "an undone attempt's connection is gone";
    EXPECT_EQ(claims.cancelled[0].left, seconds(60));
    const auto rows = rows_of(claims, 9, now + seconds(1));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].since, 9u);
    EXPECT_EQ(rows[0].record.fence, odd_row().record.fence);
    EXPECT_EQ(rows[0].free_at, now + seconds(11));
    EXPECT_TRUE(rows[0].bars.at(0).everything);
}

TEST(MysqlStatements, a_letter_arrives_as_it_was_sent) {
    Rows rows(8);
    for (const std::string& cell : {std::string("5"),
                                    std::string("2"),
                                    std::string("r"),
                                    std::string("i"),
                                    std::string("77"),
                                    std::string("3"),
                                    std::string("q"),
                                    std::string("1")}) {
        rows.add(cell.data(), cell.size());
    }
    const auto message = read_letter(rows, 0);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->kind, core::NodeMessage::Kind::moved);
    EXPECT_EQ(message->fence, 77u);
    EXPECT_EQ(message->version, 3u);
    EXPECT_TRUE(message->keep);
}

TEST(MysqlSchema, steps_are_numbered_without_gaps) {
    std::set<std::pair<std::string, std::uint32_t>> seen;
    for (const SchemaStep& step : schema_steps()) {
        const std::string module(step.module);
        if (step.number > 1) {
            EXPECT_TRUE(seen.contains({module, step.number - 1})) << module << step.number;
        }
        EXPECT_TRUE(seen.emplace(module, step.number).second);
        EXPECT_EQ(step.sql.find(';'), std::string::npos);
    }
}

}  // namespace
}  // namespace latchd::testing
