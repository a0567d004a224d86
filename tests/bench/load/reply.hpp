// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace latchd::load {

// One part of a reply: `kind` is RESP's first byte, '_' for any null, '*' for the head of an array.
struct Part {
    char kind = '_';
    std::string_view text;

    [[nodiscard]] std::int64_t number() const noexcept {
        std::int64_t value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
    }
};

// A reply's parts in order, arrays flattened; views into the bytes that were given. More than 16
// parts are dropped: no reply that is measured has them.
struct Reply {
    std::array<Part, 16> parts;
    std::size_t count = 0;

    [[nodiscard]] const Part& operator[](std::size_t i) const noexcept { return parts[i]; }
    [[nodiscard]] bool is_error() const noexcept { return parts[0].kind == '-'; }
    [[nodiscard]] bool is_null() const noexcept { return parts[0].kind == '_'; }
    // An error of latchd that says: nothing is wrong with the command, ask again later.
    [[nodiscard]] bool is_store_away() const noexcept {
        return is_error() &&
               (parts[0].text.starts_with("NOSTORE ") || parts[0].text.starts_with("UNCERTAIN "));
    }
};

enum class Parsed : std::uint8_t { whole, more, broken };

// Reads the reply at `at` and moves `at` behind it when it is whole.
[[nodiscard]] Parsed parse_reply(std::string_view data, std::size_t& at, Reply& reply) noexcept;

}  // namespace latchd::load
