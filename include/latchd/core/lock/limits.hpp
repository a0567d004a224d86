// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <chrono>
#include <cstddef>

namespace latchd::core {

// How long leases and delays may be. While a fleet changes that, less is given than may be live.
struct LeaseLimits {
    Duration ttl_max = std::chrono::seconds(60);    // nothing is granted or renewed for longer
    Duration delay_max = std::chrono::seconds(60);  // nor with a longer DELAY
    // Of what may be live, by whomever granted: for as long it is waited out and carried.
    Duration ttl_longest = std::chrono::seconds(60);
    Duration delay_longest = std::chrono::seconds(60);
    Duration claims_kept = std::chrono::seconds(240);  // what a leaver handed over counts so long

    friend bool operator==(const LeaseLimits&, const LeaseLimits&) = default;
};

// Locks that a node and a table each keep as objects, and all others that are held as bytes: more
// than what clients have under way at once, so that a lock that is soon released is never packed.
inline constexpr std::size_t unpacked_max_default = 1'024;

}  // namespace latchd::core
