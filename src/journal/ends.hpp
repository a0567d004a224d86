// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace latchd::journal {

// When bars end, first in, first out: nearly in the order of the ends, since all bars of a process
// last equally long. Made once, of memory that costs nothing until it is used.
class Ends {
public:
    struct End {
        Time at;
        std::uint32_t tag;
    };

    explicit Ends(std::size_t entries_max)
        : entries_max_(entries_max + 1),
          slots_(static_cast<End*>(std::calloc(entries_max_, sizeof(End)))) {
        if (!slots_) throw std::bad_alloc();
    }

    [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }

    // Precondition of the first two: not empty; of the third: less than entries_max.
    [[nodiscard]] const End& front() const noexcept { return slots_[first_]; }
    void pop() noexcept {
        first_ = (first_ + 1) % entries_max_;
        --size_;
    }
    void push(const End& end) noexcept { slots_[(first_ + size_++) % entries_max_] = end; }

private:
    struct Free {
        void operator()(End* slots) const noexcept { std::free(slots); }
    };

    std::size_t entries_max_;
    std::unique_ptr<End[], Free> slots_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace latchd::journal
