// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace latchd::core {

// Objects in the order of their arrival. Each knows its neighbours (T::before and T::behind, null
// in no line), so that one that leaves costs the same however many there are.
template <class T>
class Line {
public:
    class Iterator {
    public:
        using value_type = T*;
        using difference_type = std::ptrdiff_t;

        Iterator() = default;
        explicit Iterator(T* at) : at_(at) {}
        T* operator*() const noexcept { return at_; }
        Iterator& operator++() noexcept {
            at_ = at_->behind;
            return *this;
        }
        Iterator operator++(int) noexcept {
            const Iterator former = *this;
            ++*this;
            return former;
        }
        friend bool operator==(const Iterator&, const Iterator&) = default;

    private:
        T* at_ = nullptr;
    };

    [[nodiscard]] Iterator begin() const noexcept { return Iterator(first_); }
    [[nodiscard]] Iterator end() const noexcept { return Iterator(); }
    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    // Precondition: not empty.
    [[nodiscard]] T& front() const noexcept { return *first_; }

    void add(T& one) noexcept {
        one.before = last_;
        (last_ != nullptr ? last_->behind : first_) = &one;
        last_ = &one;
    }
    void remove(T& one) noexcept {
        (one.before != nullptr ? one.before->behind : first_) = one.behind;
        (one.behind != nullptr ? one.behind->before : last_) = one.before;
        one.before = one.behind = nullptr;
    }

private:
    T* first_ = nullptr;
    T* last_ = nullptr;
};

}  // namespace latchd::core
