// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/config/diagnostic.hpp>
#include <latchd/config/options.hpp>
#include <latchd/config/surroundings.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace latchd::config {

inline constexpr int exit_usage = 64;
inline constexpr int exit_configuration = 78;

enum class Action : std::uint8_t {
    serve,         // run a node with `options`
    check_config,  // print and exit
    dump_config,   // print and exit
    version,       // print and exit
    help,          // print and exit
};

// What a call of latchd asks for. `output` goes to standard output, `messages` to standard error.
// Unless `action` is serve and `exit_code` 0, that is all there is to do, and `options` may be
// incomplete.
struct Invocation {
    Action action = Action::serve;
    Options options;
    std::string config_file;  // the file that was read; empty if there was none
    Diagnostics diagnostics;
    int exit_code = 0;  // 0, exit_usage or exit_configuration
    std::string output;
    std::string messages;  // the diagnostics, rendered
};

// `arguments` without the program's name. Reads the configuration file and the password files
// that it names; opens nothing else. Does not throw.
[[nodiscard]] Invocation parse_command_line(const std::vector<std::string>& arguments,
                                            const Surroundings& surroundings);

}  // namespace latchd::config
