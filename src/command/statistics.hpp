// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace latchd::command {

// How long something took, in buckets of powers of two of a microsecond: [0,1], (1,2], (2,4] …
// Enough for INFO latencystats, at 256 bytes per command.
class Histogram {
public:
    static constexpr std::size_t buckets = 32;

    void add(Duration took) noexcept;
    void add(const Histogram& other) noexcept;
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    // The upper end of the bucket that holds the given share (0..1] of all, in microseconds.
    [[nodiscard]] std::uint64_t quantile_usec(double share) const noexcept;
    [[nodiscard]] std::uint64_t at(std::size_t bucket) const noexcept { return counts_[bucket]; }
    [[nodiscard]] static std::uint64_t upper_usec(std::size_t bucket) noexcept {
        return std::uint64_t{1} << bucket;
    }

private:
    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t count_ = 0;
};

struct Command;

struct CommandCounts {
    std::uint64_t calls = 0;
    std::uint64_t usec = 0;
    std::uint64_t rejected = 0;  // never run: arity, NOAUTH, subscribe mode
    std::uint64_t failed = 0;    // run and answered with an error
    Histogram took;
};

// What INFO commandstats, errorstats and latencystats show.
class Statistics {
public:
    [[nodiscard]] CommandCounts& of(const Command& command) { return commands_[&command]; }
    // nullptr: not called yet.
    [[nodiscard]] const CommandCounts* find(const Command& command) const noexcept {
        const auto it = commands_.find(&command);
        return it == commands_.end() ? nullptr : &it->second;
    }
    void count_error(std::string_view text);
    void count_processed() noexcept { ++processed_; }
    void add(const Statistics& other);
    // CONFIG RESETSTAT.
    void reset();

    [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& errors() const noexcept {
        return errors_;
    }
    [[nodiscard]] std::uint64_t processed() const noexcept { return processed_; }
    [[nodiscard]] std::uint64_t error_replies() const noexcept { return error_replies_; }

private:
    std::unordered_map<const Command*, CommandCounts> commands_;
    std::map<std::string, std::uint64_t, std::less<>> errors_;  // by the error's first word
    std::uint64_t processed_ = 0;
    std::uint64_t error_replies_ = 0;
};

}  // namespace latchd::command
