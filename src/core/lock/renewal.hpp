// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

namespace latchd::core {

// What a node has seen of the KEEP locks of one resource.
struct Pace {
    Duration round_trip{};  // of what the store answered lately; falls slowly
    Duration held{};        // how long grants last, on average; 0: none has ended yet

    void saw_round_trip(Duration sample) noexcept;
    void saw_hold(Duration sample) noexcept;
};

// How long after the store's word a KEEP lock is renewed: from ttl/6 to ttl/3. Earlier where the
// store is so slow that three tries would hardly fit into the rest of the lease, and where locks
// are held for many ttls: more is lost with them, and more renewals have to go well.
[[nodiscard]] Duration renew_after(Duration ttl, const Pace& pace) noexcept;

}  // namespace latchd::core
