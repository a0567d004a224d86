// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"

#include <concepts>
#include <string>
#include <string_view>

namespace latchd::store::mysql {

// Composes a statement: texts as they are, numbers in decimal, bytes as literals.
class Text {
public:
    struct Bytes {
        std::string_view bytes;
    };

    Text& operator<<(std::string_view text) {
        out_ += text;
        return *this;
    }
    Text& operator<<(std::integral auto number) {
        out_ += std::to_string(number);
        return *this;
    }
    Text& operator<<(const Bytes& bytes) {
        append_literal(out_, bytes.bytes);
        return *this;
    }
    [[nodiscard]] std::string take() { return std::move(out_); }

private:
    std::string out_;
};

[[nodiscard]] inline Text::Bytes bytes(std::string_view view) { return {view}; }

}  // namespace latchd::store::mysql
