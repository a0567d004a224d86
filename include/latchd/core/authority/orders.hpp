// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What an operator asks of a Fleet. Each is answered by Commanded, within 1.5 s.
namespace latchd::core::authority {

// LATCHD FAILOVER / FAILBACK.
struct Command {
    std::uint64_t id = 0;
    std::string store;   // where to; empty: FAILOVER the next one that is healthy
    bool back = false;   // FAILBACK: the most preferred one
    std::string reason;  // who asked
};

// LATCHD CLUSTER SET. What is absent stays; ranges were looked at before.
struct BasisWanted {
    std::uint64_t id = 0;
    std::optional<Duration> ttl_max{};
    std::optional<Duration> delay_max{};
    std::optional<std::vector<std::string>> stores{};  // not empty, none twice
};

}  // namespace latchd::core::authority
