// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ends.hpp"
#include "format.hpp"
#include "index.hpp"
#include "posix.hpp"

#include <latchd/journal/journal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace latchd::journal {

// Bytes of one half for so many bytes of live records, and so many bars: see the essay in
// writer.cpp.
[[nodiscard]] constexpr std::size_t half_bytes_for(std::size_t live_bytes_max,
                                                   std::size_t bars_max) noexcept {
    const std::size_t bytes =
        (live_bytes_max + bars_max * bar_bytes_max) / 3 * 4 + 4 * record_bytes_max;
    return bytes / 4'096 * 4'096;
}

// The writing side of a journal, on a file that nobody else writes.
class Journal::Writer {
public:
    // `mapping` is file_bytes(half_bytes_for(live_bytes_max, locks_max)) long and begins with a
    // FileHead of two empty halves.
    Writer(Descriptor file,
           Mapping mapping,
           const JournalOptions& options,
           std::size_t live_bytes_max);

    [[nodiscard]] bool put(const core::GrantRecord& record, Time now) noexcept;
    void drop(const LockKey& key, Fence fence) noexcept;
    [[nodiscard]] bool bar(const core::CancelledRequest& cancelled, Time now) noexcept;
    void raise_fence(Fence fence) noexcept;
    [[nodiscard]] Fence highest_fence() const noexcept { return highest_fence_; }
    void belongs_to(std::uint64_t incarnation) noexcept;
    void lacks_some() noexcept;
    [[nodiscard]] JournalCounts counts() const noexcept;
    [[nodiscard]] std::size_t room() noexcept;

private:
    struct Half {
        std::size_t begin = 0;
        std::size_t end = 0;       // where the next record goes
        std::size_t reserved = 0;  // the file system has given room up to here
    };

    [[nodiscard]] std::byte* at(std::size_t offset) const noexcept {
        return bytes_.data() + offset;
    }
    [[nodiscard]] Half& current() noexcept { return halves_[current_]; }
    [[nodiscard]] Half& former() noexcept { return halves_[1 - current_]; }
    [[nodiscard]] bool is_moving() const noexcept { return moved_to_ != 0; }

    [[nodiscard]] std::uint32_t* find(const LockKey& key, std::uint32_t tag) noexcept;
    [[nodiscard]] std::uint32_t* find(const core::CancelledRequest& bar,
                                      std::uint32_t tag) noexcept;
    [[nodiscard]] bool try_put(const core::GrantRecord& record, Time now) noexcept;
    [[nodiscard]] bool try_bar(const core::CancelledRequest& wish, Time now) noexcept;
    void append(Index& index, std::uint32_t tag, std::uint32_t* old, std::size_t length) noexcept;
    void drop_over_bars(Time now) noexcept;
    [[nodiscard]] bool move_some(std::size_t bytes) noexcept;
    [[nodiscard]] bool move_one(std::size_t from, std::size_t length) noexcept;
    void change_halves_if_due(std::size_t bytes) noexcept;
    [[nodiscard]] bool reserve(Half& half, std::size_t bytes) noexcept;
    void publish(std::size_t length) noexcept;
    void mark_over(std::size_t offset) noexcept;

    Descriptor file_;
    Mapping mapping_;
    std::span<std::byte> bytes_;
    JournalOptions options_;
    std::size_t half_bytes_;
    Index index_;
    Index bars_;
    Ends bar_ends_;  // one for each bar
    std::size_t bar_bytes_ = 0;
    std::array<Half, 2> halves_;
    std::size_t current_ = 0;
    std::uint64_t generation_ = 1;
    std::size_t moved_to_ = 0;  // what lies before it in the former half is moved; 0: all is
    Fence highest_fence_ = 0;
    JournalCounts counts_;
};

}  // namespace latchd::journal
