// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace latchd::resp {

// What one client may ask us to hold in memory for one request. Every limit is checked on the
// length that the client announces, before anything is reserved for it.
struct RequestLimits {
    std::size_t arguments_max = 1024;
    std::size_t bulk_bytes_max = 64 * 1024;
    std::size_t request_bytes_max = 1024 * 1024;  // one request with its headers
    std::size_t line_bytes_max = 64 * 1024;       // an inline command, or a header line

    // Before AUTH, as Redis has them: a stranger gets no more than this.
    std::size_t unauthenticated_arguments_max = 10;
    std::size_t unauthenticated_bulk_bytes_max = 16 * 1024;
};

// Which of the limits apply. Where no password is configured, clients are authenticated from the
// first byte on.
enum class ClientTrust {
    unauthenticated,  // AUTH is required and has not succeeded yet
    authenticated,    // AUTH has succeeded or is not required
};

// What a store may send us in one reply.
struct ReplyLimits {
    std::size_t bulk_bytes_max = 16 * 1024 * 1024;
    std::size_t elements_max = 1'000'000;            // of all arrays of one reply together
    std::size_t reply_bytes_max = 64 * 1024 * 1024;  // of all strings of one reply together
    std::size_t line_bytes_max = 64 * 1024;          // a status, an error, a header line
};

}  // namespace latchd::resp
