// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lock_row.hpp"

#include <latchd/core/lock/operation.hpp>
#include <latchd/core/lock/table.hpp>

#include <vector>

namespace latchd::store::mysql {

// What an operation comes to when a lock is as its row says.
struct Decision {
    core::OperationReply reply;
    bool is_change = false;  // then `next` has to be written, or nothing of this is true
    LockRow next;            // its stamp is still the former one
    std::vector<core::Table::Told> told;
};

// The rules are core::Table's: it is given this one lock and asked. `floor`: no fence of a row that
// was swept is above it. Not for List.
[[nodiscard]] Decision decide(
    Time now, Epoch since, Fence floor, const LockRow& row, const core::Operation& operation);

// What of a row a hand-over has to carry.
void append_claims(core::Claims& claims, const LockRow& row, Epoch since, Time now);
// The rows that are to be there after a hand-over, in the order of the primary key.
[[nodiscard]] std::vector<LockRow> rows_of(const core::Claims& claims, Epoch since, Time now);

[[nodiscard]] LockKey key_of(const core::Operation& operation);
// It may make a lease begin or last longer.
[[nodiscard]] bool may_grant(const core::Operation& operation) noexcept;
// … a lock of a strict resource.
[[nodiscard]] bool is_strict(const core::Operation& operation) noexcept;

}  // namespace latchd::store::mysql
