// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "inline_arguments.hpp"

namespace latchd::resp {
namespace {

bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Inside a word only these end it; vertical tab and form feed are part of it, as in Redis.
bool ends_word(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char unescape(char c) noexcept {
    switch (c) {
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case 'b':
            return '\b';
        case 'a':
            return '\a';
        default:
            return c;
    }
}

// Reads one argument at a time and writes it back over what was read.
class Words {
public:
    explicit Words(std::span<char> line) noexcept
        : at_(line.data()), end_(line.data() + line.size()), out_(line.data()) {}

    [[nodiscard]] bool skip_blanks() noexcept {
        while (at_ != end_ && is_space(*at_)) {
            ++at_;
        }
        return at_ != end_;
    }

    // False: unbalanced quotes.
    [[nodiscard]] bool read(std::string_view& word) noexcept {
        const char* begin = out_;
        while (at_ != end_ && !ends_word(*at_)) {
            const char c = *at_++;
            if (c == '"' || c == '\'') {
                if (!read_quoted(c)) {
                    return false;
                }
                break;  // a closing quote ends the word
            }
            *out_++ = c;
        }
        word = {begin, static_cast<std::size_t>(out_ - begin)};
        return true;
    }

private:
    [[nodiscard]] bool read_quoted(char quote) noexcept {
        while (at_ != end_) {
            const char c = *at_++;
            if (c == quote) {
                return at_ == end_ || is_space(*at_);
            }
            if (c != '\\' || at_ == end_) {
                *out_++ = c;
            } else if (quote == '"') {
                read_escape();
            } else {
                *out_++ = *at_ == '\'' ? *at_++ : c;
            }
        }
        return false;
    }

    void read_escape() noexcept {
        if (*at_ == 'x' && end_ - at_ >= 3 && hex_value(at_[1]) >= 0 && hex_value(at_[2]) >= 0) {
            *out_++ = static_cast<char>(hex_value(at_[1]) * 16 + hex_value(at_[2]));
            at_ += 3;
        } else {
            *out_++ = unescape(*at_++);
        }
    }

    const char* at_;
    const char* end_;
    char* out_;
};

}  // namespace

InlineSplit split_inline(std::span<char> line,
                         std::size_t arguments_max,
                         std::vector<std::string_view>& arguments) {
    arguments.clear();
    Words words(line);
    while (words.skip_blanks()) {
        if (arguments.size() == arguments_max) {
            return InlineSplit::too_many_arguments;
        }
        std::string_view word;
        if (!words.read(word)) {
            return InlineSplit::unbalanced_quotes;
        }
        arguments.push_back(word);
    }
    return InlineSplit::done;
}

}  // namespace latchd::resp
