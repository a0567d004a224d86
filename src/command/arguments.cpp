// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <algorithm>
#include <array>

namespace latchd::command {
namespace {

constexpr auto resource_bytes = [] {
    std::array<bool, 256> allowed{};
    for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_.:-")) {
        allowed[static_cast<unsigned char>(c)] = true;
    }
    return allowed;
}();

bool is_resource_byte(char c) noexcept { return resource_bytes[static_cast<unsigned char>(c)]; }

std::string range_text(const Range& range) {
    std::string text = "a whole number";
    if (!range.unit.empty()) {
        text += " of ";
        text += range.unit;
    }
    text += " from ";
    append_number(text, range.min);
    text += " to ";
    append_number(text, range.max);
    return text + " is needed";
}

std::string length_text(std::string_view what, std::size_t given, std::size_t bytes_max) {
    std::string text = "ERR ";
    text += what;
    text += " of ";
    append_number(text, given);
    text += " bytes: 1 to ";
    append_number(text, bytes_max);
    return text + " bytes are needed";
}

}  // namespace

Complaint read_number(std::string_view option,
                      std::string_view input,
                      const Range& range,
                      std::uint64_t& value) {
    const auto number = parse_whole(input, range.cuts ? exact_max : range.max);
    if (!number || *number < range.min) {
        return "ERR " + std::string(option) + " " + quoted(input) + ": " + range_text(range);
    }
    value = std::min(*number, range.max);
    return std::nullopt;
}

Complaint read_ms(std::string_view option,
                  std::string_view input,
                  const Range& range,
                  std::optional<Duration>& value) {
    std::uint64_t ms = 0;
    if (Complaint complaint = read_number(option, input, range, ms)) return complaint;
    value = from_ms(static_cast<std::int64_t>(ms));
    return std::nullopt;
}

Complaint check_resource(std::string_view input) {
    if (!input.empty() && input.size() <= resource_bytes_max &&
        std::all_of(input.begin(), input.end(), is_resource_byte)) {
        return std::nullopt;
    }
    return "ERR resource " + quoted(input) + ": 1 to 64 bytes of A-Z a-z 0-9 _ . : - are needed";
}

Complaint check_bytes(std::string_view what, std::string_view input, std::size_t bytes_max) {
    if (!input.empty() && input.size() <= bytes_max) return std::nullopt;
    return length_text(what, input.size(), bytes_max);
}

Complaint check_printable(std::string_view what, std::string_view input, std::size_t bytes_max) {
    if (Complaint complaint = check_bytes(what, input, bytes_max)) return complaint;
    if (std::all_of(input.begin(), input.end(), [](char c) { return c > ' ' && c <= '~'; })) {
        return std::nullopt;
    }
    return "ERR " + std::string(what) + " " + quoted(input) +
           ": printable ASCII without blanks is needed";
}

Complaint read_key(Arguments args, LockKey& key) {
    if (Complaint complaint = check_resource(args[1])) return complaint;
    if (Complaint complaint = check_bytes("id", args[2], id_bytes_max)) return complaint;
    key = {ResourceName(args[1]), LockId(args[2])};
    return std::nullopt;
}

std::string unknown_option(std::string_view command,
                           std::string_view input,
                           std::span<const Option> options) {
    std::string text = "ERR " + quoted(input) + " is no option of " + std::string(command) + ":";
    if (options.empty()) return text + " it has none";
    for (const Option& option : options) {
        text += &option == options.data() ? " it has " : ", ";
        text += option.name;
    }
    return text;
}

std::string missing_value(const Option& option) {
    return "ERR " + std::string(option.name) + " without its value: " + std::string(option.value) +
           " is needed";
}

std::string option_twice(const Option& option) {
    return "ERR " + std::string(option.name) + " is given twice: once is enough";
}

}  // namespace latchd::command
