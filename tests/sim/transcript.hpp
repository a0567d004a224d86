// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timeline.hpp"

#include <latchd/base/ids.hpp>
#include <latchd/core/lock/node.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace latchd::sim {

// One line each, for transcripts.
[[nodiscard]] std::string describe(const core::Operation& operation);
[[nodiscard]] std::string describe(const core::OperationReply& reply);
[[nodiscard]] std::string describe(const core::Outcome& outcome);
[[nodiscard]] std::string describe(const core::ClientCommand& command);
[[nodiscard]] const LockKey* key_of(const core::Operation& operation) noexcept;

// Everything that happened: always a hash of it (two runs of one seed must agree), and the last
// lines where somebody wants to read them.
class Transcript {
public:
    explicit Transcript(bool is_written) noexcept : is_written_(is_written) {}

    // `text` is called only where it is read. Without a key it concerns every lock.
    template <class Text>
    void add(Moment at, const LockKey* key, std::uint64_t mark, Text&& text) {
        mix(static_cast<std::uint64_t>(at.time_since_epoch().count()));
        mix(mark);
        if (is_written_) write(at, key, std::forward<Text>(text)());
    }
    void mix(std::uint64_t value) noexcept { hash_ = (hash_ ^ value) * 1099511628211ull; }

    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
    // The last `count` lines of this lock and of what concerns all.
    [[nodiscard]] std::string tail(const LockKey* key, std::size_t count) const;

private:
    struct Line {
        std::string lock;  // empty: concerns every lock
        std::string text;
    };
    void write(Moment at, const LockKey* key, std::string text);

    bool is_written_;
    std::uint64_t hash_ = 14695981039346656037ull;
    std::deque<Line> lines_;
};

}  // namespace latchd::sim
