// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace latchd::journal {

// Where the live records lie: open addressing with linear probing, never more than half full. Its
// memory is taken once, and zeroed by the kernel page by page when it is first used; of it only so
// many slots are in use as the entries need, so that with few locks all of them stay in the
// processor's cache. Doubling them goes along the slots in order, 5 ns each.
//
// A tag is the lock's hash; a place is never 0. Equal tags are told apart by the caller.
class Index {
public:
    explicit Index(std::size_t entries_max)
        : slots_max_(std::bit_ceil(entries_max * 2 + 2)),
          mask_(std::min(slots_max_, slots_first) - 1),
          slots_(static_cast<Slot*>(std::calloc(slots_max_, sizeof(Slot)))) {
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
        if (2 * (size_ + 1) > mask_ + 1 && mask_ + 1 < slots_max_) grow();
        put({tag, place});
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

    void put(const Slot& slot) noexcept {
        std::size_t at = slot.tag & mask_;
        while (slots_[at].place != 0) at = (at + 1) & mask_;
        slots_[at] = slot;
    }

    // Each entry goes to where it was or before, or as far into the new half. From behind a gap on,
    // so that none is put behind one that has yet to go.
    void grow() noexcept {
        const std::size_t former = mask_ + 1;
        std::size_t gap = 0;
        while (slots_[gap].place != 0) ++gap;
        mask_ = 2 * former - 1;
        for (std::size_t i = 1; i < former; ++i) {
            Slot& slot = slots_[(gap + i) & (former - 1)];
            if (slot.place != 0) put(std::exchange(slot, {}));
        }
    }

    [[nodiscard]] std::size_t slot_of(const std::uint32_t* place) const noexcept {
        const auto bytes =
            reinterpret_cast<const char*>(place) - reinterpret_cast<const char*>(slots_.get());
        return static_cast<std::size_t>(bytes) / sizeof(Slot);
    }

    static constexpr std::size_t slots_first = 1'024;

    std::size_t slots_max_;
    std::size_t mask_;  // of the slots in use
    std::unique_ptr<Slot[], Free> slots_;
    std::size_t size_ = 0;
};

}  // namespace latchd::journal
