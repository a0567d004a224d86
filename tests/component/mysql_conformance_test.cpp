// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "mysql_fixture.hpp"

#include <latchd/core/lock/table.hpp>

#include <algorithm>
#include <batch.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <migration.hpp>
#include <random>
#include <set>

// The same random operations on core::Table and on the statements in a real server: equal answers,
// records, messages and rows after each. The session's clock is set by the test (SET timestamp), so
// times agree to the microsecond and every end is met exactly. Each lock has a table of its own,
// as each row has a counter of its own.
namespace latchd::testing {
namespace {

using namespace store::mysql;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Epoch epoch = 7;

class MysqlConformance : public MysqlTest {
protected:
    void SetUp() override {
        MysqlTest::SetUp();
        if (IsSkipped() || HasFailure()) return;
        place(epoch, "nonce", "open");
        for (int i = 0; i < 2; ++i) connections_.push_back(connect(options()));
        std::optional<std::optional<Error>> migrated;
        migrate(*connections_[0], [&](std::optional<Error> error) { migrated = error; });
        ASSERT_TRUE(run_until([&] { return migrated.has_value(); }));
        ASSERT_FALSE(*migrated) << describe(**migrated);
        guard_.cluster = "c";
        guard_.since = epoch;
        guard_.nonce = core::authority::Nonce("nonce");
        const char* const seed = std::getenv("LATCHD_TEST_SEED");
        seed_ = seed != nullptr ? std::strtoul(seed, nullptr, 10) : 1;
        std::printf("seed %lu\n", seed_);
        random_.seed(seed_);
        now_ = server_time(1'800'000'000'000'000);
    }
    void TearDown() override {
        connections_.clear();
        MysqlTest::TearDown();
    }

    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <class T>
    const T& any_of(const std::vector<T>& items) {
        return items[below(items.size())];
    }
    NodeName node() { return NodeName(one_in(4) ? "node c" : one_in(3) ? "node-b" : "node-a"); }
    core::Table& table(const LockKey& key) {
        return tables_.try_emplace(key, core::Table(epoch)).first->second;
    }

    core::Acquire acquire(const LockKey& key);
    core::Acquire known(const LockKey& key);
    core::Operation operation(const LockKey& key);
    std::vector<Batch::Result> carry_out(Strategy strategy,
                                         std::vector<core::Operation> operations,
                                         std::vector<Letter>& letters);
    void compare(Strategy strategy, const std::vector<core::Operation>& operations);
    void compare_rows();
    void run(const std::vector<Strategy>& strategies, int steps);

    Guard guard_;
    std::vector<std::shared_ptr<Connection>> connections_;
    unsigned long seed_ = 0;
    std::mt19937_64 random_;
    Time now_{};
    std::map<LockKey, core::Table> tables_;
    Stamps stamps_{42};
    std::uint64_t number_ = 0;
    std::vector<core::Acquire> wishes_;
    std::vector<core::GrantRecord> records_;
    std::map<core::Status, int> seen_;
};

core::Acquire MysqlConformance::acquire(const LockKey& key) {
    core::Acquire wish;
    wish.key = key;
    const std::string number = std::to_string(++number_);
    wish.request = RequestId((one_in(4) ? "a/b\n\"" : "request-") + number);
    wish.token = Token((one_in(4) ? "to\\ken\xff\"" : "token-") + number);
    wish.attempt = {1, number_};
    wish.owner = OwnerName(one_in(2) ? "" : one_in(3) ? "o/t \"her" : "owner");
    wish.node = node();
    wish.client = ClientName("client-" + std::to_string(below(3)));
    wish.ttl = seconds(1 + below(60));
    if (one_in(3)) wish.hold_max = seconds(2 + below(60));
    if (one_in(3)) wish.delay = seconds(below(20));
    wish.renew_max = one_in(2) ? static_cast<std::uint32_t>(1 + below(2)) : 0;
    wish.retry_window = seconds(15);
    wish.keep = one_in(2);
    wish.join_only = one_in(8);
    wish.waits = one_in(2);
    if (!wishes_.empty() && one_in(3)) wish.request = any_of(wishes_).request;
    wishes_.push_back(wish);
    return wish;
}

core::Acquire MysqlConformance::known(const LockKey& key) {
    std::vector<core::Acquire> of_key;
    for (const core::Acquire& wish : wishes_) {
        if (wish.key == key) of_key.push_back(wish);
    }
    return of_key.empty() ? acquire(key) : any_of(of_key);
}

core::Operation MysqlConformance::operation(const LockKey& key) {
    const core::Acquire wish = one_in(3) ? acquire(key) : known(key);
    switch (below(13)) {
        case 0:
        case 1:
        case 2:
            return wish;
        case 3: {
            core::Acquire again = wish;  // the same request, sent anew
            again.attempt.number = ++number_;
            again.node = node();
            wishes_.push_back(again);
            return again;
        }
        case 4:
            return core::Release{key, wish.token, node(), std::nullopt};
        case 5:
            return core::Release{key, wish.token, node(), acquire(key), one_in(3)};
        case 6:
        case 7: {
            core::Renew renew{key, wish.token, node(), std::nullopt, one_in(2)};
            if (one_in(2)) renew.ttl = seconds(1 + below(60));
            if (renew.keep) renew.stands = Attempt{1 + below(2), 0};
            return renew;
        }
        case 8: {
            core::Undo undo{key, wish.request, wish.attempt, node(), std::nullopt};
            if (one_in(2)) undo.tombstone = seconds(30);
            return undo;
        }
        case 9:
            if (!one_in(4)) return core::Renew{key, wish.token, node(), std::nullopt, false};
            return core::Cancel{key, wish.request, node(), seconds(30)};
        case 10: {
            if (one_in(2) || records_.empty()) return core::Inspect{key};
            core::Force force{key, node(), std::nullopt};
            if (one_in(2)) force.fence = any_of(records_).fence;
            return force;
        }
        case 11:
            return core::StepOut{key, node()};
        default: {
            std::vector<core::GrantRecord> of_key;
            for (const core::GrantRecord& record : records_) {
                if (record.key == key) of_key.push_back(record);
            }
            if (of_key.empty()) return wish;
            core::Restore restore{any_of(of_key), one_in(3)};
            restore.record.left -= seconds(below(3));
            return restore;
        }
    }
}

std::vector<Batch::Result> MysqlConformance::carry_out(Strategy strategy,
                                                       std::vector<core::Operation> operations,
                                                       std::vector<Letter>& letters) {
    Connection& connection = *any_of(connections_);
    const std::string us = std::to_string(to_us(now_));
    query(connection,
          "SET timestamp=" + us.substr(0, us.size() - 6) + '.' + us.substr(us.size() - 6));
    Batch batch(strategy, std::move(operations), stamps_);
    int queries = 0;
    while (!batch.is_done() && ++queries < 20) {
        const std::string text = batch.text(guard_);
        Answer answer = query(connection, text);
        if (answer.error) ADD_FAILURE() << describe(*answer.error) << "\n" << text;
        batch.answered(std::move(answer));
        if (HasFailure()) break;
    }
    EXPECT_TRUE(batch.is_done());
    letters = batch.take_letters();
    return batch.results();
}

std::string shown(const NodeName& to, const core::NodeMessage& message) {
    return to.str() + ' ' + std::to_string(static_cast<int>(message.kind)) + ' ' +
           message.key.id.str() + ' ' + std::to_string(message.fence) + ' ' +
           message.request.str() + ' ' + std::to_string(message.version) +
           (message.keep ? " k" : "");
}

// T4.
void expect_one_hold_per_request(const core::GrantRecord& record) {
    std::set<RequestId> requests;
    for (const core::Hold& hold : record.holds) {
        if (hold.request.empty()) continue;
        ASSERT_TRUE(requests.insert(hold.request).second) << hold.request.str();
    }
}

void expect_equal(const core::Reply& server, const core::Reply& model) {
    if (server.record) expect_one_hold_per_request(*server.record);
    ASSERT_EQ(server.status, model.status);
    ASSERT_EQ(server.record.has_value(), model.record.has_value());
    if (model.record) {
        ASSERT_EQ(server.record->fence, model.record->fence);
        ASSERT_EQ(server.record->left, model.record->left);
        ASSERT_EQ(server.record->version, model.record->version);
        ASSERT_EQ(server.record, model.record);
    }
    ASSERT_EQ(server.left, model.left);
    if (model.status == core::Status::held || model.status == core::Status::held_by_other) {
        ASSERT_EQ(server.fence_seen, model.fence_seen);
    }
}

void MysqlConformance::compare(Strategy strategy, const std::vector<core::Operation>& operations) {
    std::vector<Letter> letters;
    const auto results = carry_out(strategy, operations, letters);
    ASSERT_FALSE(HasFailure());
    std::multiset<std::string> told;
    std::multiset<std::string> heard;
    for (const Letter& letter : letters) heard.insert(shown(letter.to, letter.message));
    for (std::size_t i = 0; i < operations.size(); ++i) {
        SCOPED_TRACE("operation " + std::to_string(operations[i].index()) + " on " +
                     key_of(operations[i]).id.str());
        core::Table& model_table = table(key_of(operations[i]));
        const core::OperationReply model = model_table.apply(now_, operations[i]);
        for (const auto& one : model_table.take_told()) told.insert(shown(one.node, one.message));
        ASSERT_TRUE(results[i].reply) << results[i].text;
        ASSERT_NO_FATAL_FAILURE(expect_equal(results[i].reply->reply, model.reply));
        ASSERT_EQ(results[i].reply->then.has_value(), model.then.has_value());
        if (model.then) {
            ASSERT_NO_FATAL_FAILURE(expect_equal(*results[i].reply->then, *model.then));
            ++seen_[model.then->status];
        }
        ++seen_[model.reply.status];
        if (model.reply.record) records_.push_back(*model.reply.record);
    }
    ASSERT_EQ(heard, told);
}

void MysqlConformance::compare_rows() {
    core::Claims claims;
    Connection& connection = *connections_[0];
    const std::string us = std::to_string(to_us(now_));
    query(connection,
          "SET timestamp=" + us.substr(0, us.size() - 6) + '.' + us.substr(us.size() - 6));
    const Answer answer = query(connection, claims_statement("c", epoch, std::nullopt, 100));
    ASSERT_TRUE(answer.is_good()) << describe(*answer.error);
    for (std::size_t i = 0; i < answer.sets[0].size(); ++i) {
        append_claims(claims, read_row(answer.sets[0], i), epoch, now_);
    }
    std::vector<core::GrantRecord> model;
    for (auto& [key, table] : tables_) {
        const auto record = table.apply(now_, core::Inspect{key}).reply.record;
        if (record) model.push_back(*record);
    }
    ASSERT_EQ(claims.records, model);
}

void MysqlConformance::run(const std::vector<Strategy>& strategies, int steps) {
    const std::vector<LockKey> keys{{ResourceName("r"), LockId("1")},
                                    {ResourceName("r"), LockId("10")},
                                    {ResourceName("r"), LockId(std::string("9\0'", 3))},
                                    {ResourceName("q"), LockId("A")},
                                    {ResourceName("q"), LockId("a")},
                                    {ResourceName("q"), LockId("a ")}};
    for (int step = 0; step < steps; ++step) {
        std::vector<core::Operation> operations;
        for (const LockKey& key : keys) {
            if (one_in(3)) operations.push_back(operation(key));
        }
        if (operations.empty()) continue;
        std::shuffle(operations.begin(), operations.end(), random_);
        const Strategy strategy = any_of(strategies);
        SCOPED_TRACE("step " + std::to_string(step) + ", strategy " +
                     std::to_string(static_cast<int>(strategy)));
        ASSERT_NO_FATAL_FAILURE(compare(strategy, operations));
        if (one_in(6)) {
            ASSERT_NO_FATAL_FAILURE(compare_rows());
            now_ += one_in(3)   ? Duration(milliseconds(below(250)))
                    : one_in(4) ? Duration(seconds(below(60)))
                                : Duration(milliseconds(below(9'000)));
        }
        while (wishes_.size() > 24) wishes_.erase(wishes_.begin());
        while (records_.size() > 24) records_.erase(records_.begin());
    }
    using core::Status;
    for (const Status status : {Status::granted,
                                Status::reentered,
                                Status::adopted,
                                Status::held,
                                Status::cancelled,
                                Status::released,
                                Status::hold_removed,
                                Status::renewed,
                                Status::renew_limit,
                                Status::not_held,
                                Status::held_by_other,
                                Status::undone,
                                Status::ended,
                                Status::nothing,
                                Status::restored,
                                Status::found}) {
        EXPECT_GT(seen_[status], 0) << "never met: " << static_cast<int>(status);
    }
}

// T-D01: of two locks, the pessimistic transaction finds and locks the row of the second alone.
// Another node makes the first and waits for the second.
TEST_F(MysqlConformance, a_row_is_made_while_no_other_is_locked) {
    const LockKey first{ResourceName("r"), LockId("1")};
    const LockKey second{ResourceName("r"), LockId("2")};
    const core::Acquire former = acquire(second);
    std::vector<Letter> letters;
    carry_out(Strategy::upsert, {former}, letters);
    carry_out(Strategy::upsert,
              {core::Undo{second, former.request, former.attempt, former.node, {}}},
              letters);
    const auto wish = [this](const LockKey& key) {
        core::Acquire wish;
        wish.key = key;
        wish.token = Token("token-" + std::to_string(++number_));
        wish.attempt = {1, number_};
        wish.node = NodeName("node-a");
        wish.ttl = seconds(30);
        return wish;
    };
    ConnectOptions patient = options();
    patient.operation_timeout = seconds(20);
    const auto waiter = connect(patient);
    query(*waiter, "SET innodb_lock_wait_timeout=20");
    Batch locking(Strategy::pessimistic, {wish(first), wish(second)}, stamps_);
    locking.answered(query(*connections_[0], locking.text(guard_)));
    Batch making(Strategy::upsert, {wish(first), wish(second)}, stamps_);
    bool is_made = false;
    waiter->query(making.text(guard_), [&](Answer&& answer) {
        EXPECT_FALSE(answer.error) << describe(*answer.error);
        making.answered(std::move(answer));
        is_made = true;
    });
    while (value("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
                 "WHERE VARIABLE_NAME='INNODB_ROW_LOCK_CURRENT_WAITS'") != "1") {
        ASSERT_FALSE(is_made) << "it did not wait for the row that is locked";
    }
    while (!locking.is_done()) {
        Answer answer = query(*connections_[0], locking.text(guard_));
        ASSERT_FALSE(answer.error) << describe(*answer.error);
        locking.answered(std::move(answer));
    }
    ASSERT_TRUE(run_until([&] { return is_made; }));
    ASSERT_TRUE(making.is_done());
    EXPECT_EQ(locking.results()[0].reply.value().reply.status, core::Status::held);
    EXPECT_EQ(locking.results()[1].reply.value().reply.status, core::Status::granted);
    EXPECT_EQ(making.results()[0].reply.value().reply.status, core::Status::granted);
    EXPECT_EQ(making.results()[1].reply.value().reply.status, core::Status::held);
}

TEST_F(MysqlConformance, upsert_answers_as_the_table_does) { run({Strategy::upsert}, 1'200); }

TEST_F(MysqlConformance, optimistic_answers_as_the_table_does) {
    run({Strategy::optimistic}, 1'200);
}

TEST_F(MysqlConformance, pessimistic_answers_as_the_table_does) {
    run({Strategy::pessimistic}, 1'200);
}

TEST_F(MysqlConformance, strategies_may_be_mixed) {
    run({Strategy::upsert, Strategy::optimistic, Strategy::pessimistic}, 1'200);
}

}  // namespace
}  // namespace latchd::testing
