// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan.hpp"

#include <latchd/core/lock/table.hpp>

namespace latchd::sim {

// Carries an operation out, with the planted bug if there is one.
struct Mutation {
    Mutant mutant;
    core::Table& table;
    Time now;
    const core::GrantRecord* last;  // of this lock, as it was seen last; may be over

    [[nodiscard]] core::OperationReply apply(const core::Operation& operation);

private:
    void before(const core::Operation& operation);
    void after(const core::Operation& operation, core::OperationReply& reply);
    [[nodiscard]] std::optional<core::GrantRecord> inspect(const LockKey& key);
};

}  // namespace latchd::sim
