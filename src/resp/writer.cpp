// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "append_number.hpp"

#include <latchd/resp/writer.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace latchd::resp {
namespace {

// std::to_chars writes "nan" and "inf" as RESP3 wants them, but "-nan" for a NaN with a sign.
std::string_view real_text(double value, char* begin, char* end) noexcept {
    if (std::isnan(value)) {
        return "nan";
    }
    return {begin, std::to_chars(begin, end, value).ptr};
}

}  // namespace

void Writer::line(char type, std::string_view text) {
    out_.push_back(type);
    const std::size_t begin = out_.size();
    out_.append(text);
    std::replace_if(
        out_.begin() + static_cast<std::ptrdiff_t>(begin),
        out_.end(),
        [](char c) { return c == '\r' || c == '\n'; },
        ' ');
    out_.append("\r\n", 2);
}

void Writer::simple_string(std::string_view text) { line('+', text); }

void Writer::error(std::string_view code_and_text) { line('-', code_and_text); }

void Writer::integer(std::int64_t value) { append_number_line(out_, ':', value); }

void Writer::bulk(std::string_view bytes) { append_bulk(out_, bytes); }

void Writer::null() { out_.append(is_resp3() ? "_\r\n" : "$-1\r\n"); }

void Writer::boolean(bool value) {
    if (is_resp3()) {
        out_.append(value ? "#t\r\n" : "#f\r\n");
    } else {
        integer(value ? 1 : 0);
    }
}

void Writer::real(double value) {
    char buffer[32];
    const std::string_view text = real_text(value, buffer, buffer + sizeof buffer);
    if (is_resp3()) {
        line(',', text);
    } else {
        bulk(text);
    }
}

void Writer::verbatim(std::string_view text) {
    if (!is_resp3()) {
        bulk(text);
        return;
    }
    constexpr std::string_view format = "txt:";
    append_number_line(out_, '=', format.size() + text.size());
    out_.append(format);
    out_.append(text);
    out_.append("\r\n", 2);
}

void Writer::array(std::size_t count) { append_number_line(out_, '*', count); }

void Writer::map(std::size_t pairs) {
    if (is_resp3()) {
        append_number_line(out_, '%', pairs);
    } else {
        array(2 * pairs);
    }
}

void Writer::set(std::size_t count) { append_number_line(out_, is_resp3() ? '~' : '*', count); }

void Writer::push(std::size_t count) { append_number_line(out_, is_resp3() ? '>' : '*', count); }

}  // namespace latchd::resp
