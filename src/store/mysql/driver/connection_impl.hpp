// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"
#include "handle.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <mysql.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace latchd::store::mysql {

namespace asio = boost::asio;
using boost::system::error_code;

struct Query {
    std::string text;
    Connection::Done done;
    std::optional<Duration> limit;
    bool is_own = false;  // the connection's, which nobody asked for
};

// Where a helper's thread finds the loop, for as long as somebody waits there.
struct Mailbox {
    std::mutex mutex;
    asio::io_context* context = nullptr;
};

class Connection::Impl : public std::enable_shared_from_this<Impl> {
public:
    Impl(asio::io_context& context, const ConnectOptions& options, User user)
        : context_(context),
          options_(options),
          user_(std::move(user)),
          resolver_(context),
          watched_(context),
          timer_(context) {}

    void open();
    void end();
    void query(Query&& query);

    [[nodiscard]] bool is_open() const noexcept { return is_open_; }
    [[nodiscard]] bool is_idle() const noexcept { return is_open_ && !current_ && queue_.empty(); }
    [[nodiscard]] const Session& session() const noexcept { return session_; }

private:
    enum class Step : std::uint8_t { none, connect, send, store, next, roll_back };

    void resolve();
    void connect_next();
    void connect_to(std::string address);
    void connected(MYSQL* result);
    void greet();
    void greeted(Answer&& answer);

    void begin_next();
    void watch_idle();
    [[nodiscard]] bool is_readable();
    void start_step(Step step);
    int start(Step step);
    int cont(Step step, int ready);
    void proceed(int wanted);
    void ended(Step step);
    void result_stored();
    void statement_failed();
    void query_done();

    void wait(int wanted);
    bool watch(int fd);
    void ready(int flags);
    void arm(Duration limit, const char* waiting_for);
    void sleep(Time now);
    void on_time();
    void fail(Error error);
    void close();
    void drop_handle();
    [[nodiscard]] Error last_error(bool connecting) const;
    [[nodiscard]] std::string wanted_certificate() const;
    [[nodiscard]] Query choose_database() const;
    [[nodiscard]] bool is_stale(std::uint64_t serial) const {
        return is_over_ || serial != serial_;
    }

    asio::io_context& context_;
    const ConnectOptions options_;
    User user_;
    asio::ip::tcp::resolver resolver_;
    asio::posix::stream_descriptor watched_;
    asio::steady_timer timer_;
    std::optional<Time> due_;
    std::optional<Time> wakes_;  // when the timer goes off, at the latest
    const char* waiting_for_ = "";

    Handle handle_;
    MYSQL* connect_result_ = nullptr;
    int int_result_ = 0;
    MYSQL_RES* stored_ = nullptr;
    std::vector<std::string> addresses_;  // the library keeps pointers into them
    std::size_t next_address_ = 0;
    std::optional<Error> connect_error_;

    bool is_open_ = false;
    bool is_over_ = false;
    Session session_;
    Step step_ = Step::none;
    std::uint64_t serial_ = 0;  // of the wait: a ready socket of a former one is ignored
    std::deque<Query> queue_;
    std::optional<Query> current_;
    Answer answer_;
    bool posted_ = false;
    std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace latchd::store::mysql
