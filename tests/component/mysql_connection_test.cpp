// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "mysql_fixture.hpp"

#include <latchd/runtime/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <migration.hpp>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace latchd::testing {
namespace {

using namespace store::mysql;
using std::chrono::milliseconds;
using std::chrono::seconds;

class MysqlConnection : public MysqlTest {
protected:
    // The error with which it ends.
    Error end_of(const ConnectOptions& options, Duration limit = seconds(10)) {
        std::optional<Error> error;
        Connection connection(
            context_, options, {nullptr, [&error](const Error& why) { error = why; }});
        connection.open();
        EXPECT_TRUE(run_until([&] { return error.has_value(); }, limit));
        return error.value_or(Error{});
    }
};

TEST_F(MysqlConnection, answers_queries_in_order_and_each_statement_of_one) {
    const auto connection = connect(options());
    std::vector<std::string> seen;
    for (int i = 0; i < 50; ++i) {
        connection->query("SELECT " + std::to_string(i) + ";SELECT NULL,x'00ff27','b'",
                          [&seen](Answer&& answer) {
                              ASSERT_TRUE(answer.is_good());
                              ASSERT_EQ(answer.sets.size(), 2u);
                              EXPECT_FALSE(answer.sets[1].at(0, 0).has_value());
                              EXPECT_EQ(answer.sets[1].text(0, 1), std::string("\0\xff'", 3));
                              seen.emplace_back(answer.sets[0].text(0, 0));
                          });
    }
    EXPECT_TRUE(seen.empty());
    ASSERT_TRUE(run_until([&] { return seen.size() == 50; }));
    for (int i = 0; i < 50; ++i) EXPECT_EQ(seen[i], std::to_string(i));
    EXPECT_TRUE(connection->is_idle());
}

// A server shows a session the rights on a database that there were when it began.
TEST_F(MysqlConnection, counts_on_what_was_granted_since_it_began) {
    ConnectOptions lim = options();
    lim.username = "lim";
    lim.password = "pw";
    const std::string all = " ON `" + lim.database + "`.* TO lim@'127.0.0.1'";
    sql("CREATE TABLE " + lim.database + ".t (a INT)");
    sql("CREATE OR REPLACE USER lim@'127.0.0.1' IDENTIFIED BY 'pw'");
    sql("GRANT SELECT" + all);
    const auto connection = connect(lim);
    const std::string insert = "INSERT INTO t VALUES (1)";
    const Answer denied = query(*connection, insert);
    ASSERT_TRUE(denied.error);
    EXPECT_EQ(denied.error->kind, ErrorClass::configuration) << describe(*denied.error);
    sql("GRANT INSERT" + all);
    (void)query(*connection, insert);  // which may be what shows that it has to look
    const Answer good = query(*connection, insert);
    EXPECT_TRUE(good.is_good()) << describe(good.error.value_or(Error{}));
    sql("DROP USER lim@'127.0.0.1'");
}

TEST_F(MysqlConnection, sets_and_knows_its_session) {
    const auto connection = connect(options());
    const Session& session = connection->session();
    EXPECT_EQ(query(*connection, "SELECT CONNECTION_ID()").sets[0].text(0, 0),
              std::to_string(session.connection_id));
    EXPECT_FALSE(session.identity.run_id.empty());
    EXPECT_EQ(session.identity.role, core::authority::Role::master);
    EXPECT_TRUE(session.is_durable);
    const Answer read = query(*connection,
                              "SELECT @@time_zone, @@tx_isolation, @@innodb_lock_wait_timeout, "
                              "@@autocommit");
    EXPECT_EQ(read.sets[0].text(0, 0), "+00:00");
    EXPECT_EQ(read.sets[0].text(0, 1), "READ-COMMITTED");
    EXPECT_EQ(read.sets[0].text(0, 2), "1");
    EXPECT_EQ(read.sets[0].text(0, 3), "1");
    const std::string run_id = session.identity.run_id;
    server().kill_hard();
    ASSERT_TRUE(run_until([&] { return !connection->is_open(); }));
    server().start({"--default-time-zone=+08:00", "--sql-mode=ANSI_QUOTES"});
    const auto again = connect(options());
    EXPECT_EQ(again->session().identity.run_id, run_id) << "a restart is no change";
    EXPECT_EQ(query(*again, "SELECT @@time_zone").sets[0].text(0, 0), "+00:00");
    sql("SET GLOBAL read_only=1");
    EXPECT_EQ(connect(options())->session().identity.role, core::authority::Role::replica);
    sql("SET GLOBAL read_only=0");
    server().kill_hard();
    server().start();
}

TEST_F(MysqlConnection, rolls_back_what_an_error_left_open) {
    sql("CREATE TABLE latchd.t (k INT PRIMARY KEY) ENGINE=InnoDB");
    const auto connection = connect(options());
    const Answer answer = query(
        *connection, "START TRANSACTION;INSERT INTO t VALUES (1);INSERT INTO t VALUES (1);COMMIT");
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->code, 1062u);
    EXPECT_EQ(answer.error->kind, ErrorClass::duplicate);
    EXPECT_EQ(answer.sets.size(), 2u);
    EXPECT_EQ(value("SELECT COUNT(*) FROM latchd.t"), "0");
    EXPECT_TRUE(query(*connection, "INSERT INTO t VALUES (1)").is_good());
    EXPECT_EQ(value("SELECT COUNT(*) FROM latchd.t"), "1");
}

