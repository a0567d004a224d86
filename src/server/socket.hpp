// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "accepted.hpp"

#include <string>
#include <sys/socket.h>
#include <vector>

namespace latchd::server {

// Listening sockets, non-blocking. Throw std::runtime_error that names address and reason.
[[nodiscard]] std::vector<Descriptor> listen_on_tcp(const ListenerOptions& options);
[[nodiscard]] Descriptor listen_on_unix(const std::string& path);

// Where the socket is bound, or what it is connected to.
[[nodiscard]] Endpoint endpoint_of(const sockaddr_storage& address);
[[nodiscard]] Endpoint local_endpoint(int descriptor);

}  // namespace latchd::server
