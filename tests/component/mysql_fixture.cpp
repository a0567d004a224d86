// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "mysql_fixture.hpp"

#include <latchd/runtime/clock.hpp>

#include <optional>
#include <utility>

namespace latchd::testing {

using namespace store::mysql;

namespace {

std::unique_ptr<MysqlProcess>& shared_server() {
    static std::unique_ptr<MysqlProcess> server;
    return server;
}

// Ends the server before the program's statics go.
class EndOfServer : public ::testing::Environment {
public:
    void TearDown() override { shared_server().reset(); }
};
const ::testing::Environment* const end_of_server =
    ::testing::AddGlobalTestEnvironment(new EndOfServer);

}  // namespace

MysqlProcess& MysqlTest::server() {
    auto& server = shared_server();
    if (!server) server = std::make_unique<MysqlProcess>();
    return *server;
}

void MysqlTest::SetUp() {
    if (!MysqlProcess::is_installed()) GTEST_SKIP() << "mariadbd is not installed";
    if (server().is_running()) {
        server().thaw();
    } else {
        server().start();
    }
    ASSERT_TRUE(sql("DROP DATABASE IF EXISTS latchd;CREATE DATABASE latchd").is_good());
}

void MysqlTest::TearDown() {
    if (IsSkipped()) return;
    admin_.reset();
    server().thaw();
    EXPECT_TRUE(run_until([] { return Connection::helpers() == 0; }));
}

ConnectOptions MysqlTest::options() const {
    ConnectOptions options;
    options.port = server().port();
    options.username = "root";
    // Who is not about time-outs has time for a busy machine's commits and connections.
    options.connect_timeout = options.operation_timeout = std::chrono::seconds(5);
    return options;
}

bool MysqlTest::run_until(const std::function<bool()>& so, Duration limit) {
    const Time until = runtime::boot_time() + limit;
    while (!so()) {
        if (runtime::boot_time() > until) return false;
        context_.restart();
        context_.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
}

std::shared_ptr<Connection> MysqlTest::connect(const ConnectOptions& options) {
    struct Seen {
        bool is_open = false;
        std::optional<Error> error;
    };
    const auto seen = std::make_shared<Seen>();
    auto connection = std::make_shared<Connection>(
        context_,
        options,
        Connection::User{[seen](const Session&) { seen->is_open = true; },
                         [seen](const Error& why) { seen->error = why; }});
    connection->open();
    EXPECT_TRUE(run_until([&] { return seen->is_open || seen->error; }));
    if (seen->error) ADD_FAILURE() << describe(*seen->error);
    return connection;
}

Answer MysqlTest::query(Connection& connection, const std::string& text) {
    auto answer = std::make_shared<std::optional<Answer>>();
    connection.query(text, [answer](Answer&& came) { *answer = std::move(came); });
    EXPECT_TRUE(run_until([&] { return answer->has_value(); })) << text;
    if (!*answer) return {{}, Error{0, "", "no answer", ErrorClass::unknown, false}};
    return std::move(**answer);
}

Answer MysqlTest::sql(const std::string& text) {
    context_.restart();
    context_.poll();  // a server that was killed since is noticed
    if (!admin_ || !admin_->is_open()) {
        ConnectOptions as_root = options();
        as_root.path = server().socket_path();
        as_root.database.clear();
        as_root.operation_timeout = std::chrono::seconds(30);
        admin_ = connect(as_root);
    }
    return query(*admin_, text);
}

void MysqlTest::place(std::uint32_t since_epoch,
                      const std::string& nonce,
                      const std::string& state) {
    const Answer answer = sql(
        "CREATE TABLE IF NOT EXISTS latchd.placement (cluster VARBINARY(64) NOT NULL,"
        "name VARBINARY(64) NOT NULL,since_epoch BIGINT UNSIGNED NOT NULL,"
        "state ENUM('settling','open') NOT NULL,nonce VARBINARY(64) NOT NULL,"
        "PRIMARY KEY (cluster,name)) ENGINE=InnoDB;"
        "INSERT INTO latchd.placement (cluster,name,since_epoch,state,nonce) VALUES ('c','main'," +
        std::to_string(since_epoch) + ",'" + state + "','" + nonce +
        "') ON DUPLICATE KEY UPDATE since_epoch=VALUES(since_epoch),state=VALUES(state),"
        "nonce=VALUES(nonce)");
    ASSERT_TRUE(answer.is_good()) << describe(*answer.error);
}

std::string MysqlTest::value(const std::string& text) {
    const Answer answer = sql(text);
    if (answer.error) {
        ADD_FAILURE() << text << ": " << describe(*answer.error);
        return {};
    }
    return std::string(answer.sets.back().text(0, 0));
}

}  // namespace latchd::testing
