// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "request_scan.hpp"

#include <algorithm>
#include <charconv>

namespace latchd::resp {

std::optional<std::int64_t> parse_integer(std::string_view text) noexcept {
    const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
    if (digits.empty() || (digits.front() == '0' && text.size() > 1)) {
        return std::nullopt;
    }
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) {
        return std::nullopt;
    }
    return value;
}

namespace {

// The number between a type byte and its line end, of 1 to `digits_max` digits; moves `at` behind
// the line end. -1: it is anything else, or not all there. There must be digits_max + 3 bytes at
// `at`.
inline std::ptrdiff_t plain_number(const char*& at, std::ptrdiff_t digits_max) noexcept {
    const char* digit = at + 1;
    std::ptrdiff_t value = 0;
    while (*digit >= '0' && *digit <= '9' && digit - at <= digits_max) {
        value = value * 10 + (*digit++ - '0');
    }
    const bool is_plain = digit != at + 1 && (at[1] != '0' || digit == at + 2) &&
                          digit[0] == '\r' && digit[1] == '\n';
    at = digit + 2;
    return is_plain ? value : -1;
}

}  // namespace

std::size_t take_plain_request(std::string_view message,
                               const RequestLimits& limits,
                               ClientTrust trust,
                               std::vector<std::string_view>& arguments) {
    constexpr std::ptrdiff_t count_digits_max = 2;
    constexpr std::ptrdiff_t size_digits_max = 4;
    const bool is_known = trust == ClientTrust::authenticated;
    const std::size_t count_max =
        is_known ? limits.arguments_max
                 : std::min(limits.arguments_max, limits.unauthenticated_arguments_max);
    const std::size_t bytes_max =
        is_known ? limits.bulk_bytes_max
                 : std::min(limits.bulk_bytes_max, limits.unauthenticated_bulk_bytes_max);
    const std::string_view in_reach = message.substr(0, limits.request_bytes_max);
    const char* const end = in_reach.data() + in_reach.size();
    const char* at = in_reach.data();
    if (end - at < count_digits_max + 3) return 0;
    const std::ptrdiff_t count = plain_number(at, count_digits_max);
    if (count <= 0 || static_cast<std::size_t>(count) > count_max) return 0;
    arguments.clear();
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        if (end - at < size_digits_max + 3 || *at != '$') return 0;
        const std::ptrdiff_t bytes = plain_number(at, size_digits_max);
        if (bytes < 0 || static_cast<std::size_t>(bytes) > bytes_max || end - at < bytes + 2 ||
            at[bytes] != '\r' || at[bytes + 1] != '\n') {
            return 0;
        }
        arguments.emplace_back(at, static_cast<std::size_t>(bytes));
        at += bytes + 2;
    }
    return static_cast<std::size_t>(at - in_reach.data());
}

RequestScan::Status RequestScan::advance(std::string_view message,
                                         const RequestLimits& limits,
                                         ClientTrust trust) {
    if (bulks_left_ == unknown) {
        const Status status = read_count(message, limits, trust);
        if (status != Status::complete) {
            return status;
        }
    }
    const std::size_t bulk_bytes_max =
        trust == ClientTrust::authenticated
            ? limits.bulk_bytes_max
            : std::min(limits.bulk_bytes_max, limits.unauthenticated_bulk_bytes_max);
    skip_plain_bulks(message.substr(0, limits.request_bytes_max), bulk_bytes_max);
    while (bulks_left_ > 0) {
        if (bulk_bytes_ == unknown) {
            const Status status = read_bulk_header(message, limits, trust);
            if (status != Status::complete) {
                return status;
            }
        }
        const auto bytes = static_cast<std::size_t>(bulk_bytes_);
        if (message.size() - offset_ < bytes + 2) {
            return Status::need_more;
        }
        // Redis skips these two bytes unseen. A client that counts characters instead of bytes
        // would then run out of step with the replies; here it is told.
        const char* end = message.data() + offset_ + bytes;
        if (end[0] != '\r' || end[1] != '\n') {
            return fail("invalid bulk length");
        }
        offset_ += bytes + 2;
        bulk_bytes_ = unknown;
        --bulks_left_;
    }
    return Status::complete;
}

RequestScan::Status RequestScan::read_count(std::string_view message,
                                            const RequestLimits& limits,
                                            ClientTrust trust) {
    switch (read_line(message, limits.line_bytes_max)) {
        case Line::incomplete:
            return Status::need_more;
        case Line::too_long:
            return fail("too big mbulk count string");
        case Line::not_a_number:
            return fail("invalid multibulk length");
        case Line::number:
            break;
    }
    if (number_ <= 0) {
        return Status::passed_over;
    }
    const auto count = static_cast<std::uint64_t>(number_);
    if (count > limits.arguments_max) {
        return fail("invalid multibulk length");
    }
    if (trust == ClientTrust::unauthenticated && count > limits.unauthenticated_arguments_max) {
        return fail("unauthenticated multibulk length");
    }
    bulks_left_ = number_;
    return Status::complete;
}

