// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/store/mysql/options.hpp>

#include <cstddef>
#include <functional>
#include <string>

// As in mysql.h.
struct st_mysql;

namespace latchd::store::mysql {

// A MYSQL of the library and what blocks about it: the handshake with TLS, and its end. Both run on
// threads of their own, which live no longer than the library's time-outs.
class Handle {
public:
    // Called on the thread of connect_aside().
    using Connected = std::function<void(Handle&&, bool is_good)>;

    Handle() = default;
    ~Handle();
    Handle(Handle&& other) noexcept;
    Handle& operator=(Handle&& other) noexcept;

    // A fresh one, for this address (of a Unix socket: any).
    void prepare(const ConnectOptions& options, std::string address);

    // As mysql_real_connect_start.
    [[nodiscard]] int connect_start(st_mysql** result);
    // Leaves this one empty.
    void connect_aside(Connected connected);

    // Nothing is sent or received on it any more.
    void shut_down() noexcept;

    // Ends it without waiting for anybody and leaves this one empty. Idle ones say good-bye; the
    // others are shut down first, so that nothing is left to wait for.
    void close_aside(bool is_idle) noexcept;

    [[nodiscard]] st_mysql* get() const noexcept { return mysql_; }
    [[nodiscard]] static std::size_t helpers() noexcept;

private:
    st_mysql* mysql_ = nullptr;
    ConnectOptions options_;  // the library keeps pointers to the texts
    std::string address_;
};

}  // namespace latchd::store::mysql
