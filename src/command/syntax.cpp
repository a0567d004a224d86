// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "syntax.hpp"

#include "text.hpp"

#include <algorithm>
#include <array>

namespace latchd::command {
namespace {

constexpr std::array<std::string_view, 6> integer_names = {
    "ms", "s", "n", "count", "index", "port"};

bool is_word(std::string_view text) noexcept {
    return !text.empty() &&
           std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

Argument::Type type_of(std::string_view name) noexcept {
    if (std::find(integer_names.begin(), integer_names.end(), name) != integer_names.end()) {
        return Argument::Type::integer;
    }
    return name == "pattern" ? Argument::Type::pattern : Argument::Type::string;
}

Argument word_argument(std::string_view word) {
    return {.name = lower(word),
            .type = Argument::Type::pure_token,
            .token = std::string(word),
            .arguments = {}};
}

// "a|b|c": one of these words.
Argument choice_argument(std::string_view text) {
    Argument choice{.name = {}, .type = Argument::Type::one_of, .token = {}, .arguments = {}};
    while (!text.empty()) {
        const std::size_t bar = std::min(text.find('|'), text.size());
        choice.arguments.push_back(word_argument(text.substr(0, bar)));
        text.remove_prefix(std::min(bar + 1, text.size()));
    }
    choice.name = choice.arguments.front().name;
    return choice;
}

Argument value_argument(std::string_view text) {
    if (text.find('|') != std::string_view::npos) return choice_argument(text);
    Argument value;
    value.multiple = text.ends_with("...");
    if (value.multiple) text.remove_suffix(3);
    value.name = std::string(text);
    value.type = type_of(text);
    return value;
}

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    // Up to the end or a ']'. Alternatives become one argument.
    std::vector<Argument> sequence() {
        std::vector<std::vector<Argument>> alternatives(1);
        for (skip_blanks(); !text_.empty() && text_[0] != ']'; skip_blanks()) {
            if (text_.starts_with("| ")) {
                text_.remove_prefix(2);
                alternatives.emplace_back();
            } else if (text_[0] == '[') {
                alternatives.back().push_back(optional());
            } else {
                alternatives.back().push_back(plain());
            }
        }
        if (alternatives.size() == 1) return std::move(alternatives[0]);
        Argument choice{.name = {}, .type = Argument::Type::one_of, .token = {}, .arguments = {}};
        for (auto& alternative : alternatives) {
            choice.arguments.push_back(joined(std::move(alternative)));
        }
        choice.name = choice.arguments.front().name;
        return {std::move(choice)};
    }

private:
    void skip_blanks() noexcept {
        text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size()));
    }

    [[nodiscard]] std::string_view peek() noexcept {
        skip_blanks();
        return text_.substr(0, std::min(text_.find_first_of(" []"), text_.size()));
    }

    std::string_view take() noexcept {
        const std::string_view word = peek();
        text_.remove_prefix(word.size());
        return word;
    }

    // UPPER words up to the value that belongs to them; without one they stand for themselves.
    Argument plain() {
        const std::string_view first = take();
        if (!is_word(first) || first.find('|') != std::string_view::npos) {
            return value_argument(first);
        }
        std::string token(first);
        while (is_word(peek()) && peek().find('|') == std::string_view::npos) {
            token += ' ';
            token += take();
        }
        if (peek().empty() || peek() == "|") return word_argument(token);
        Argument value = value_argument(take());
        value.token = std::move(token);
        if (value.type == Argument::Type::one_of) value.name = lower(value.token);
        return value;
    }

    Argument optional() {
        text_.remove_prefix(1);
        Argument inner = joined(sequence());
        if (!text_.empty()) text_.remove_prefix(1);
        if (text_.starts_with("...")) {
            inner.multiple = true;
            text_.remove_prefix(3);
        }
        inner.optional = true;
        return inner;
    }

    static Argument joined(std::vector<Argument> arguments) {
        if (arguments.size() == 1) return std::move(arguments[0]);
        Argument block{.name = {}, .type = Argument::Type::block, .token = {}, .arguments = {}};
        if (!arguments.empty()) block.name = arguments.front().name;
        block.arguments = std::move(arguments);
        return block;
    }

    std::string_view text_;
};

}  // namespace

std::string_view name_of(Argument::Type type) noexcept {
    switch (type) {
        case Argument::Type::string:
            return "string";
        case Argument::Type::integer:
            return "integer";
        case Argument::Type::pattern:
            return "pattern";
        case Argument::Type::pure_token:
            return "pure-token";
        case Argument::Type::one_of:
            return "oneof";
        case Argument::Type::block:
            return "block";
    }
    return "string";
}

std::vector<Argument> parse_syntax(std::string_view syntax) { return Parser(syntax).sequence(); }

}  // namespace latchd::command
