// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../support/mysql_process.hpp"

#include <latchd/base/time.hpp>
#include <latchd/store/mysql/options.hpp>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <connection.hpp>
#include <functional>
#include <memory>
#include <string>

namespace latchd::testing {

// One server for the whole program, thawed and running at the start of each test; a loop and a
// fresh database for each test.
class MysqlTest : public ::testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    [[nodiscard]] static MysqlProcess& server();
    [[nodiscard]] store::mysql::ConnectOptions options() const;

    // Runs the loop until it is so; false after the limit.
    bool run_until(const std::function<bool()>& so, Duration limit = std::chrono::seconds(30));

    // On a connection of its own, as root.
    store::mysql::Answer sql(const std::string& text);
    // The first cell of the last statement.
    std::string value(const std::string& text);

    // Opened, or the error is in the failure's text.
    std::shared_ptr<store::mysql::Connection> connect(const store::mysql::ConnectOptions& options);
    store::mysql::Answer query(store::mysql::Connection& connection, const std::string& text);

    // The placement's row of cluster "c", as the arbiter would write it.
    void place(std::uint32_t since_epoch, const std::string& nonce, const std::string& state);

    boost::asio::io_context context_{1};

private:
    std::shared_ptr<store::mysql::Connection> admin_;
};

}  // namespace latchd::testing
