// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/command/dispatcher.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace latchd::server {

// The place of one reply that can't leave yet.
struct Slot {
    command::Pending pending;  // of a started command
    std::string reply;         // complete if `ready`
    bool ready = false;
    bool is_lock = false;  // may end in a grant
};

// Replies leave in the order of the commands, whatever the order in which they become known. A
// ring that keeps its places, so that a command costs no allocation here. Numbers count up from 0
// and are never used twice.
class Slots {
public:
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t next_number() const noexcept { return first_ + count_; }

    Slot& push() {
        if (count_ == places_.size()) grow();
        Slot& slot = at(next_number());
        ++count_;
        slot.reply.clear();
        slot.ready = false;
        slot.is_lock = false;
        return slot;
    }

    // nullptr: that slot is not open.
    [[nodiscard]] Slot* find(std::uint64_t number) noexcept {
        return number - first_ < count_ ? &at(number) : nullptr;
    }
    [[nodiscard]] bool is_front(std::uint64_t number) const noexcept { return number == first_; }
    [[nodiscard]] Slot& front() noexcept { return at(first_); }

    void pop() noexcept {
        // One huge reply must not stay in the ring for ever.
        Slot& slot = front();
        if (slot.reply.capacity() > reply_kept_max) std::string().swap(slot.reply);
        ++first_;
        --count_;
    }

    void release_idle_memory() {
        if (empty()) std::vector<Slot>().swap(places_);
    }

private:
    static constexpr std::size_t reply_kept_max = 256;

    [[nodiscard]] Slot& at(std::uint64_t number) noexcept {
        return places_[number & (places_.size() - 1)];
    }

    void grow() {
        std::vector<Slot> places(places_.empty() ? 4 : places_.size() * 2);
        for (std::uint64_t n = first_; n != first_ + count_; ++n) {
            places[n & (places.size() - 1)] = std::move(at(n));
        }
        places_ = std::move(places);
    }

    std::vector<Slot> places_;  // a power of two
    std::uint64_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace latchd::server
