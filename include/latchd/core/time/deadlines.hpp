// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace latchd::core {

// The base of an object that has a deadline; it must not move while it is armed and disarms itself
// before it goes. The deadline itself lies with the heap: there are a million of these.
struct Timer {
    Timer() noexcept = default;
    explicit Timer(std::uint8_t what) noexcept : kind(what) {}

    std::uint32_t place = std::numeric_limits<std::uint32_t>::max();  // in the heap
    std::uint8_t kind = 0;  // what it is the base of, for whoever pops it

    [[nodiscard]] bool is_armed() const noexcept {
        return place != std::numeric_limits<std::uint32_t>::max();
    }
};

// The deadlines of one node: a 4-ary heap that knows where each timer is, so that a released lock
// takes its deadline with it and nothing piles up. O(log n) to arm, re-arm and disarm; an idle
// timer costs nothing.
class Deadlines {
public:
    void arm(Timer& timer, Time due);
    void disarm(Timer& timer) noexcept;
    // `timer`, if it is armed, has `other` in its place: what it is the base of lies elsewhere now.
    // Precondition: `other` is not armed.
    void replace(Timer& timer, Timer& other) noexcept;

    // Of one that is armed.
    [[nodiscard]] Time due_of(const Timer& timer) const noexcept { return heap_[timer.place].due; }

    [[nodiscard]] std::optional<Time> earliest() const noexcept {
        if (heap_.empty()) return std::nullopt;
        return heap_.front().due;
    }

    // The earliest timer that is due, disarmed; nullptr if none is.
    [[nodiscard]] Timer* pop(Time now) noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

private:
    // With the deadline beside the pointer: comparing reads no timer, which is somewhere else.
    struct Entry {
        Time due{};
        Timer* timer = nullptr;
    };

    void put(std::size_t place, Entry entry) noexcept;
    void rise(std::size_t place, Entry entry) noexcept;
    void sink(std::size_t place, Entry entry) noexcept;

    std::vector<Entry> heap_;
};

}  // namespace latchd::core
