// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::resp {

// Finds where a request that is an array ends, without keeping any of it.
//
// It stands before hiredis' reader because that reader, made for replies of a server that one
// trusts, accepts *2147483647 and waits, takes any type as an element, and has words of its own
// for what is wrong. What passes here is an array of bulk strings within the limits, and the
// reader never sees anything else, nor a part of a request.
//
// Remembers where it stopped, so that a request that comes byte by byte costs no more than one
// that comes at once.
class RequestScan {
public:
    enum class Status {
        need_more,    // not all has arrived
        complete,     // size() bytes are one request
        passed_over,  // size() bytes are an array without elements
        failed,       // see error()
    };

    // The message begins with '*', and with the bytes that it had at the last call. Not to be
    // called again after complete or passed_over without reset(), nor ever after failed.
    [[nodiscard]] Status advance(std::string_view message,
                                 const RequestLimits& limits,
                                 ClientTrust trust);

    [[nodiscard]] std::size_t size() const noexcept { return offset_; }
    // Whether the next advance() is the first one for its message.
    [[nodiscard]] bool is_at_begin() const noexcept { return bulks_left_ == unknown; }
    [[nodiscard]] const std::string& error() const noexcept { return error_; }
    void reset() noexcept {
        offset_ = 0;
        searched_ = 0;
        bulks_left_ = unknown;
        bulk_bytes_ = unknown;
    }

private:
    enum class Line { incomplete, number, not_a_number, too_long };

    void skip_plain_bulks(std::string_view message, std::size_t bulk_bytes_max) noexcept;
    Line read_line(std::string_view message, std::size_t line_bytes_max);
    Line read_long_line(std::string_view message, std::size_t line_bytes_max);
    Status read_count(std::string_view message, const RequestLimits& limits, ClientTrust trust);
    Status read_bulk_header(std::string_view message,
                            const RequestLimits& limits,
                            ClientTrust trust);
    Status fail(std::string_view error);

    static constexpr std::int64_t unknown = -1;

    std::size_t offset_ = 0;    // what was read, from the begin of the message
    std::size_t searched_ = 0;  // no line end before this offset
    std::int64_t number_ = 0;   // of the last line read
    std::int64_t bulks_left_ = unknown;
    std::int64_t bulk_bytes_ = unknown;  // of the bulk whose header was read
    std::string error_;
};

// Reads a request that has arrived whole and has nothing unusual about it (no more arguments than
// two digits say, no argument of 10,000 bytes), which nearly all are: notes where its arguments lie
// and returns its size. 0: it has to be read with care, by RequestScan and hiredis' reader.
[[nodiscard]] std::size_t take_plain_request(std::string_view message,
                                             const RequestLimits& limits,
                                             ClientTrust trust,
                                             std::vector<std::string_view>& arguments);

// Digits with an optional minus; no other sign, no leading zeros, no blanks: what Redis takes.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text) noexcept;

}  // namespace latchd::resp
