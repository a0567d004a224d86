// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/core/time/deadlines.hpp>

#include <algorithm>

namespace latchd::core {
namespace {
constexpr std::size_t arity = 4;
}

void Deadlines::put(std::size_t place, Timer* timer) noexcept {
    heap_[place] = timer;
    timer->place = static_cast<std::uint32_t>(place);
}

void Deadlines::rise(std::size_t place) noexcept {
    Timer* const timer = heap_[place];
    while (place > 0) {
        const std::size_t parent = (place - 1) / arity;
        if (heap_[parent]->due <= timer->due) break;
        put(place, heap_[parent]);
        place = parent;
    }
    put(place, timer);
}

void Deadlines::sink(std::size_t place) noexcept {
    Timer* const timer = heap_[place];
    for (;;) {
        const std::size_t first = place * arity + 1;
        if (first >= heap_.size()) break;
        const std::size_t last = std::min(first + arity, heap_.size());
        std::size_t least = first;
        for (std::size_t child = first + 1; child < last; ++child) {
            if (heap_[child]->due < heap_[least]->due) least = child;
        }
        if (timer->due <= heap_[least]->due) break;
        put(place, heap_[least]);
        place = least;
    }
    put(place, timer);
}

void Deadlines::arm(Timer& timer, Time due) {
    if (!timer.is_armed()) {
        heap_.push_back(&timer);
        timer.due = due;
        timer.place = static_cast<std::uint32_t>(heap_.size() - 1);
        rise(heap_.size() - 1);
        return;
    }
    const bool earlier = due < timer.due;
    timer.due = due;
    if (earlier) {
        rise(timer.place);
    } else {
        sink(timer.place);
    }
}

void Deadlines::disarm(Timer& timer) noexcept {
    if (!timer.is_armed()) return;
    const std::size_t place = timer.place;
    timer.place = std::numeric_limits<std::uint32_t>::max();
    Timer* const last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    const bool earlier = last->due < timer.due;
    put(place, last);
    if (earlier) {
        rise(place);
    } else {
        sink(place);
    }
}

Timer* Deadlines::pop(Time now) noexcept {
    if (heap_.empty() || heap_.front()->due > now) return nullptr;
    Timer* const timer = heap_.front();
    disarm(*timer);
    return timer;
}

}  // namespace latchd::core
