// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/reply_decoder.hpp>
#include <latchd/resp/value.hpp>

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace latchd::testing {

// A redis-server of its own, on a Unix socket in a temporary folder, without persistence. Ends
// with the object.
class RedisServer {
public:
    RedisServer();
    ~RedisServer();
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;

    // False: there is no redis-server on this machine.
    [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
    [[nodiscard]] const std::string& socket_path() const noexcept { return socket_path_; }

private:
    std::string folder_;
    std::string socket_path_;
    pid_t pid_ = -1;
};

// A blocking connection to it. Throws std::runtime_error when the server is gone or silent for 10
// seconds.
class RedisClient {
public:
    explicit RedisClient(const std::string& socket_path);
    ~RedisClient();
    RedisClient(const RedisClient&) = delete;
    RedisClient& operator=(const RedisClient&) = delete;

    void send(std::string_view bytes);
    [[nodiscard]] resp::Value receive();

    resp::Value round_trip(std::string_view bytes) {
        send(bytes);
        return receive();
    }
    resp::Value command(std::initializer_list<std::string_view> arguments);

private:
    int socket_ = -1;
    resp::ReplyDecoder decoder_;
};

}  // namespace latchd::testing
