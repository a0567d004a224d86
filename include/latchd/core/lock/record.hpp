// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/few.hpp>
#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace latchd::core {

// One successful LOCK. It ends when its token is shown to UNLOCK, or with its last attempt.
struct Hold {
    Token token;
    RequestId request;
    Few<Attempt> attempts;  // 1 .. attempts_per_hold_max
    Duration adopt_left{};  // how long a re-sent LOCK may still adopt this hold

    friend bool operator==(const Hold&, const Hold&) = default;
};

// Everything known of a grant: the same in every store, journal and hand-over. Times travel as
// what is left (or has passed), never as instants: each keeper counts them by its own clock.
//
// Invariants: holds is not empty; left <= ttl_max; left <= hard_left; left >= -delay.
struct GrantRecord {
    LockKey key;
    std::vector<Hold> holds;
    OwnerName owner;
    Fence fence = 0;
    std::uint64_t version = 0;          // 1 at the grant, +1 for each change under the same fence
    Duration left{};                    // of the lease; negative during DELAY
    Duration ttl{};                     // what RENEW without PX gives
    std::optional<Duration> hard_left;  // to the hard end (MAXHOLD)
    std::uint32_t renewals = 0;
    std::uint32_t renew_max = 0;  // 0: no limit
    Duration delay{};             // nobody gets the lock for so long after a lease that lapsed
    Duration age{};               // since the grant
    NodeName node;                // which last granted or renewed: told of foreign releases
    ClientName client;

    friend bool operator==(const GrantRecord&, const GrantRecord&) = default;
};

// What a message or a log may say of a token.
[[nodiscard]] inline std::string_view token_tail(const Token& token) noexcept {
    constexpr std::size_t shown = 6;
    const std::string_view all = token.view();
    return all.substr(all.size() - std::min(all.size(), shown));
}

inline constexpr std::size_t attempts_per_hold_max = 16;
inline constexpr std::size_t holds_per_lock_max = 64;

}  // namespace latchd::core
