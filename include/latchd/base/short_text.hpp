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
namespace text_hash {

// Both halves of the product: each bit of the two words reaches many of the result.
[[nodiscard]] inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Odd constants without a pattern.
inline constexpr std::array<std::uint64_t, 4> salts = {
    0x9e3779b97f4a7c15, 0xd1b54a32d192ed03, 0x8cb92ba72f3d8dd7, 0xdb4f0b9175ae2165};

template <std::size_t Count>
[[nodiscard]] std::uint64_t of(const std::array<std::uint64_t, Count>& words) noexcept {
    const std::uint64_t last = Count > 3 ? words[Count - 1] : 0;
    return mixed(mixed(words[0] ^ salts[0], words[1] ^ salts[1]) ^ salts[2],
                 mixed(words[2] ^ salts[2], last ^ salts[3]) ^ salts[1]);
}

}  // namespace text_hash

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
        std::uint64_t differs = 0;  // bits; a loop, since std::array calls memcmp
        for (std::size_t i = 0; i < Words; ++i) differs |= a.words_[i] ^ b.words_[i];
        return differs == 0;
    }
    friend std::strong_ordering operator<=>(const InlineText& a, const InlineText& b) noexcept {
        return a.view() <=> b.view();
    }

    // The same for equal texts in this and every later process of the same architecture.
    [[nodiscard]] std::size_t hash() const noexcept {
        if (is_on_heap()) [[unlikely]] {
            return hash_of_heap();
        }
        return text_hash::of(words_);
    }

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
    [[nodiscard]] std::size_t hash_of_heap() const noexcept;
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