RequestScan::Status RequestScan::read_bulk_header(std::string_view message,
                                                  const RequestLimits& limits,
                                                  ClientTrust trust) {
    if (offset_ == message.size()) {
        return Status::need_more;
    }
    const char type = message[offset_];
    if (type != '$') {
        // Printable only: the text goes to logs as well.
        const char shown = type > ' ' && type <= '~' ? type : '?';
        return fail(std::string("expected '$', got '") + shown + "'");
    }
    switch (read_line(message, limits.line_bytes_max)) {
        case Line::incomplete:
            return Status::need_more;
        case Line::too_long:
            return fail("too big bulk count string");
        case Line::not_a_number:
            return fail("invalid bulk length");
        case Line::number:
            break;
    }
    if (number_ < 0 || static_cast<std::uint64_t>(number_) > limits.bulk_bytes_max ||
        offset_ + static_cast<std::size_t>(number_) + 2 > limits.request_bytes_max) {
        return fail("invalid bulk length");
    }
    if (trust == ClientTrust::unauthenticated &&
        static_cast<std::uint64_t>(number_) > limits.unauthenticated_bulk_bytes_max) {
        return fail("unauthenticated bulk length");
    }
    bulk_bytes_ = number_;
    return Status::complete;
}

// Passes over the bulks that have all arrived, are short and have nothing wrong with them, which is
// nearly all there are. Stops before any other and leaves it to the careful way.
void RequestScan::skip_plain_bulks(std::string_view message, std::size_t bulk_bytes_max) noexcept {
    constexpr std::ptrdiff_t digits_max = 4;
    const char* const end = message.data() + message.size();
    const char* bulk = message.data() + offset_;
    std::int64_t left = bulk_bytes_ == unknown ? bulks_left_ : 0;
    bulks_left_ -= left;
    for (; left > 0 && end - bulk > digits_max + 4 && *bulk == '$'; --left) {
        const char* at = bulk + 1;
        std::size_t bytes = 0;
        while (*at >= '0' && *at <= '9' && at - bulk <= digits_max) {
            bytes = bytes * 10 + static_cast<std::size_t>(*at++ - '0');
        }
        const bool is_plain = at != bulk + 1 && bulk[1] != '0' && at[0] == '\r' && at[1] == '\n' &&
                              bytes <= bulk_bytes_max &&
                              static_cast<std::size_t>(end - at) >= bytes + 4 &&
                              at[2 + bytes] == '\r' && at[3 + bytes] == '\n';
        if (!is_plain) {
            break;
        }
        bulk = at + bytes + 4;
    }
    bulks_left_ += left;
    offset_ = static_cast<std::size_t>(bulk - message.data());
}

// The type byte is at offset_ and known. On a number, offset_ is past the line end.
RequestScan::Line RequestScan::read_line(std::string_view message, std::size_t line_bytes_max) {
    // Nearly every header is one to four digits and a line end.
    constexpr std::ptrdiff_t digits_max = 9;
    const char* first = message.data() + offset_ + 1;
    const char* end = message.data() + message.size();
    const char* at = first;
    std::int64_t value = 0;
    while (at < end && *at >= '0' && *at <= '9' && at - first < digits_max) {
        value = value * 10 + (*at++ - '0');
    }
    const bool leading_zero = at - first > 1 && *first == '0';
    if (at == first || leading_zero || end - at < 2 || at[0] != '\r' || at[1] != '\n') {
        return read_long_line(message, line_bytes_max);
    }
    number_ = value;
    offset_ = static_cast<std::size_t>(at + 2 - message.data());
    return Line::number;
}

RequestScan::Line RequestScan::read_long_line(std::string_view message,
                                              std::size_t line_bytes_max) {
    const std::size_t begin = offset_ + 1;
    const std::string_view in_reach = message.substr(0, begin + line_bytes_max + 2);
    const std::size_t line_end = in_reach.find("\r\n", std::max(begin, searched_));
    if (line_end == std::string_view::npos) {
        if (in_reach.size() == begin + line_bytes_max + 2) {
            return Line::too_long;
        }
        searched_ = message.size() - 1;  // it may be a CR
        return Line::incomplete;
    }
    const auto number = parse_integer(message.substr(begin, line_end - begin));
    if (!number) {
        return Line::not_a_number;
    }
    number_ = *number;
    offset_ = line_end + 2;
    return Line::number;
}

RequestScan::Status RequestScan::fail(std::string_view error) {
    error_ = "Protocol error: ";
    error_ += error;
    return Status::failed;
}

}  // namespace latchd::resp
