// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace latchd::resp {

// One value of a RESP2 reply.
struct Value {
    enum class Type : std::uint8_t {
        null,           // null bulk string or null array
        simple_string,  // string: the line
        error,          // string: the line without '-', code word first
        integer,        // integer
        bulk,           // string: any bytes
        array,          // elements
    };

    Type type = Type::null;
    std::int64_t integer = 0;
    std::string string;
    std::vector<Value> elements;

    [[nodiscard]] bool is(Type other) const noexcept { return type == other; }

    friend bool operator==(const Value&, const Value&) = default;
};

}  // namespace latchd::resp
