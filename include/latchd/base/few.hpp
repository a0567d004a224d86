// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace latchd {

// A vector of what there mostly is one of: one element lies in the object itself, several on the
// heap. Iterators and references end with every change, and when it is moved from.
template <class T>
class Few {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    Few() noexcept {}
    Few(std::initializer_list<T> values) {
        reserve(values.size());
        for (const T& value : values) push_back(value);
    }
    Few(const Few& other) {
        reserve(other.size_);
        for (const T& value : other) push_back(value);
    }
    Few(Few&& other) noexcept { take(other); }
    Few& operator=(const Few& other) {
        if (this != &other) {
            Few copy(other);
            *this = std::move(copy);
        }
        return *this;
    }
    Few& operator=(Few&& other) noexcept {
        if (this != &other) {
            drop();
            take(other);
        }
        return *this;
    }
    ~Few() { drop(); }

    [[nodiscard]] T* data() noexcept { return room_ == 1 ? &one_ : many_; }
    [[nodiscard]] const T* data() const noexcept { return room_ == 1 ? &one_ : many_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T* begin() noexcept { return data(); }
    [[nodiscard]] T* end() noexcept { return data() + size_; }
    [[nodiscard]] const T* begin() const noexcept { return data(); }
    [[nodiscard]] const T* end() const noexcept { return data() + size_; }
    [[nodiscard]] T& operator[](std::size_t at) noexcept { return data()[at]; }
    [[nodiscard]] const T& operator[](std::size_t at) const noexcept { return data()[at]; }
    [[nodiscard]] T& front() noexcept { return *data(); }
    [[nodiscard]] const T& front() const noexcept { return *data(); }
    [[nodiscard]] T& back() noexcept { return data()[size_ - 1]; }
    [[nodiscard]] const T& back() const noexcept { return data()[size_ - 1]; }

    void reserve(std::size_t count) {
        if (count > room_) move_into(count);
    }
    template <class... Arguments>
    T& emplace_back(Arguments&&... arguments) {
        if (size_ == room_) [[unlikely]] {
            // Before anything moves: an argument may be of an element.
            T value{std::forward<Arguments>(arguments)...};
            move_into(std::max<std::size_t>(4, 2 * std::size_t{room_}));
            return *std::construct_at(data() + size_++, std::move(value));
        }
        T* const place =
            ::new (static_cast<void*>(data() + size_)) T{std::forward<Arguments>(arguments)...};
        ++size_;
        return *place;
    }
    void push_back(const T& value) { emplace_back(value); }
    void push_back(T&& value) { emplace_back(std::move(value)); }
    void resize(std::size_t count, const T& value = T()) {
        while (size_ > count) pop_back();
        if (size_ == count) return;
        const T copy = value;
        reserve(count);
        while (size_ < count) push_back(copy);
    }
    void pop_back() noexcept { std::destroy_at(data() + --size_); }
    T* erase(const T* at) noexcept {
        T* const place = begin() + (at - begin());
        std::move(place + 1, end(), place);
        pop_back();
        return place;
    }
    template <class Predicate>
    void erase_if(Predicate predicate) {
        const T* const rest = std::remove_if(begin(), end(), predicate);
        while (end() != rest) pop_back();
    }
    void clear() noexcept {
        std::destroy_n(data(), size_);
        size_ = 0;
    }

    friend bool operator==(const Few& a, const Few& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    // Nothing is in this one.
    void take(Few& other) noexcept {
        if (other.room_ == 1) {
            if (other.size_ == 1) std::construct_at(&one_, std::move(other.one_));
            size_ = other.size_;
            other.clear();
        } else {
            many_ = std::exchange(other.many_, nullptr);
            room_ = std::exchange(other.room_, 1);
            size_ = std::exchange(other.size_, 0);
        }
    }
    void drop() noexcept {
        clear();
        if (room_ != 1) std::allocator<T>().deallocate(many_, room_);
        room_ = 1;
    }
    void move_into(std::size_t room) {
        T* const block = std::allocator<T>().allocate(room);
        std::uninitialized_move_n(data(), size_, block);
        const std::uint32_t size = size_;
        drop();
        many_ = block;
        room_ = static_cast<std::uint32_t>(room);
        size_ = size;
    }

    std::uint32_t size_ = 0;
    std::uint32_t room_ = 1;  // 1: in one_, else of the block
    union {
        T one_;
        T* many_;
    };
};

}  // namespace latchd
