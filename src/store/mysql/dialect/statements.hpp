// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lock_row.hpp"

#include <latchd/core/authority/types.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/core/lock/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The statements of the MySQL store, each with what it answers. Statements with `;` between them
// are one query. docs/mysql.md shows them as they are sent.
namespace latchd::store::mysql {

// What every statement that changes a lock compares with the placement's row, which it reads with
// LOCK IN SHARE MODE; and where the server's clock should be while it does.
struct Guard {
    std::string cluster;
    Epoch since = 0;
    core::authority::Nonce nonce;
    bool is_settling = false;                 // compares state = settling and no nonce: TierLoad
    std::optional<std::int64_t> expected_us;  // absent: the clock goes unchecked
    Duration window{};                        // either way
    Duration strict_window{};                 // the same for locks of strict resources
};

// How the placement's row is read on its own: always the first thing of a transaction.
enum class GuardLock : std::uint8_t { none, share, update };
[[nodiscard]] std::string guard_statement(const Guard& guard, GuardLock lock);
struct GuardSeen {
    bool is_placed = false;   // epoch, state and nonce are the placement's
    bool is_writable = true;  // not read_only
    Time now{};
    Fence floor = 0;
};
[[nodiscard]] GuardSeen read_guard(const Rows& rows);
// How far off the clock may be for this operation; -1: it grants nothing, however far.
[[nodiscard]] Duration window_of(const Guard& guard, const core::Operation& operation) noexcept;
[[nodiscard]] bool is_clock_off(const Guard& guard,
                                Time now,
                                const core::Operation& operation) noexcept;

// ---- acquires, renewals, releases of one turn ------------------------------------------------

// Whether the one statement can express it; the rest is decided here and written by write_rows().
[[nodiscard]] bool is_plain(const core::Operation& operation) noexcept;

// A row that is as the operation wants it changes and gets the stamp; any other stays.
struct PlainWish {
    const core::Operation* operation = nullptr;
    std::string stamp;
};
// Sorted by key, a lock at most once.
[[nodiscard]] std::string plain_statement(const Guard& guard, std::span<const PlainWish> wishes);

// ---- rows ------------------------------------------------------------------------------------

// Columns: row_columns. `keys` sorted.
[[nodiscard]] std::string rows_statement(std::string_view cluster,
                                         std::span<const LockKey> keys,
                                         bool for_update);
struct RowWrite {
    const LockRow* next = nullptr;  // its stamp: the one that was seen
    std::string stamp;              // the one that it gets
    Duration window{-1};            // window_of() its operation
};
// Compare-and-set: a row changes if its stamp is still the one that was seen. `overwrites`: rows of
// other epochs, and what an earlier load wrote, are replaced, whatever their stamp (TierLoad).
[[nodiscard]] std::string write_statement(const Guard& guard,
                                          std::span<const RowWrite> writes,
                                          bool overwrites);
// Columns: resource_id, business_id, stamp. `keys` sorted.
[[nodiscard]] std::string stamps_statement(std::string_view cluster, std::span<const LockKey> keys);

// ---- lists, hand-over, sweep -----------------------------------------------------------------

// Columns: row_columns, position. Rows in the order of a hash, from `cursor`; one more than asked.
[[nodiscard]] std::string list_statement(const Guard& guard, const core::List& list);
[[nodiscard]] std::vector<core::GrantRecord> read_list(
    const Rows& rows, const core::List& list, Epoch since, Time now, std::uint64_t& cursor);
// Columns: row_columns; live rows and bars of that epoch after `after`, in the order of the key.
[[nodiscard]] std::string claims_statement(std::string_view cluster,
                                           Epoch since,
                                           const std::optional<LockKey>& after,
                                           std::size_t count);

// Columns: resource_id, business_id, 1 if it may go; rows after `after` in the order of the key.
[[nodiscard]] std::string sweep_look_statement(std::string_view cluster,
                                               const std::optional<LockKey>& after,
                                               std::int64_t cutoff_us,
                                               std::size_t count);
// One transaction: placement row, floor, rows between `first` and `last` that are over since the
// cutoff.
[[nodiscard]] std::string sweep_statements(std::string_view cluster,
                                           const LockKey& first,
                                           const LockKey& last,
                                           std::int64_t cutoff_us);

// ---- probe, connections, messages ------------------------------------------------------------

// A write; then columns: clock in us, run id's parts as Session reads them, read_only.
[[nodiscard]] std::string probe_statements(std::string_view cluster, const NodeName& node);
[[nodiscard]] std::string kill_statement(std::uint64_t connection_id);
// Rows: those of the connections that are still there.
[[nodiscard]] std::string alive_statement(std::span<const std::uint64_t> connection_ids);

struct Letter {
    NodeName to;  // empty: all nodes
    core::NodeMessage message;
};
[[nodiscard]] std::string letters_statement(std::string_view cluster,
                                            std::span<const Letter> letters);
// Columns: id, kind, resource_id, business_id, fence, version, request, keep.
[[nodiscard]] std::string read_letters_statement(std::string_view cluster,
                                                 const NodeName& node,
                                                 std::uint64_t after_id);
[[nodiscard]] std::optional<core::NodeMessage> read_letter(const Rows& rows, std::size_t row);
// Row: the highest id there is.
[[nodiscard]] std::string last_letter_statement();
[[nodiscard]] std::string old_letters_statement(std::string_view cluster, Duration age);

}  // namespace latchd::store::mysql
