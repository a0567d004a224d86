// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/node.hpp>
#include <latchd/runtime/random.hpp>

#include <cstdint>
#include <string>

namespace latchd::app {

class Names final : public core::NameSource {
public:
    [[nodiscard]] std::string draw() override { return random_.draw(); }
    [[nodiscard]] std::uint64_t draw_number() { return random_.draw_number(); }

    // 40 hexadecimal digits, as Redis's run id.
    [[nodiscard]] std::string draw_run_id() {
        constexpr char digits[] = "0123456789abcdef";
        std::string id;
        while (id.size() < 40) id += digits[random_.draw_number() & 15u];
        return id;
    }

private:
    runtime::RandomNames random_;
};

}  // namespace latchd::app
