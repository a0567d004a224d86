// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace latchd::command {

// The same as in core::NodeOptions: here they make the error texts, there they bind.
struct Limits {
    Duration ttl_min = std::chrono::milliseconds(100);
    Duration ttl_max = std::chrono::seconds(60);
    Duration wait_max = std::chrono::seconds(60);
    Duration delay_max = std::chrono::seconds(60);
};

// What the command layer needs of the configuration.
struct Options : Limits {
    std::string password;  // empty: AUTH is not asked for
    NodeName node;
    std::uint32_t loop = 1;  // of the process, counted from 1
    std::string cluster = "default";
    std::string redis_version = "7.0.15";  // the compatibility level that clients are told
    std::string version;                   // latchd's own
    // Why no resource may be SAFETY strict; empty: it may.
    std::string strict_refusal =
        "SAFETY strict needs an arbiter that outlives the preferred store "
        "(MySQL behind Redis), and none is configured";
    Duration slower_than = std::chrono::milliseconds(50);  // SLOWLOG; negative: off, 0: all
    std::size_t slowlog_max = 128;                         // entries kept
    Duration latency_min = std::chrono::milliseconds(0);   // LATENCY keeps events from here on
};

}  // namespace latchd::command
