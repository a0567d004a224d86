// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "table.hpp"

#include <latchd/command/host.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace latchd::command {

// LATCHD NODES, FAILOVER, FAILBACK, DOCTOR, CLUSTER.
void run_nodes(Context& context);
void run_failover(Context& context);
void run_failback(Context& context);
void run_doctor(Context& context);
void run_cluster(Context& context);

// A change of ttl_max or delay_max that does not hold or is not promised yet; empty: none.
[[nodiscard]] std::string pending_text(const core::authority::FleetStatus::OfBasis& of);
// In what this node's configuration says otherwise than the fleet's record; empty: in nothing.
[[nodiscard]] std::string basis_differs(const core::authority::FleetStatus& status);

// One word: "serving", "settling" …
[[nodiscard]] std::string_view word_of(core::authority::FleetStatus::Mode mode) noexcept;
// What a node sees of each store: "redis=failing(refused) mysql=healthy"; "-" for nothing yet.
[[nodiscard]] std::string sights_text(const std::vector<core::authority::TierSight>& sights);
// Sixteen hexadecimal digits: it is not below 2^53.
[[nodiscard]] std::string incarnation_text(core::authority::Incarnation incarnation);
[[nodiscard]] bool is_lost(const core::authority::FleetStatus& status,
                           core::authority::Incarnation incarnation) noexcept;

}  // namespace latchd::command
