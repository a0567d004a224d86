// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "access.hpp"

#include <algorithm>

namespace latchd::store::redis {

// Redis 6 and 7 quote the command: "... no permissions to run the 'evalsha' command ..."; of what a
// script runs up to 7.0 only say: "The user executing the script can't run this command ...".
std::string with_missing_rule(std::string_view refusal, std::string_view user) {
    std::string text(refusal);
    if (refusal.find("The user executing the script can't") != std::string_view::npos) {
        text += "; in Redis: ACL SETUSER ";
        text += user;
        return text + " ~*lock:* ~*bar:* ~*queue:* ~*latchd:* +@read +@write +time";
    }
    const bool is_in_script = refusal.find("ACL failure in script") != std::string_view::npos;
    if (!refusal.starts_with("NOPERM") && !is_in_script) return text;
    text += "; in Redis: ACL SETUSER ";
    text += user;
    const auto from = refusal.find('\'');
    const auto to = from == std::string_view::npos ? from : refusal.find('\'', from + 1);
    if (to != std::string_view::npos && refusal.find("command") != std::string_view::npos) {
        std::string command(refusal.substr(from + 1, to - from - 1));
        std::transform(command.begin(), command.end(), command.begin(), [](unsigned char c) {
            return static_cast<char>(c | 0x20);
        });
        return text + " +" + command;
    }
    if (refusal.find("channel") != std::string_view::npos) return text + " &*latchd:*";
    return text + " ~*lock:* ~*bar:* ~*queue:* ~*latchd:*";
}

}  // namespace latchd::store::redis
