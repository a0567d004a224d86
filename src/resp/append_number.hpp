// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace latchd::resp {

// A type byte, a number and the line end: an integer or the header of what follows.
template <std::integral Number>
void append_number_line(std::string& out, char type, Number number) {
    char text[24];
    text[0] = type;
    char* end = std::to_chars(text + 1, text + sizeof text - 2, number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(text, static_cast<std::size_t>(end - text));
}

inline void append_bulk(std::string& out, std::string_view bytes) {
    append_number_line(out, '$', bytes.size());
    out.append(bytes);
    out.append("\r\n", 2);
}

}  // namespace latchd::resp
