// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace latchd::command {

// The slowest commands of late, newest first. What it is told is masked already.
class SlowLog {
public:
    struct Entry {
        std::uint64_t id = 0;
        std::int64_t unix_seconds = 0;
        Duration took{};
        std::vector<std::string> arguments;
        std::string address;
        std::string name;
    };

    explicit SlowLog(std::size_t entries_max) : entries_max_(entries_max) {}

    void add(Entry entry) {
        entry.id = next_id_++;
        entries_.push_front(std::move(entry));
        if (entries_.size() > entries_max_) entries_.pop_back();
    }
    void reset() noexcept { entries_.clear(); }
    [[nodiscard]] const std::deque<Entry>& entries() const noexcept { return entries_; }

private:
    std::size_t entries_max_;
    std::uint64_t next_id_ = 0;
    std::deque<Entry> entries_;
};

}  // namespace latchd::command
