// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/core/lock/record.hpp>

#include <cstddef>
#include <string>

namespace latchd::server {

// Where the node writes its grants down before it tells them. Loop thread only.
class GrantLog {
public:
    virtual ~GrantLog() = default;
    // False: there is no room; what was kept of the lock stays.
    [[nodiscard]] virtual bool put(const core::GrantRecord& record, Time now) = 0;
    virtual void drop(const LockKey& key, Fence fence) = 0;
    // How many further locks' records there is room for.
    [[nodiscard]] virtual std::size_t room() = 0;
    // Why grants are not written down, what follows and what helps; empty: they are.
    [[nodiscard]] virtual std::string warning() const { return {}; }
};

}  // namespace latchd::server
