// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::config {

// Where a value came from.
struct Origin {
    enum class Kind : std::uint8_t { defaults, file, command_line };
    Kind kind = Kind::defaults;
    int line = 0;    // from 1; only for a file
    int column = 0;  // from 1; only for a file

    friend bool operator==(const Origin&, const Origin&) = default;
};

// Something to tell the operator about the configuration. Never contains a secret.
struct Diagnostic {
    enum class Severity : std::uint8_t {
        warning,  // worth reading, the node starts
        error,    // the node does not start
    };
    Severity severity = Severity::error;
    Origin origin;
    std::string text;
};

using Diagnostics = std::vector<Diagnostic>;

[[nodiscard]] bool has_errors(const Diagnostics& diagnostics) noexcept;

// One line each, `file:line:column: text`, and with errors a last line that counts them.
// `file` is the name of the configuration file, empty if there is none.
[[nodiscard]] std::string render(const Diagnostics& diagnostics, std::string_view file);

}  // namespace latchd::config
