// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "arbiter_cases.hpp"
#include "arbiter_conformance.hpp"
#include "arbiter_run.hpp"
#include "mysql_fixture.hpp"

#include <latchd/store/mysql/arbiter.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

namespace latchd::testing {
namespace {

using namespace core::authority;

class MysqlArbiterTest : public MysqlTest {
protected:
    // The first call waits for a connection and for the tables, too.
    ArbiterRun::Make make(const std::string& cluster = "default",
                          std::chrono::milliseconds patience = std::chrono::seconds(10)) const {
        store::mysql::Options wanted;
        wanted.server = options();
        wanted.server.operation_timeout = patience;
        wanted.cluster = cluster;
        return [wanted](auto& context, auto& sink, auto boot_now) {
            return store::mysql::make_arbiter(context, wanted, sink, std::move(boot_now));
        };
    }
    ArbiterRun::Make make_impatient() const { return make("default", std::chrono::seconds(1)); }
    void kill() { server().kill_hard(); }
    void start() { server().start(); }
    void freeze() { server().freeze(); }
    void thaw() { server().thaw(); }

    static constexpr bool keeps_data = true;
    static constexpr auto told_within = std::chrono::seconds(4);
};

INSTANTIATE_TYPED_TEST_SUITE_P(Mysql, AnyArbiter, MysqlArbiterTest);

TEST_F(MysqlArbiterTest, agrees_with_the_reference) {
    const char* const more = std::getenv("LATCHD_TEST_FULL");
    for (std::uint64_t seed = 1; seed <= (more != nullptr ? 30u : 3u); ++seed) {
        // Clusters don't see one another's rows.
        ArbiterRun arbiter(make("cluster-" + std::to_string(seed)));
        expect_conformance(arbiter, seed, 400);
        if (HasFatalFailure()) return;
    }
}

TEST_F(MysqlArbiterTest, decides_between_nodes) {
    const char* const more = std::getenv("LATCHD_TEST_FULL");
    for (std::uint64_t seed = 1; seed <= (more != nullptr ? 30u : 3u); ++seed) {
        expect_agreement(make("cluster-" + std::to_string(seed)), seed, 150);
        if (HasFailure()) return;
    }
}

TEST_F(MysqlArbiterTest, has_room_for_ten_thousand_claims) {
    ArbiterRun arbiter(make());
    expect_room(arbiter);
}

TEST_F(MysqlArbiterTest, shows_the_server_and_its_clock) {
    ArbiterRun arbiter(make());
    const View view = arbiter.reply(ReadView{}).view;
    EXPECT_FALSE(view.arbiter.run_id.empty());
    EXPECT_EQ(view.arbiter.role, Role::master);
    const double seconds = std::stod(value("SELECT UNIX_TIMESTAMP()"));
    EXPECT_NEAR(static_cast<double>(view.shown) / 1000, seconds, 5);
    EXPECT_EQ(arbiter.health().state, "up");
}

// Lock statements read the placement's row: a transaction that may still grant holds up the epoch.
TEST_F(MysqlArbiterTest, waits_for_lock_statements_and_says_busy) {
    ArbiterRun arbiter(make("default", std::chrono::seconds(3)));
    ASSERT_TRUE(arbiter.reply(first_epoch("a")).done);
    const auto grant = connect(options());
    query(*grant,
          "START TRANSACTION;SELECT nonce FROM placement WHERE cluster='default' AND name='main' "
          "AND since_epoch=5 AND state='settling' LOCK IN SHARE MODE");
    OpenEpoch open{5, Nonce("a"), first_epoch("o").next.placement};
    const auto failed = arbiter.failure(open);
    EXPECT_FALSE(failed.is_down) << failed.text;
    EXPECT_NE(failed.text.find("1205"), std::string::npos) << failed.text;
    EXPECT_TRUE(arbiter.reply(beat(1)).done) << "heartbeats don't wait";
    query(*grant, "COMMIT");
    EXPECT_TRUE(arbiter.reply(open).done);
    EXPECT_EQ(value("SELECT CONCAT(state,since_epoch,nonce) FROM latchd.placement"), "open5o");
}

// Nothing in the server waits for this host: it never holds a lock while it isn't looking.
TEST_F(MysqlArbiterTest, leaves_no_transaction_open) {
    ArbiterRun arbiter(make());
    arbiter.reply(first_epoch("a"));
    for (const ArbiterCall& call : {ArbiterCall(beat(1)),
                                    ArbiterCall(FetchClaims{5}),
                                    ArbiterCall(first_epoch("b")),
                                    ArbiterCall(HandOver{4, {}, true, true, beat(1).row})}) {
        arbiter.reply(call);
        EXPECT_EQ(value("SELECT COUNT(*) FROM information_schema.innodb_trx"), "0") << call.index();
    }
}

TEST_F(MysqlArbiterTest, a_read_only_server_is_no_arbiter) {
    ArbiterRun arbiter(make());
    arbiter.reply(beat(1));
    sql("SET GLOBAL read_only=1");
    const auto failed = arbiter.failure(ReadView{});
    sql("SET GLOBAL read_only=0");
    EXPECT_TRUE(failed.is_down);
    EXPECT_NE(failed.text.find("read-only"), std::string::npos) << failed.text;
    EXPECT_EQ(arbiter.reply_in_the_end(ReadView{}).view.nodes.size(), 1u);
}

TEST_F(MysqlArbiterTest, a_missing_permission_is_this_node_s_own_trouble) {
    ArbiterRun(make()).reply(beat(1));
    sql("CREATE OR REPLACE USER reader IDENTIFIED BY 'x';GRANT SELECT ON latchd.* TO reader");
    store::mysql::Options wanted;
    wanted.server = options();
    wanted.server.operation_timeout = std::chrono::seconds(10);
    wanted.server.username = "reader";
    wanted.server.password = "x";
    ArbiterRun arbiter([wanted](auto& context, auto& sink, auto boot_now) {
        return store::mysql::make_arbiter(context, wanted, sink, std::move(boot_now));
    });
    const auto failed = arbiter.failure(ReadView{});
    EXPECT_FALSE(failed.is_down);
    EXPECT_NE(failed.text.find("1142"), std::string::npos) << failed.text;
    sql("DROP USER reader");
}

TEST_F(MysqlArbiterTest, a_call_that_is_too_big_is_refused_here) {
    ArbiterRun arbiter(make());
    arbiter.reply(beat(1));
    const std::string before = value("SELECT @@global.max_allowed_packet");
    sql("SET GLOBAL max_allowed_packet=16384");
    ArbiterRun small(make());
    Beat big = beat(2);
    big.row.config_hash.assign(16384, 'x');
    const auto failed = small.failure(big);
    EXPECT_FALSE(failed.is_down);
    EXPECT_NE(failed.text.find("max_allowed_packet"), std::string::npos) << failed.text;
    EXPECT_TRUE(small.reply(beat(3)).done);
    sql("SET GLOBAL max_allowed_packet=" + before);
}

TEST_F(MysqlArbiterTest, what_cannot_be_understood_is_said_and_not_passed_over) {
    ArbiterRun arbiter(make());
    arbiter.reply(beat(1));
    sql("UPDATE latchd.node SET body='{}'");
    const auto failed = arbiter.failure(ReadView{});
    EXPECT_FALSE(failed.is_down);
    EXPECT_NE(failed.text.find("node"), std::string::npos) << failed.text;
    EXPECT_EQ(arbiter.reply(beat(2)).view.nodes.size(), 1u);
}

}  // namespace
}  // namespace latchd::testing
