// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <utility>

namespace latchd::config {

// A password. Printing it gives `***`, so that it can't slip into a log or a dump; who really
// needs it asks with reveal(). Empty means that none is set.
class Secret {
public:
    Secret() = default;
    explicit Secret(std::string value) : value_(std::move(value)) {}

    [[nodiscard]] const std::string& reveal() const noexcept { return value_; }
    [[nodiscard]] bool empty() const noexcept { return value_.empty(); }

    friend bool operator==(const Secret&, const Secret&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Secret& secret) {
        return out << (secret.empty() ? "" : "***");
    }

private:
    std::string value_;
};

}  // namespace latchd::config
