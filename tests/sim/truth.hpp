// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timeline.hpp"

#include <latchd/core/lock/operation.hpp>

#include <map>
#include <optional>
#include <vector>

namespace latchd::sim {

// What was really so in the store, and when. Told by the model of the store before and after each
// operation; asked by the oracle.
class Truth {
public:
    // The lock as the store has it at `now`; nullptr: free. `clock` is the store's.
    void observe(Moment now,
                 const HostClock& clock,
                 const LockKey& key,
                 const core::GrantRecord* record);
    // Whatever the store held is gone.
    void replaced(Moment now);

    // Somebody held the lock, or it was in its DELAY, at some moment between the two. So does a
    // lock that only the store has lost.
    [[nodiscard]] bool was_busy(const LockKey& key, Moment from, Moment to) const;
    // The hold of this token was there at some moment since `from`.
    [[nodiscard]] bool was_held(const Token& token, Moment from, Moment to) const;
    // It was there, and its lease ran, all the time between the two.
    [[nodiscard]] bool was_held_throughout(const Token& token, Moment from, Moment to) const;
    // What the store holds now, as far as it was seen.
    [[nodiscard]] bool knows(const Token& token) const { return tokens_.count(token) != 0; }

private:
    struct Life {
        Moment since{};
        Moment last{};       // when it was seen alive last
        Moment lease_end{};  // while open
        Moment end{};        // with DELAY; while open
        Moment lost_end{};   // had the store not lost it: until then its node speaks for it
        bool is_open = false;

        void live(Moment now, Moment lease, Moment all) noexcept;
        void close(Moment now) noexcept;
        [[nodiscard]] Moment seen_until(Moment now) const noexcept;
    };

    std::map<LockKey, Life> locks_;
    std::map<Token, Life> tokens_;
    std::map<LockKey, std::vector<Token>> held_;
};

}  // namespace latchd::sim
