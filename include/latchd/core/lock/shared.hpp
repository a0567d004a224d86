// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace latchd::core {

// A name that belongs to several kept records together: 8 bytes in each, and no heap at all where
// it is empty. Its copies are counted without atomics: a record that is kept never goes to another
// thread, what travels are GrantRecords.
template <class Text>
class Shared {
public:
    Shared() noexcept = default;
    Shared(const Text& text) : block_(text.empty() ? nullptr : new Block{text, 1}) {}
    Shared(const Shared& other) noexcept : block_(other.block_) {
        if (block_ != nullptr) ++block_->users;
    }
    Shared(Shared&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Shared& operator=(Shared other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~Shared() {
        if (block_ != nullptr && --block_->users == 0) delete block_;
    }

    [[nodiscard]] const Text& get() const noexcept {
        return block_ != nullptr ? block_->text : none;
    }
    operator const Text&() const noexcept { return get(); }
    [[nodiscard]] std::string_view view() const noexcept { return get().view(); }
    [[nodiscard]] bool empty() const noexcept { return block_ == nullptr; }

    friend bool operator==(const Shared& a, const Text& b) { return a.get() == b; }

private:
    struct Block {
        Text text;
        std::uint32_t users;
    };

    inline static const Text none{};
    Block* block_ = nullptr;
};

// Finds a name that was shared lately, so that the records of one client share it. What it has
// forgotten is only kept twice.
template <class Text>
class Recent {
public:
    [[nodiscard]] Shared<Text> share(const Text& text) {
        if (places_.empty()) places_.resize(count);
        Shared<Text>& place = places_[text.hash() % count];
        if (place != text) place = Shared<Text>(text);
        return place;
    }

private:
    static constexpr std::size_t count = 256;

    std::vector<Shared<Text>> places_;  // by hash
};

}  // namespace latchd::core
