// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/config/address.hpp>

#include <algorithm>

namespace latchd::config {

bool Address::is_loopback() const {
    if (is_unix() || host == "localhost" || host == "::1") return true;
    // A name such as 127.example.org is not a literal.
    const bool literal = std::all_of(
        host.begin(), host.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
    return literal && host.starts_with("127.");
}

std::string Address::to_string() const {
    if (is_unix()) return "unix:" + path;
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace latchd::config
