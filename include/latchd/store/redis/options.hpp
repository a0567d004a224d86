// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>
#include <latchd/runtime/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace latchd::store::redis {

struct CheckOptions {
    Duration inter = std::chrono::seconds(1);             // between probes
    Duration fastinter = std::chrono::milliseconds(250);  // once one failed, until up again
    Duration timeout = std::chrono::milliseconds(500);
    std::uint32_t rise = 5;  // good probes to be up again; one suffices on a new connection
    std::uint32_t fall = 3;  // failed ones to be down
};

struct Options {
    std::string name = "redis";  // of the store, for logs and INFO
    std::string host = "127.0.0.1";
    std::uint16_t port = 6379;
    std::string path;      // not empty: a Unix socket instead of host and port
    std::string username;  // empty: Redis's default user
    std::string password;  // empty: no AUTH
    std::uint32_t database = 0;
    std::string cluster = "default";
    NodeName node;
    Duration connect_timeout = std::chrono::milliseconds(500);  // resolving and connecting, each
    Duration operation_timeout = std::chrono::seconds(1);  // without a reply: connection is dead
    CheckOptions check;
    Duration clock_margin = std::chrono::milliseconds(50);  // goes off every lease told
    Duration clock_window = std::chrono::seconds(1);        // of the store's clock, either way
    // Doubles from min to max, drawn between half and whole. With the greatest of them and a
    // second for settling locks can be had again within 2 s after Redis came back.
    Duration backoff_min = std::chrono::milliseconds(50);
    Duration backoff_max = std::chrono::milliseconds(500);
    std::size_t in_flight_max = 100'000;  // operations without an answer; above: refused
    std::uint32_t wait_replicas = 0;      // whose word a write's answer waits for; 0: nobody's
    runtime::TcpOptions tcp;
};

}  // namespace latchd::store::redis
