// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "reply.hpp"

namespace latchd::load {
namespace {

constexpr std::string_view line_end = "\r\n";

void note(Reply& reply, Part part) noexcept {
    if (reply.count < reply.parts.size()) reply.parts[reply.count++] = part;
}

// Takes one head, with its bulk string; adds to `open` what an array announces.
Parsed take(std::string_view data, std::size_t& at, std::int64_t& open, Reply& reply) noexcept {
    const std::size_t end = data.find(line_end, at);
    if (end == std::string_view::npos) return Parsed::more;
    if (end == at) return Parsed::broken;
    Part part{data[at], data.substr(at + 1, end - at - 1)};
    at = end + line_end.size();
    switch (part.kind) {
        case '+':
        case '-':
        case ':':
            break;
        case '_':
            break;
        case '$': {
            const std::int64_t size = part.number();
            if (size < 0) {
                part.kind = '_';
                break;
            }
            const auto bytes = static_cast<std::size_t>(size);
            if (data.size() < at + bytes + line_end.size()) return Parsed::more;
            part.text = data.substr(at, bytes);
            at += bytes + line_end.size();
            break;
        }
        case '*':
            if (part.number() < 0) {
                part.kind = '_';
            } else {
                open += part.number();
            }
            break;
        default:
            return Parsed::broken;
    }
    note(reply, part);
    return Parsed::whole;
}

}  // namespace

Parsed parse_reply(std::string_view data, std::size_t& at, Reply& reply) noexcept {
    std::size_t next = at;
    reply.count = 0;
    for (std::int64_t open = 1; open > 0; --open) {
        const Parsed parsed = take(data, next, open, reply);
        if (parsed != Parsed::whole) return parsed;
    }
    at = next;
    return Parsed::whole;
}

}  // namespace latchd::load
