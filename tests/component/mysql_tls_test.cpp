// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "mysql_fixture.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// Connections with TLS, to a server whose certificates the test makes.
namespace latchd::testing {
namespace {

using namespace store::mysql;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Tls = ConnectOptions::Tls;

class MysqlTls : public MysqlTest {
protected:
    void SetUp() override {
        MysqlTest::SetUp();
        if (IsSkipped() || HasFailure()) return;
        folder_ = server().folder() + "/tls";
        if (!std::filesystem::exists(folder_)) {
            std::filesystem::create_directory(folder_);
            const char* const make = std::getenv("MAKE_CERTIFICATES");
            ASSERT_NE(make, nullptr) << "MAKE_CERTIFICATES names no script";
            const std::string command =
                std::string(make) + ' ' + folder_ + " 2> " + folder_ + "/log";
            ASSERT_EQ(std::system(command.c_str()), 0);
        }
        serve_with("server");
    }

    // Starts the server anew with this certificate; "": without TLS.
    void serve_with(const std::string& certificate) {
        if (certificate == served_with_) return;
        served_with_ = certificate;
        server().kill_hard();
        std::vector<std::string> settings;
        if (!certificate.empty()) {
            settings = {"--ssl-ca=" + folder_ + "/ca.pem",
                        "--ssl-cert=" + folder_ + '/' + certificate + ".pem",
                        "--ssl-key=" + folder_ + '/' + certificate + ".key"};
        }
        server().start(settings);
    }

    ConnectOptions with(Tls tls, const std::string& ca = "ca") const {
        ConnectOptions with = options();
        with.host = "localhost";
        with.tls = tls;
        if (tls == Tls::verified) with.tls_ca = folder_ + '/' + ca + ".pem";
        with.connect_timeout = seconds(5);
        return with;
    }
    std::string cipher_of(Connection& connection) {
        const Answer answer = query(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'");
        return answer.is_good() ? std::string(answer.sets[0].text(0, 1)) : describe(*answer.error);
    }
    // The error with which it ends; it must not open.
    Error refused(const ConnectOptions& options) {
        std::optional<Error> error;
        bool is_open = false;
        Connection connection(context_,
                              options,
                              {[&is_open](const Session&) { is_open = true; },
                               [&error](const Error& why) { error = why; }});
        connection.open();
        EXPECT_TRUE(run_until([&] { return error || is_open; }, seconds(15)));
        EXPECT_FALSE(is_open);
        return error.value_or(Error{});
    }

    std::string folder_;
    static std::string served_with_;
};

std::string MysqlTls::served_with_;

TEST_F(MysqlTls, is_off_unless_it_is_asked_for) {
    EXPECT_EQ(cipher_of(*connect(options())), "");
    EXPECT_NE(cipher_of(*connect(with(Tls::required))), "");
}

TEST_F(MysqlTls, verifies_the_server_s_certificate_and_its_name) {
    EXPECT_NE(cipher_of(*connect(with(Tls::verified))), "");
    ConnectOptions by_address = with(Tls::verified);
    by_address.host = "127.0.0.1";
    EXPECT_NE(cipher_of(*connect(by_address)), "");
    const Error stranger = refused(with(Tls::verified, "stranger"));
    EXPECT_EQ(stranger.kind, ErrorClass::unsent) << describe(stranger);
    EXPECT_NE(describe(stranger).find("certificate"), std::string::npos) << describe(stranger);
    serve_with("other");
    const Error elsewhere = refused(with(Tls::verified));
    EXPECT_EQ(elsewhere.kind, ErrorClass::unsent) << describe(elsewhere);
    EXPECT_NE(describe(elsewhere).find("a certificate for 'localhost'"), std::string::npos)
        << describe(elsewhere);
    EXPECT_NE(cipher_of(*connect(with(Tls::required))), "") << "whoever answers";
}

TEST_F(MysqlTls, goes_on_with_no_server_that_is_without_it) {
    serve_with("");
    for (const Tls tls : {Tls::required, Tls::verified}) {
        const Error error = refused(with(tls));
        EXPECT_EQ(error.kind, ErrorClass::unsent) << describe(error);
        const bool is_named = describe(error).find("TLS") != std::string::npos ||
                              describe(error).find("SSL") != std::string::npos;
        EXPECT_TRUE(is_named) << describe(error);
    }
}

TEST_F(MysqlTls, names_a_file_of_certificates_that_is_not_there) {
    const Error error = refused(with(Tls::verified, "none"));
    EXPECT_NE(describe(error).find(folder_ + "/none.pem"), std::string::npos) << describe(error);
}

TEST_F(MysqlTls, carries_many_and_large_queries_in_order) {
    const auto connection = connect(with(Tls::verified));
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 300; ++i) {
        const std::string text(i % 10 == 0 ? 300'000 : 10, 'x');
        connection->query("SELECT '" + text + "'", [&](Answer&& answer) {
            ASSERT_TRUE(answer.is_good());
            sizes.push_back(answer.sets[0].text(0, 0).size());
        });
    }
    ASSERT_TRUE(run_until([&] { return sizes.size() == 300; }, seconds(30)));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        ASSERT_EQ(sizes[i], i % 10 == 0 ? 300'000u : 10u);
}

TEST_F(MysqlTls, tells_what_was_under_way_when_the_server_ends) {
    const auto connection = connect(with(Tls::verified));
    std::optional<Answer> answer;
    connection->query("SELECT SLEEP(5)", [&](Answer&& came) { answer = std::move(came); });
    ASSERT_TRUE(run_until([&] {
        return value(
                   "SELECT COUNT(*) FROM information_schema.processlist "
                   "WHERE INFO LIKE 'SELECT SLEEP%'") == "1";
    }));
    server().kill_hard();
    served_with_ = "-";
    ASSERT_TRUE(run_until([&] { return answer.has_value(); }));
    ASSERT_TRUE(answer->error);
    EXPECT_FALSE(answer->error->is_definite());
    serve_with("server");
    EXPECT_NE(cipher_of(*connect(with(Tls::verified))), "");
}

// Who takes a connection and says nothing: looking the name up, the handshake and the end all take
// place aside, so the loop has its turns.
TEST_F(MysqlTls, holds_the_loop_up_for_nobody) {
    boost::asio::ip::tcp::acceptor silent(context_, {boost::asio::ip::address_v4::loopback(), 0});
    ConnectOptions options = with(Tls::verified);
    options.port = silent.local_endpoint().port();
    options.connect_timeout = seconds(1);
    std::optional<Error> error;
    Connection connection(context_, options, {nullptr, [&](const Error& why) { error = why; }});

    std::size_t turns = 0;
    bool is_ticking = true;
    boost::asio::steady_timer timer(context_);
    // Ends by itself: what is cancelled may have come already, and runs after this test.
    std::function<void()> tick = [&] {
        ++turns;
        is_ticking = !error.has_value();
        if (!is_ticking) return;
        timer.expires_after(milliseconds(1));
        timer.async_wait([&tick](const boost::system::error_code&) { tick(); });
    };
    tick();
    connection.open();
    EXPECT_TRUE(run_until([&] { return error.has_value(); }));
    EXPECT_GT(turns, 50u) << "in a second, and a blocked one has none";
    error.emplace(error.value_or(Error{}));
    ASSERT_TRUE(run_until([&] { return !is_ticking; }));
}

}  // namespace
}  // namespace latchd::testing
