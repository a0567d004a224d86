// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace latchd::journal {

// Where the live records lie: open addressing with linear probing, never more than half full,
// made once. Its memory is zeroed by the kernel page by page when it is first used, so that a
// large journal with few locks costs little.
//
// A tag is the lock's hash; a place is never 0. Equal tags are told apart by the caller.
class Index {
public:
    explicit Index(std::size_t entries_max)
        : mask_(std::bit_ceil(entries_max * 2 + 2) - 1),
          slots_(static_cast<Slot*>(std::calloc(mask_ + 1, sizeof(Slot)))) {
        if (!slots_) throw std::bad_alloc();
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // The place of this tag for which is_it(place) is true, to be changed in place; null: none.
    template <class Predicate>
    [[nodiscard]] std::uint32_t* find(std::uint32_t tag, Predicate is_it) noexcept {
        for (std::size_t at = tag & mask_; slots_[at].place != 0; at = (at + 1) & mask_) {
            if (slots_[at].tag == tag && is_it(slots_[at].place)) return &slots_[at].place;
        }
        return nullptr;
    }

    // Precondition: not in the index yet, size() < entries_max.
    void insert(std::uint32_t tag, std::uint32_t place) noexcept {
        std::size_t at = tag & mask_;
        while (slots_[at].place != 0) at = (at + 1) & mask_;
        slots_[at] = {tag, place};
        ++size_;
    }

    // `found` is what find() returned; later entries move up, so that no gap hides one.
    void erase(const std::uint32_t* found) noexcept {
        std::size_t gap = slot_of(found);
        for (std::size_t at = (gap + 1) & mask_; slots_[at].place != 0; at = (at + 1) & mask_) {
            const std::size_t home = slots_[at].tag & mask_;
            if (((at - home) & mask_) < ((at - gap) & mask_)) continue;
            slots_[gap] = slots_[at];
            gap = at;
        }
        slots_[gap] = {};
        --size_;
    }

private:
    struct Slot {
        std::uint32_t tag;
        std::uint32_t place;
    };
    struct Free {
        void operator()(Slot* slots) const noexcept { std::free(slots); }
    };

    [[nodiscard]] std::size_t slot_of(const std::uint32_t* place) const noexcept {
        const auto bytes =
            reinterpret_cast<const char*>(place) - reinterpret_cast<const char*>(slots_.get());
        return static_cast<std::size_t>(bytes) / sizeof(Slot);
    }

    std::size_t mask_;
    std::unique_ptr<Slot[], Free> slots_;
    std::size_t size_ = 0;
};

}  // namespace latchd::journal
