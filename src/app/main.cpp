// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "process.hpp"

#include <latchd/config/command_line.hpp>
#include <latchd/config/surroundings.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const latchd::config::Invocation invocation =
        latchd::config::parse_command_line(arguments, latchd::config::system_surroundings());
    std::fputs(invocation.output.c_str(), stdout);
    std::fputs(invocation.messages.c_str(), stderr);
    if (invocation.action != latchd::config::Action::serve || invocation.exit_code != 0) {
        return invocation.exit_code;
    }
    try {
        return latchd::app::serve(invocation);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "latchd: %s\n", error.what());
        return latchd::app::exit_software;
    }
}
