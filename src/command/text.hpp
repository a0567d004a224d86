// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchd::command {

// ASCII only: the C library's would follow the locale.
[[nodiscard]] constexpr char to_lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr char to_upper(char c) noexcept {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

[[nodiscard]] constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (to_lower(a[i]) != to_lower(b[i])) return false;
    }
    return true;
}

[[nodiscard]] std::string lower(std::string_view text);
[[nodiscard]] std::string upper(std::string_view text);

// Digits only, no sign, no blank, no leading zero (but "0" itself). nullopt: not such a number,
// or above `max`.
[[nodiscard]] std::optional<std::uint64_t> parse_whole(std::string_view text,
                                                       std::uint64_t max) noexcept;
// As Redis reads integers: a sign is allowed, no leading zero or plus.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text) noexcept;

// For error texts: quoted, cut after 64 bytes, bytes outside 0x20-0x7e as \xNN, so that no input
// can garble a log or a terminal.
[[nodiscard]] std::string quoted(std::string_view input);

// The last 6 bytes as "*abc123": enough to compare by eye, useless for UNLOCK. "" stays "".
[[nodiscard]] std::string tail_of(std::string_view secret);

template <class Number>
void append_number(std::string& out, Number value) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace latchd::command