TEST_F(MysqlConnection, tells_a_busy_row_and_a_deadlock_apart) {
    sql("CREATE TABLE latchd.t (k INT PRIMARY KEY, v INT) ENGINE=InnoDB");
    sql("INSERT INTO latchd.t VALUES (1,0),(2,0)");
    const auto one = connect(options());
    const auto two = connect(options());
    ConnectOptions patient = options();
    patient.operation_timeout = seconds(5);
    const auto waiter = connect(patient);
    query(*one, "START TRANSACTION;UPDATE t SET v=1 WHERE k=1");
    const Answer busy = query(*waiter, "UPDATE t SET v=2 WHERE k=1");
    ASSERT_TRUE(busy.error);
    EXPECT_EQ(busy.error->kind, ErrorClass::busy) << describe(*busy.error);
    EXPECT_TRUE(waiter->is_open());

    query(*two, "START TRANSACTION;UPDATE t SET v=1 WHERE k=2");
    std::vector<Answer> answers;
    one->query("UPDATE t SET v=3 WHERE k=2;COMMIT",
               [&](Answer&& answer) { answers.push_back(std::move(answer)); });
    two->query("UPDATE t SET v=4 WHERE k=1;COMMIT",
               [&](Answer&& answer) { answers.push_back(std::move(answer)); });
    ASSERT_TRUE(run_until([&] { return answers.size() == 2; }));
    const auto failed =
        std::ranges::find_if(answers, [](const Answer& answer) { return !answer.is_good(); });
    ASSERT_NE(failed, answers.end());
    EXPECT_EQ(failed->error->kind, ErrorClass::deadlock) << describe(*failed->error);
}

TEST_F(MysqlConnection, knows_why_it_could_not_be_opened) {
    ConnectOptions wrong = options();
    wrong.password = "wrong";
    const Error denied = end_of(wrong);
    EXPECT_EQ(denied.code, 1045u);
    EXPECT_EQ(denied.kind, ErrorClass::configuration);
    EXPECT_FALSE(denied.is_refusal);

    wrong = options();
    wrong.database = "nowhere";
    EXPECT_EQ(end_of(wrong).kind, ErrorClass::configuration);

    wrong = options();
    wrong.port = 1;
    const Error refused = end_of(wrong);
    EXPECT_EQ(refused.kind, ErrorClass::unsent) << describe(refused);
    EXPECT_TRUE(refused.is_refusal) << describe(refused);

    wrong = options();
    wrong.path = server().folder() + "/none";
    EXPECT_TRUE(end_of(wrong).is_refusal);

    wrong = options();
    wrong.host = "no-such-host.invalid";
    wrong.connect_timeout = seconds(5);
    const Error unknown = end_of(wrong);
    EXPECT_EQ(unknown.kind, ErrorClass::unsent);
    EXPECT_FALSE(unknown.is_refusal);

    sql("CREATE USER few@'127.0.0.1' WITH MAX_USER_CONNECTIONS 1");
    sql("GRANT ALL ON latchd.* TO few@'127.0.0.1'");
    ConnectOptions few = options();
    few.username = "few";
    const auto only = connect(few);
    const Error full = end_of(few);
    EXPECT_EQ(full.kind, ErrorClass::full) << describe(full);
    EXPECT_FALSE(full.is_refusal);
    sql("DROP USER few@'127.0.0.1'");
}

TEST_F(MysqlConnection, ends_with_what_was_sent_unknown_and_the_rest_unsent) {
    const auto connection = connect(options());
    std::vector<ErrorClass> kinds;
    const auto note = [&](Answer&& answer) {
        ASSERT_TRUE(answer.error);
        kinds.push_back(answer.error->kind);
    };
    connection->query("SELECT SLEEP(30)", note, seconds(20));
    connection->query("SELECT 1", note);
    const std::string id = std::to_string(connection->session().connection_id);
    ASSERT_TRUE(run_until([&] {
        return value("SELECT COUNT(*) FROM information_schema.processlist WHERE id=" + id +
                     " AND info LIKE 'SELECT SLEEP%'") == "1";
    }));
    sql("KILL CONNECTION " + id);
    ASSERT_TRUE(run_until([&] { return kinds.size() == 2; }));
    EXPECT_EQ(kinds[0], ErrorClass::unknown);
    EXPECT_EQ(kinds[1], ErrorClass::unsent);
    EXPECT_FALSE(connection->is_open());
    const Answer late = query(*connection, "SELECT 1");
    ASSERT_TRUE(late.error);
    EXPECT_EQ(late.error->kind, ErrorClass::unsent);
}

