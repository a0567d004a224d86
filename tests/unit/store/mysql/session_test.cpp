// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <session.hpp>
#include <string>
#include <variant>
#include <vector>

namespace latchd::testing {
namespace {

using namespace store::mysql;

std::map<std::string, std::string> mariadb() {
    return {{"time_zone", "+00:00"},
            {"autocommit", "ON"},
            {"sql_mode", "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES"},
            {"innodb_lock_wait_timeout", "1"},
            {"tx_isolation", "READ-COMMITTED"},
            {"server_uid", "abc="},
            {"server_id", "7"},
            {"hostname", "db1"},
            {"port", "3306"},
            {"read_only", "OFF"},
            {"innodb_read_only", "OFF"},
            {"innodb_flush_log_at_trx_commit", "1"},
            {"version", "10.11.6-MariaDB"},
            {"max_allowed_packet", "16777216"}};
}

std::variant<Session, std::string> read(const std::map<std::string, std::string>& settings) {
    std::vector<Rows> answers(3);
    answers.emplace_back(1).add("42", 2);
    Rows& variables = answers.emplace_back(2);
    for (const auto& [name, value] : settings) {
        variables.add(name.data(), name.size());
        variables.add(value.data(), value.size());
    }
    return read_session(answers);
}

TEST(MysqlSession, a_server_is_known_by_its_uuid_or_by_what_stands_for_it) {
    auto settings = mariadb();
    const Session maria = std::get<Session>(read(settings));
    EXPECT_EQ(maria.identity.run_id, "abc=:7:db1:3306");
    EXPECT_EQ(maria.connection_id, 42u);
    EXPECT_TRUE(maria.is_mariadb);
    EXPECT_TRUE(maria.is_durable);
    EXPECT_EQ(maria.packet_max, 16777216u);
    settings.erase("server_uid");
    settings.erase("tx_isolation");
    settings["transaction_isolation"] = "READ-COMMITTED";
    settings["server_uuid"] = "6f5c-1";
    settings["version"] = "8.0.36";
    const Session mysql = std::get<Session>(read(settings));
    EXPECT_EQ(mysql.identity.run_id, "6f5c-1");
    EXPECT_FALSE(mysql.is_mariadb);
}

TEST(MysqlSession, a_read_only_server_is_a_replica) {
    for (const char* const name : {"read_only", "super_read_only", "innodb_read_only"}) {
        auto settings = mariadb();
        settings[name] = "ON";
        EXPECT_EQ(std::get<Session>(read(settings)).identity.role, core::authority::Role::replica);
    }
    EXPECT_EQ(std::get<Session>(read(mariadb())).identity.role, core::authority::Role::master);
}

TEST(MysqlSession, a_setting_that_did_not_take_makes_the_connection_useless) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"time_zone", "SYSTEM"},
        {"autocommit", "OFF"},
        {"innodb_lock_wait_timeout", "50"},
        {"tx_isolation", "REPEATABLE-READ"},
        {"sql_mode", "NO_BACKSLASH_ESCAPES"},
        {"sql_mode", "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,SIMULTANEOUS_ASSIGNMENT"}};
    for (const auto& [name, value] : wrong) {
        auto settings = mariadb();
        settings[name] = value;
        const auto answer = read(settings);
        ASSERT_TRUE(std::holds_alternative<std::string>(answer)) << name;
        EXPECT_NE(std::get<std::string>(answer).find(name), std::string::npos);
    }
    EXPECT_TRUE(std::holds_alternative<std::string>(read_session({})));
}

TEST(MysqlSession, no_byte_leaves_a_literal) {
    EXPECT_EQ(literal(""), "''");
    EXPECT_EQ(literal(std::string("\0'\\\xff", 4)), "x'00275cff'");
}

}  // namespace
}  // namespace latchd::testing
