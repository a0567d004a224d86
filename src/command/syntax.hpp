// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace latchd::command {

// The arguments of a command as people write them, and as COMMAND DOCS describes them. One text
// in the command table gives both:
//
//   resource id [PX ms | EX s] [KEEP [ONCLOSE RELEASE]] [REQUIRE redis|shared|any] [name...]
//
// lower case: a value; UPPER case: a word to be typed, together with the value behind it;
// [ ]: may be left out; " | ": one of these; a|b: one of these words; "...": may be repeated.
struct Argument {
    enum class Type { string, integer, pattern, pure_token, one_of, block };
    std::string name;
    Type type = Type::string;
    std::string token;  // the UPPER word before it, or the word itself for pure_token
    bool optional = false;
    bool multiple = false;
    std::vector<Argument> arguments;  // of one_of and block
};

[[nodiscard]] std::string_view name_of(Argument::Type type) noexcept;

// `syntax` is a row of the command table; a malformed one is a bug that the unit tests find.
[[nodiscard]] std::vector<Argument> parse_syntax(std::string_view syntax);

}  // namespace latchd::command
