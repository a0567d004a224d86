// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../dialect/answer.hpp"
#include "../dialect/session.hpp"

#include <latchd/store/mysql/options.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace latchd::store::mysql {

// One connection to a server, on the loop; nothing here blocks it. Names are looked up by Asio's
// resolver, a TLS handshake and the library's close run on a thread of their own.
//
// Queries are carried out one after another, in the order of query(). A text may have several
// statements with `;` between them: one round trip, e.g. "START TRANSACTION;…;COMMIT". After an
// error a transaction that is open is rolled back before the callback is called. An error of a
// COMMIT says nothing certain, whatever its class: the caller knows which statement that was.
//
// The library's reconnecting is off: a connection that ended stays so, and no statement is ever
// sent twice. Loop thread only. Callbacks are called from the loop, never from within query().
class Connection {
public:
    using Done = std::function<void(Answer&&)>;

    struct User {
        // Settings are set and verified, the server is known.
        std::function<void(const Session&)> opened;
        // Once, unless close() was called. After the callbacks of all queries: the one under way
        // failed as unknown, those behind it as unsent.
        std::function<void(const Error&)> closed;
    };

    Connection(boost::asio::io_context& context, const ConnectOptions& options, User user);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void open();
    // No callback is called any more. What is under way may still be carried out by the server.
    void close();

    // `limit`: of this query instead of operation_timeout; without an answer the connection ends.
    void query(std::string text, Done done, std::optional<Duration> limit = std::nullopt);

    [[nodiscard]] bool is_open() const noexcept;
    [[nodiscard]] bool is_idle() const noexcept;  // open, and nothing under way or waiting
    [[nodiscard]] const Session& session() const noexcept;  // once opened

    // Threads that still carry out a close or a handshake of this process; for tests.
    [[nodiscard]] static std::size_t helpers() noexcept;

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace latchd::store::mysql
