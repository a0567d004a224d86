// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace latchd::core {

// Draws tokens and request ids. The runtime gives an OpenSSL one, tests a counting one.
class NameSource {
public:
    virtual ~NameSource() = default;
    [[nodiscard]] virtual std::string draw() = 0;  // 22 characters of [A-Za-z0-9_-], never twice
};

}  // namespace latchd::core
