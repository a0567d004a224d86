// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "answers.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>

namespace latchd::compat {
namespace {

[[noreturn]] void fail(int line, const std::string& why) {
    throw std::runtime_error("answers line " + std::to_string(line) + ": " + why);
}

Case parse_header(std::string_view text, int line) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) fail(line, "']' is missing");
    const std::string_view words = text.substr(1, end - 1);
    Case result;
    result.redis_too = words.starts_with("both");
    result.password = words.ends_with(" password");
    if (!result.redis_too && !words.starts_with("latchd") && !words.starts_with("alone")) {
        fail(line, "both, latchd or alone is needed");
    }
    result.name = std::string(text.substr(end + 1 + (text.size() > end + 1 ? 1 : 0)));
    return result;
}

// One byte or "\r\n" of a pattern that begins at `at`.
std::string take_literal(std::string_view pattern, std::size_t& at) {
    if (pattern[at] != '\\') return std::string(1, pattern[at++]);
    const char kind = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    at += 2;
    if (kind == 'n') return "\r\n";
    if (kind != 'x') return std::string(1, kind);
    unsigned byte = 0;
    std::from_chars(pattern.data() + at, pattern.data() + at + 2, byte, 16);
    at += 2;
    return std::string(1, static_cast<char>(byte));
}

bool take_number(std::string_view& bytes) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
    if (error != std::errc{}) return false;
    bytes.remove_prefix(static_cast<std::size_t>(end - bytes.data()));
    return true;
}

bool take_bulk(std::string_view& bytes) {
    if (!bytes.starts_with('$') && !bytes.starts_with('=')) return false;
    std::size_t size = 0;
    const char* const begin = bytes.data() + 1;
    const auto [end, error] = std::from_chars(begin, bytes.data() + bytes.size(), size);
    const auto header = static_cast<std::size_t>(end - bytes.data()) + 2;
    if (error != std::errc{} || bytes.size() < header + size + 2) return false;
    bytes.remove_prefix(header + size + 2);
    return true;
}

bool take_placeholder(std::string_view name, std::string_view& bytes, bool closed) {
    if (name == "number") return take_number(bytes);
    if (name == "bulk") return take_bulk(bytes);
    if (name == "close") return closed && bytes.empty();
    if (name == "text") {
        bytes.remove_prefix(std::min(bytes.find("\r\n"), bytes.size()));
        return true;
    }
    if (name != "rest") throw std::runtime_error("{" + std::string(name) + "} is not known");
    bytes = {};
    return true;
}

}  // namespace

std::vector<Case> parse_answers(std::string_view text) {
    std::vector<Case> cases;
    int line = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view current = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++line;
        if (current.empty() || current[0] == '#') continue;
        if (current[0] == '[') {
            cases.push_back(parse_header(current, line));
        } else if (cases.empty()) {
            fail(line, "a case is needed first");
        } else if (current.starts_with("> ")) {
            cases.back().steps.push_back({std::string(current.substr(2)), {}, line});
        } else if (current[0] == '<' && !cases.back().steps.empty()) {
            if (current.size() > 2) cases.back().steps.back().reply += current.substr(2);
        } else {
            fail(line, "neither a request nor a reply");
        }
    }
    return cases;
}

bool reply_matches(std::string_view pattern, std::string_view bytes, bool closed) {
    const bool may_close = pattern.ends_with("{close}");
    for (std::size_t at = 0; at < pattern.size();) {
        if (pattern[at] == '{') {
            const std::size_t end = pattern.find('}', at);
            if (!take_placeholder(pattern.substr(at + 1, end - at - 1), bytes, closed))
                return false;
            at = end + 1;
            continue;
        }
        const std::string literal = take_literal(pattern, at);
        if (!bytes.starts_with(literal)) return false;
        bytes.remove_prefix(literal.size());
    }
    return bytes.empty() && closed == may_close;
}

std::string shown(std::string_view bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string result;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        if (bytes.substr(i).starts_with("\r\n")) {
            result += "\\n";
            ++i;
        } else if (byte >= 0x20 && byte <= 0x7e && byte != '\\') {
            result += bytes[i];
        } else {
            result.append({'\\', 'x', digits[byte >> 4], digits[byte & 15]});
        }
    }
    return result;
}

}  // namespace latchd::compat
