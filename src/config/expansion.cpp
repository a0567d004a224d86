// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "expansion.hpp"

#include <algorithm>

namespace latchd::config {
namespace {

bool is_variable_name(std::string_view name) {
    const auto allowed = [](char c) {
        return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               (c >= '0' && c <= '9');
    };
    return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
           std::all_of(name.begin(), name.end(), allowed);
}

Parsed<std::string> value_of(std::string_view reference, const Surroundings& surroundings) {
    constexpr std::string_view separator = ":-";
    const auto split = reference.find(separator);
    const std::string name(reference.substr(0, split));
    if (!is_variable_name(name)) {
        return Parsed<std::string>::failure(
            "'${...}' needs the name of a variable; write '$$' for a dollar");
    }
    const auto value = surroundings.variable(name);
    if (split != std::string_view::npos) {
        return value && !value->empty() ? *value
                                        : std::string(reference.substr(split + separator.size()));
    }
    if (!value) {
        return Parsed<std::string>::failure("${" + name + "} is not set; write ${" + name +
                                            ":-default} to give a default");
    }
    return *value;
}

}  // namespace

Parsed<std::string> expand(std::string_view text, const Surroundings& surroundings) {
    std::string out;
    while (!text.empty()) {
        const auto dollar = std::min(text.find('$'), text.size());
        out += text.substr(0, dollar);
        text.remove_prefix(dollar);
        if (text.starts_with("$$")) {
            out += '$';
            text.remove_prefix(2);
        } else if (text.starts_with("${")) {
            const auto close = text.find('}');
            if (close == std::string_view::npos) {
                return Parsed<std::string>::failure("'${' is not closed by '}'");
            }
            auto value = value_of(text.substr(2, close - 2), surroundings);
            if (!value) return value;
            out += *value.value;
            text.remove_prefix(close + 1);
        } else if (!text.empty()) {
            out += '$';
            text.remove_prefix(1);
        }
    }
    return out;
}

}  // namespace latchd::config
