// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "refusals.hpp"

#include "text.hpp"

namespace latchd::command {
namespace {

// Redis formats the name and the arguments as C strings, so a NUL ends each; its limits are 128
// bytes for the name and for the arguments together.
std::string_view until_nul(std::string_view text) noexcept {
    return text.substr(0, text.find('\0'));
}

}  // namespace

// The first lines of an HTTP request: a browser that was led here by a web page may not talk to
// latchd. The connection is closed without a word, as Redis does.
bool is_http(std::string_view name) noexcept {
    return equals_ignoring_case(name, "POST") || equals_ignoring_case(name, "Host:");
}

std::string unknown_command(Arguments args) {
    static constexpr std::size_t shown_max = 128;
    std::string shown;
    for (std::size_t i = 1; i < args.size() && shown.size() < shown_max; ++i) {
        const std::string_view argument = args[i].substr(0, shown_max - shown.size());
        shown += "'";
        shown += until_nul(argument);
        shown += "' ";
    }
    std::string text = "ERR unknown command '";
    text += until_nul(args[0].substr(0, shown_max));
    return text += "', with args beginning with: " + shown;
}

std::string unknown_subcommand(const Command& container, std::string_view name) {
    std::string text = "ERR unknown subcommand '";
    text += until_nul(name.substr(0, 128));
    return text += "'. Try " + upper(container.name) + " HELP.";
}

std::string wrong_arity(const Command& command) {
    return "ERR wrong number of arguments for '" + std::string(command.name) + "' command";
}

}  // namespace latchd::command
