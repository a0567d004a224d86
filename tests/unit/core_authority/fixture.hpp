// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/node.hpp>

#include <string>

namespace latchd::core::authority {

class CountedNames final : public NameSource {
public:
    explicit CountedNames(char mark) : mark_(mark) {}
    std::string draw() override {
        std::string name = std::to_string(++count_);
        return std::string(1, mark_) + std::string(21 - name.size(), '0') + name;
    }

private:
    char mark_;
    int count_ = 0;
};

}  // namespace latchd::core::authority
