// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "handle.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mysql.h>
#include <new>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <utility>

namespace latchd::store::mysql {
namespace {

// More would mean that every close hangs; then a socket is shut down and its memory is lost.
constexpr std::size_t helpers_max = 64;
std::atomic<std::size_t> running{0};

// False: there is no thread to be had.
bool run_aside(std::function<void()> work) {
    if (running.load() >= helpers_max) return false;
    ++running;
    try {
        std::thread([work = std::move(work)] {
            work();
            --running;
        }).detach();
    } catch (const std::system_error&) {
        --running;
        return false;
    }
    return true;
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

Handle::~Handle() { close_aside(false); }

Handle::Handle(Handle&& other) noexcept
    : mysql_(std::exchange(other.mysql_, nullptr)),
      options_(std::move(other.options_)),
      address_(std::move(other.address_)) {}

Handle& Handle::operator=(Handle&& other) noexcept {
    std::swap(mysql_, other.mysql_);
    std::swap(options_, other.options_);
    std::swap(address_, other.address_);
    return *this;
}

void Handle::prepare(const ConnectOptions& options, std::string address) {
    close_aside(false);
    static const int library = mysql_server_init(0, nullptr, nullptr);
    (void)library;
    options_ = options;
    address_ = options_.path.empty() ? std::move(address) : "localhost";
    mysql_ = mysql_init(nullptr);
    if (mysql_ == nullptr) throw std::bad_alloc();
    mysql_options(mysql_, MYSQL_OPT_NONBLOCK, nullptr);
    const my_bool off = 0;
    const my_bool on = 1;
    mysql_options(mysql_, MYSQL_OPT_RECONNECT, &off);
    const unsigned protocol = options_.path.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
    mysql_options(mysql_, MYSQL_OPT_PROTOCOL, &protocol);
    // Bounds of the threads below; on the loop the deadlines are the connection's own.
    const auto seconds = static_cast<unsigned>(
        std::max<std::int64_t>(1, (to_ms(options_.connect_timeout) + 999) / 1000));
    mysql_options(mysql_, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_options(mysql_, MYSQL_OPT_READ_TIMEOUT, &seconds);
    mysql_options(mysql_, MYSQL_OPT_WRITE_TIMEOUT, &seconds);
    mysql_options(mysql_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (options_.tls == ConnectOptions::Tls::off) return;
    mysql_options(mysql_, MYSQL_OPT_SSL_ENFORCE, &on);
    if (!options_.tls_ca.empty()) {
        mysql_options(mysql_, MYSQL_OPT_SSL_CA, options_.tls_ca.c_str());
    }
    if (options_.tls == ConnectOptions::Tls::verified) {
        mysql_options(mysql_, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
    }
}

int Handle::connect_start(MYSQL** result) {
    return mysql_real_connect_start(result,
                                    mysql_,
                                    or_null(address_),
                                    options_.username.c_str(),
                                    options_.password.c_str(),
                                    or_null(options_.database),
                                    options_.port,
                                    or_null(options_.path),
                                    CLIENT_MULTI_STATEMENTS);
}

void Handle::connect_aside(Connected connected) {
    auto own = std::make_shared<Handle>(std::move(*this));
    const bool is_running = run_aside([own, connected] {
        const MYSQL* const result = mysql_real_connect(own->mysql_,
                                                       or_null(own->address_),
                                                       own->options_.username.c_str(),
                                                       own->options_.password.c_str(),
                                                       or_null(own->options_.database),
                                                       own->options_.port,
                                                       or_null(own->options_.path),
                                                       CLIENT_MULTI_STATEMENTS);
        connected(std::move(*own), result != nullptr);
    });
    if (!is_running) connected(std::move(*own), false);
}

void Handle::shut_down() noexcept {
    const my_socket socket = mysql_get_socket(mysql_);
    if (socket != MARIADB_INVALID_SOCKET) ::shutdown(socket, SHUT_RDWR);
}

void Handle::close_aside(bool is_idle) noexcept {
    if (mysql_ == nullptr) return;
    if (!is_idle) shut_down();
    MYSQL* const mysql = std::exchange(mysql_, nullptr);
    // Without a thread it is lost: better than a loop that stands still.
    (void)run_aside([mysql, options = options_, address = address_] { mysql_close(mysql); });
}

std::size_t Handle::helpers() noexcept { return running.load(); }

}  // namespace latchd::store::mysql
