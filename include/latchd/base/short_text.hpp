// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace latchd {

// Bytes of any length and value that are mostly short: all but one byte of the object can be text,
// so that keys, tokens and names are copied without the heap (a std::string keeps 15). Never
// changed in place. view() lies in the object, and so ends when it is moved from, as a short
// std::string's does.
template <std::size_t Words>
class InlineText {
    static_assert(Words >= 3);  // where it is, how long, and heap_tag

public:
    static constexpr std::size_t inline_max = 8 * Words - 1;

    InlineText() noexcept = default;
    explicit InlineText(std::string_view text) { put(text); }
    InlineText(const InlineText& other) : words_(other.words_) {
        if (other.is_on_heap()) [[unlikely]] {
            words_ = {};
            put(other.view());
        }
    }
    InlineText(InlineText&& other) noexcept : words_(std::exchange(other.words_, {})) {}
    InlineText& operator=(const InlineText& other) {
        if (is_on_heap() || other.is_on_heap()) [[unlikely]] {
            InlineText copy(other);
            std::swap(words_, copy.words_);
        } else {
            words_ = other.words_;
        }
        return *this;
    }
    InlineText& operator=(InlineText&& other) noexcept {
        if (this != &other) {
            drop();
            words_ = std::exchange(other.words_, {});
        }
        return *this;
    }
    ~InlineText() { drop(); }

    [[nodiscard]] std::string_view view() const noexcept {
        if (is_on_heap()) [[unlikely]] {
            return {heap(), static_cast<std::size_t>(words_[1])};
        }
        return {reinterpret_cast<const char*>(words_.data()), tag()};
    }
    [[nodiscard]] bool empty() const noexcept { return words_[Words - 1] == 0; }

    friend bool operator==(const InlineText& a, const InlineText& b) noexcept {
        // What is not used is zero, and the last byte is the size: equal texts are equal words.
        if (a.is_on_heap() || b.is_on_heap()) [[unlikely]] {
            return a.view() == b.view();
        }
        return a.words_ == b.words_;
    }
    friend std::strong_ordering operator<=>(const InlineText& a, const InlineText& b) noexcept {
        return a.view() <=> b.view();
    }

    // The same for equal texts in this and every later process of the same architecture.
    [[nodiscard]] std::size_t hash() const noexcept;

private:
    static constexpr std::uint8_t heap_tag = 0xff;

    [[nodiscard]] std::uint8_t tag() const noexcept {
        std::uint8_t last = 0;
        std::memcpy(&last, reinterpret_cast<const char*>(words_.data()) + inline_max, 1);
        return last;
    }
    [[nodiscard]] bool is_on_heap() const noexcept { return tag() == heap_tag; }
    [[nodiscard]] const char* heap() const noexcept {
        const char* text = nullptr;
        std::memcpy(&text, words_.data(), sizeof text);
        return text;
    }
    void put(std::string_view text) {
        if (text.size() <= inline_max) [[likely]] {
            std::memcpy(words_.data(), text.data(), text.size());
            set_tag(static_cast<std::uint8_t>(text.size()));
        } else {
            put_on_heap(text);
        }
    }
    void set_tag(std::uint8_t value) noexcept {
        std::memcpy(reinterpret_cast<char*>(words_.data()) + inline_max, &value, 1);
    }
    void put_on_heap(std::string_view text);
    void drop() noexcept {
        if (is_on_heap()) [[unlikely]] {
            delete[] heap();
        }
    }

    // Text and its size in the last byte; or where it is, how long, unused bytes, and heap_tag.
    std::array<std::uint64_t, Words> words_{};
};

using ShortText = InlineText<4>;
using BriefText = InlineText<3>;
extern template class InlineText<4>;
extern template class InlineText<3>;

}  // namespace latchd
