// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/resp/limits.hpp>
#include <latchd/runtime/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace latchd::server {

// Where clients come in: a TCP host and port, or a Unix socket.
struct Endpoint {
    std::string host;        // name or literal, IPv6 without its brackets; empty for a Unix socket
    std::uint16_t port = 0;  // 0: the kernel chooses
    std::string path;        // of the Unix socket; empty for TCP

    [[nodiscard]] bool is_unix() const noexcept { return !path.empty(); }
    [[nodiscard]] std::string to_string() const;  // "host:port", "[v6]:port", "unix:/path"
};

struct ListenerOptions {
    Endpoint endpoint;
    std::size_t clients_max = 10'000;
    Duration idle_timeout{};  // a client that sends nothing for so long is closed; 0: never
    // Several loops share a TCP port by SO_REUSEPORT. The first binds it as if it were alone, so
    // that a second process is refused, and shares it then.
    enum class Sharing : std::uint8_t { alone, first, further };
    Sharing sharing = Sharing::alone;
};

// What one connection may make us hold.
struct SessionLimits {
    resp::RequestLimits requests;
    // Bytes read ahead while the commands before them aren't answered. Then the client isn't read.
    std::size_t input_bytes_max = 1024 * 1024;
    // Unsent replies; above, the client's commands wait. A push that doesn't fit closes it.
    std::size_t output_bytes_max = 1024 * 1024;
    std::size_t in_flight_max = 1'024;  // commands given to the core and not yet answered
};

struct Options {
    std::vector<ListenerOptions> listeners;
    runtime::TcpOptions tcp;
    SessionLimits session;
    // Of the process, for INFO.
    std::string run_id;
    std::string config_file;
    std::uint32_t threads = 1;  // loops
};

}  // namespace latchd::server
