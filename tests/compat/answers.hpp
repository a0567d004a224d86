// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

// The table of answers.txt as data, and its notation for replies. Used by the unit tests and by
// the runner over sockets.
namespace latchd::compat {

struct Step {
    std::string request;  // an inline command without its line end
    std::string reply;    // a pattern; empty: no reply
    int line = 0;         // in the file, for messages
};

struct Case {
    std::string name;
    bool redis_too = false;  // redis-server must answer the same
    bool password = false;   // the server's password is "secret"
    std::vector<Step> steps;
};

// Throws std::runtime_error with the line where the text is not such a table.
[[nodiscard]] std::vector<Case> parse_answers(std::string_view text);

// `closed`: the connection ended behind these bytes.
[[nodiscard]] bool reply_matches(std::string_view pattern, std::string_view bytes, bool closed);

// Bytes in the notation of the patterns, for messages.
[[nodiscard]] std::string shown(std::string_view bytes);

}  // namespace latchd::compat
