// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/config/diagnostic.hpp>

#include <algorithm>

namespace latchd::config {
namespace {

std::string place(const Origin& origin, std::string_view file) {
    switch (origin.kind) {
        case Origin::Kind::command_line:
            return "command line: ";
        case Origin::Kind::file:
            break;
        case Origin::Kind::defaults:
            return file.empty() ? "" : std::string(file) + ": ";
    }
    std::string out(file);
    if (origin.line > 0) {
        out += ":" + std::to_string(origin.line) + ":" + std::to_string(origin.column);
    }
    return out + ": ";
}

}  // namespace

bool has_errors(const Diagnostics& diagnostics) noexcept {
    return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& d) {
        return d.severity == Diagnostic::Severity::error;
    });
}

std::string render(const Diagnostics& diagnostics, std::string_view file) {
    std::string out;
    std::size_t errors = 0;
    for (const auto& diagnostic : diagnostics) {
        const bool is_error = diagnostic.severity == Diagnostic::Severity::error;
        errors += is_error ? 1 : 0;
        out +=
            place(diagnostic.origin, file) + (is_error ? "" : "warning: ") + diagnostic.text + "\n";
    }
    if (errors > 0) {
        out += std::to_string(errors) + (errors == 1 ? " error" : " errors") +
               "; configuration not applied\n";
    }
    return out;
}

}  // namespace latchd::config
