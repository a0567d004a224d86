// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

namespace latchd::runtime {

// How soon a connection notices that its peer is gone, for clients and stores alike.
struct TcpOptions {
    Duration keepalive = std::chrono::seconds(60);     // silence before the first probe; 0: off
    Duration user_timeout = std::chrono::seconds(30);  // unacknowledged data; 0: the kernel's own
};

// For a connected TCP socket; turns Nagle's algorithm off, too. What the kernel refuses is left
// out: these only help to notice a dead peer sooner.
void set_tcp_options(int descriptor, const TcpOptions& options) noexcept;

}  // namespace latchd::runtime