// How often this thread has waited for something of its own accord.
long times_slept() {
    struct rusage used {};
    EXPECT_EQ(::getrusage(RUSAGE_THREAD, &used), 0);
    return used.ru_nvcsw;
}

// For how long it has run, or could have and was not let: the rest of the time it slept.
Duration time_awake() {
    std::int64_t ran = 0;
    std::int64_t waited = 0;
    std::ifstream("/proc/thread-self/schedstat") >> ran >> waited;
    return std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(ran + waited));
}

// T-D15: what a frozen server does to the loop, in each of connect, query and close.
TEST_F(MysqlConnection, a_frozen_server_never_holds_up_the_loop) {
    ConnectOptions quick = options();
    quick.operation_timeout = seconds(1);
    const auto connection = connect(quick);
    const auto idle = connect(quick);
    quick.connect_timeout = seconds(1);
    server().freeze();
    std::optional<Error> query_error;
    std::optional<Error> connect_error;
    // Larger than every buffer on the way: the write can't be finished either.
    connection->query("SELECT LENGTH('" + std::string(4'000'000, 'x') + "')",
                      [&](Answer&& answer) { query_error = answer.error; });
    Connection other(
        context_, quick, {nullptr, [&connect_error](const Error& why) { connect_error = why; }});
    other.open();
    idle->close();
    // For which a handler slept. That the machine has interrupted it did not hold the loop up.
    Duration longest{};
    const Time begin = runtime::boot_time();
    while (!(query_error && connect_error) && runtime::boot_time() - begin < seconds(30)) {
        const Duration awake = time_awake();
        const long slept = times_slept();
        const Time before = runtime::boot_time();
        context_.restart();
        if (context_.poll_one() == 0 || times_slept() == slept) continue;
        const Duration took = runtime::boot_time() - before;
        longest = std::max(longest, took - (time_awake() - awake));
    }
    ASSERT_TRUE(query_error && connect_error);
    EXPECT_EQ(query_error->kind, ErrorClass::unknown);
    EXPECT_EQ(connect_error->kind, ErrorClass::unsent);
    EXPECT_FALSE(connect_error->is_refusal);
    const int slowness = std::getenv("LATCHD_TEST_SLOWNESS") != nullptr ? 10 : 1;
    EXPECT_LT(longest, milliseconds(20) * slowness) << "one handler held the loop up";
    EXPECT_TRUE(run_until([] { return Connection::helpers() == 0; })) << "a close hangs";
}

TEST_F(MysqlConnection, notices_its_end_while_nothing_is_asked) {
    std::optional<Error> error;
    Connection connection(context_, options(), {nullptr, [&](const Error& why) { error = why; }});
    connection.open();
    ASSERT_TRUE(run_until([&] { return connection.is_idle(); }));
    sql("KILL CONNECTION " + std::to_string(connection.session().connection_id));
    ASSERT_TRUE(run_until([&] { return error.has_value(); }));
    EXPECT_EQ(error->kind, ErrorClass::unsent);
}

TEST_F(MysqlConnection, is_closed_by_its_owner_without_a_word) {
    bool is_called = false;
    {
        const auto connection = connect(options());
        connection->query("SELECT SLEEP(5)", [&](Answer&&) { is_called = true; });
        run_until([] { return false; }, milliseconds(50));
    }
    Connection half(
        context_,
        options(),
        {[&](const Session&) { is_called = true; }, [&](const Error&) { is_called = true; }});
    half.open();
    half.close();
    run_until([] { return false; }, milliseconds(100));
    EXPECT_FALSE(is_called);
}

TEST_F(MysqlConnection, migrates_the_schema_once_whoever_else_does) {
    const auto one = connect(options());
    const auto two = connect(options());
    int done = 0;
    for (const auto& connection : {one, two}) {
        migrate(*connection, [&done](std::optional<Error> error) {
            EXPECT_FALSE(error) << describe(*error);
            ++done;
        });
    }
    ASSERT_TRUE(run_until([&] { return done == 2; }, seconds(30)));
    const std::string steps = value("SELECT COUNT(*) FROM latchd.schema_version");
    EXPECT_NE(steps, "0");
    migrate(*one, [&done](std::optional<Error> error) {
        EXPECT_FALSE(error);
        ++done;
    });
    ASSERT_TRUE(run_until([&] { return done == 3; }));
    EXPECT_EQ(value("SELECT COUNT(*) FROM latchd.schema_version"), steps);
    EXPECT_EQ(value("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='latchd' "
                    "AND engine<>'InnoDB'"),
              "0");
}

}  // namespace
}  // namespace latchd::testing
