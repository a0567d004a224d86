// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/core/time/deadlines.hpp>

#include <algorithm>

namespace latchd::core {
namespace {
constexpr std::size_t arity = 4;
}

void Deadlines::put(std::size_t place, Entry entry) noexcept {
    heap_[place] = entry;
    entry.timer->place = static_cast<std::uint32_t>(place);
}

// The place is free; the entry goes there, or to where one above it has to make room.
void Deadlines::rise(std::size_t place, Entry entry) noexcept {
    while (place > 0) {
        const std::size_t parent = (place - 1) / arity;
        if (heap_[parent].due <= entry.due) break;
        put(place, heap_[parent]);
        place = parent;
    }
    put(place, entry);
}

// The same downwards.
void Deadlines::sink(std::size_t place, Entry entry) noexcept {
    for (;;) {
        const std::size_t first = place * arity + 1;
        if (first >= heap_.size()) break;
        const std::size_t last = std::min(first + arity, heap_.size());
        std::size_t least = first;
        for (std::size_t child = first + 1; child < last; ++child) {
            if (heap_[child].due < heap_[least].due) least = child;
        }
        if (entry.due <= heap_[least].due) break;
        put(place, heap_[least]);
        place = least;
    }
    put(place, entry);
}

void Deadlines::arm(Timer& timer, Time due) {
    if (!timer.is_armed()) {
        heap_.push_back({due, &timer});
        return rise(heap_.size() - 1, heap_.back());
    }
    const bool is_earlier = due < due_of(timer);
    if (is_earlier) return rise(timer.place, {due, &timer});
    sink(timer.place, {due, &timer});
}

void Deadlines::disarm(Timer& timer) noexcept {
    if (!timer.is_armed()) return;
    const std::size_t place = timer.place;
    const Time due = due_of(timer);
    timer.place = std::numeric_limits<std::uint32_t>::max();
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    if (last.due < due) return rise(place, last);
    sink(place, last);
}

void Deadlines::replace(Timer& timer, Timer& other) noexcept {
    if (!timer.is_armed()) return;
    put(timer.place, {due_of(timer), &other});
    timer.place = std::numeric_limits<std::uint32_t>::max();
}

Timer* Deadlines::pop(Time now) noexcept {
    if (heap_.empty() || heap_.front().due > now) return nullptr;
    Timer* const timer = heap_.front().timer;
    disarm(*timer);
    return timer;
}

}  // namespace latchd::core
