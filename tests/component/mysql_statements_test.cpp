// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "mysql_fixture.hpp"

#include <algorithm>
#include <batch.hpp>
#include <migration.hpp>
#include <optional>
#include <string>
#include <vector>

// What the optimizer makes of the statements. A tuple in an IN list, for example, is a scan of the
// whole index on MariaDB as soon as the list has one element.
namespace latchd::testing {
namespace {

using namespace store::mysql;

class MysqlPlans : public MysqlTest {
protected:
    void SetUp() override {
        MysqlTest::SetUp();
        if (IsSkipped() || HasFailure()) return;
        place(7, "n", "open");
        connection_ = connect(options());
        std::optional<std::optional<Error>> migrated;
        migrate(*connection_, [&](std::optional<Error> error) { migrated = error; });
        ASSERT_TRUE(run_until([&] { return migrated.has_value(); }));
        guard_.cluster = "c";
        guard_.since = 7;
        guard_.nonce = core::authority::Nonce("n");
        fill(4'000);
    }
    void TearDown() override {
        connection_.reset();
        MysqlTest::TearDown();
    }

    std::string done(const std::string& text) {
        const Answer answer = query(*connection_, text);
        if (answer.error) ADD_FAILURE() << describe(*answer.error) << '\n' << text.substr(0, 600);
        return text;
    }
    void fill(int count) {
        std::vector<core::Operation> operations;
        std::vector<PlainWish> wishes;
        for (int i = 0; i < 500; ++i) operations.emplace_back(wish(i));
        for (int at = 0; at < count; at += 500) {
            wishes.clear();
            for (int i = 0; i < 500; ++i) {
                auto& acquire = std::get<core::Acquire>(operations[static_cast<std::size_t>(i)]);
                acquire.key = key(at + i);
                wishes.push_back({&operations[static_cast<std::size_t>(i)], stamps_.next()});
            }
            done(plain_statement(guard_, wishes));
        }
        done("ANALYZE TABLE lock_record");
    }
    static LockKey key(int i) {
        return {ResourceName(i % 3 == 0 ? "order:settle" : "stock"), LockId(std::to_string(i))};
    }
    static core::Acquire wish(int i) {
        core::Acquire wish;
        wish.key = key(i);
        wish.token = Token("token");
        wish.ttl = std::chrono::seconds(30);
        return wish;
    }
    // Of the table `name`: how it is read, and by which index.
    std::string plan(const std::string& statement, const std::string& name) {
        const Answer answer = query(*connection_, "EXPLAIN " + statement);
        if (answer.error) {
            ADD_FAILURE() << describe(*answer.error) << '\n' << statement.substr(0, 600);
            return {};
        }
        // id, select_type, table, type, possible_keys, key, …, rows (9th), Extra
        const Rows& rows = answer.sets.at(0);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (rows.text(i, 2) != name) continue;
            rows_ = rows.number(i, 8).value_or(-1);
            return std::string(rows.text(i, 3)) + ' ' + std::string(rows.text(i, 5));
        }
        return "not read";
    }

    Guard guard_;
    Stamps stamps_{1};
    std::shared_ptr<Connection> connection_;
    std::int64_t rows_ = 0;
};

TEST_F(MysqlPlans, rows_are_found_by_the_primary_key_for_1_2_and_64_locks) {
    for (const int count : {1, 2, 64}) {
        std::vector<LockKey> keys;
        for (int i = 0; i < count; ++i) keys.push_back(key(i * 13));
        std::ranges::sort(keys);
        for (const std::string& statement : {rows_statement("c", keys, false),
                                             rows_statement("c", keys, true),
                                             stamps_statement("c", keys)}) {
            const std::string seen = plan(statement, "r");
            EXPECT_TRUE(seen == "range PRIMARY" || seen == "const PRIMARY")
                << count << ": " << seen;
            EXPECT_LE(rows_, count + 1);
        }
    }
}

TEST_F(MysqlPlans, a_change_reads_the_placement_as_a_constant_and_nothing_else) {
    for (const int count : {1, 2, 64}) {
        std::vector<core::Operation> operations;
        std::vector<PlainWish> wishes;
        std::vector<LockRow> next(static_cast<std::size_t>(count));
        std::vector<RowWrite> writes;
        for (int i = 0; i < count; ++i) operations.emplace_back(wish(i));
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            wishes.push_back({&operations[at], stamps_.next()});
            next[at].key = key(i);
            writes.push_back({&next[at], stamps_.next(), Duration(-1)});
        }
        for (const std::string& statement : {plain_statement(guard_, wishes),
                                             write_statement(guard_, writes, false),
                                             write_statement(guard_, writes, true)}) {
            EXPECT_EQ(plan(statement, "p"), "const PRIMARY");
            // The row itself is found by the insert's own look into the primary key.
            EXPECT_EQ(plan(statement, "r"), "not read");
        }
    }
    EXPECT_EQ(plan(guard_statement(guard_, GuardLock::share), "p"), "const PRIMARY");
    EXPECT_EQ(plan(guard_statement(guard_, GuardLock::none), "p"), "const PRIMARY");
}

TEST_F(MysqlPlans, pages_and_the_sweep_go_along_the_primary_key) {
    for (const std::string& statement :
         {claims_statement("c", 7, key(5), 1'000), sweep_look_statement("c", key(5), 1, 500)}) {
        const std::string seen = plan(statement, "r");
        EXPECT_TRUE(seen == "range PRIMARY" || seen == "ref PRIMARY") << seen;
    }
    const std::string sweep = sweep_statements("c", key(12), key(18), 1);
    const std::size_t insert = sweep.find("INSERT");
    const std::size_t remove = sweep.find("DELETE");
    EXPECT_EQ(plan(sweep.substr(insert, remove - 1 - insert), "r"), "range PRIMARY");
    EXPECT_EQ(plan(sweep.substr(remove, sweep.rfind(';') - remove), "r"), "range PRIMARY");
    EXPECT_LE(rows_, 1'000) << "the range, not the table";
    EXPECT_EQ(plan(read_letters_statement("c", NodeName("a"), 5), "lock_message"), "range PRIMARY");
}

// T-D07
TEST_F(MysqlPlans, too_long_a_key_is_refused_and_never_cut_off) {
    core::Operation operation = wish(0);
    std::get<core::Acquire>(operation).key.id = LockId(std::string(129, 'x'));
    const std::vector<PlainWish> wishes{{&operation, stamps_.next()}};
    const Answer answer = query(*connection_, plain_statement(guard_, wishes));
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->code, 1406u);
    EXPECT_EQ(value("SELECT COUNT(*) FROM latchd.lock_record WHERE business_id LIKE 'xxx%'"), "0");
}

}  // namespace
}  // namespace latchd::testing
