// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace latchd::config {

// Where to listen or to connect to: a TCP host and port, or a Unix socket.
struct Address {
    std::string host;        // name or literal, IPv6 without its brackets; empty for a Unix socket
    std::uint16_t port = 0;  // 0 lets the kernel choose (listeners only)
    std::string path;        // absolute path of the Unix socket; empty for TCP

    [[nodiscard]] bool is_unix() const noexcept { return !path.empty(); }
    // Reachable from this host alone, judged by the text: nothing is resolved.
    [[nodiscard]] bool is_loopback() const;
    // As the configuration writes it: `host:port`, `[v6]:port` or `unix:/path`.
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace latchd::config
