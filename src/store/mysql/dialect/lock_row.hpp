// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include <latchd/core/lock/claims.hpp>
#include <latchd/core/lock/kept.hpp>
#include <latchd/core/lock/table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::store::mysql {

// A cancelled request id, or attempts of it that were undone before they came.
struct Bar {
    RequestId request;
    bool everything = false;
    Few<Attempt> attempts;
    Time until{};

    friend bool operator==(const Bar&, const Bar&) = default;
};

// All that is known of one lock: its row. Times are the server's, as microseconds since 1970. What
// a row says counts only if its since_epoch is the placement's.
struct LockRow {
    LockKey key;
    std::string stamp;  // of the last change, never used twice; empty: there is no row yet
    Epoch since = 0;
    Fence counter = 0;        // the highest fence that the row has seen; never lower
    core::KeptRecord record;  // the last grant, also when it was released since; holds may be empty
    Time free_at{};           // end of lease and delay; 0: released
    Time changed_at{};
    std::vector<Bar> bars;
    core::NodeQueue queue;
    bool is_damaged = false;  // somebody else wrote into it

    [[nodiscard]] bool is_live(Time now, Epoch epoch) const noexcept {
        return since == epoch && free_at > now;
    }
    [[nodiscard]] Time bars_until() const noexcept;
};

// The columns that read_row() wants, in order.
inline constexpr std::string_view row_columns =
    "r.resource_id,r.business_id,r.since_epoch,r.stamp,r.fence,r.counter,r.version,r.expire_at,"
    "r.free_at,r.hard_at,r.ttl,r.delay,r.renewals,r.renew_max,r.holder_id,r.node,r.client,"
    "r.create_time,r.changed_at,r.holds,r.bars,r.waiting";
[[nodiscard]] LockRow read_row(const Rows& rows, std::size_t row);
// Of the first two columns.
[[nodiscard]] LockKey read_key(const Rows& rows, std::size_t row);

// The columns holds and bars. Adoption ends so long after the grant.
[[nodiscard]] std::string holds_text(const core::KeptRecord& record);
[[nodiscard]] std::string bars_text(const std::vector<Bar>& bars);
// The column waiting: until when it is reserved for the first, when it is forgotten, the names.
[[nodiscard]] std::string queue_text(const core::NodeQueue& queue);
// The holds of a fresh grant, whatever its time.
[[nodiscard]] std::string first_hold_text(const Token& token,
                                          const RequestId& request,
                                          const Attempt& attempt,
                                          Duration retry_window);
// What stands in holds if, and only if, one of them has this token.
[[nodiscard]] std::string token_mark(const Token& token);

// Order of the primary key.
[[nodiscard]] bool comes_before(const LockKey& a, const LockKey& b) noexcept;

[[nodiscard]] constexpr Time server_time(std::int64_t us) noexcept { return Time(Duration(us)); }
[[nodiscard]] constexpr std::int64_t to_us(Time at) noexcept {
    return at.time_since_epoch().count();
}

}  // namespace latchd::store::mysql
