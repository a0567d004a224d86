// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>
#include <latchd/runtime/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace latchd::store::mysql {

// Where a server is and how one connection to it behaves; for the store and for the arbiter.
struct ConnectOptions {
    enum class Tls : std::uint8_t {
        off,
        required,  // encrypted, whoever answers
        verified,  // encrypted, and the certificate is for this host
    };

    std::string name = "mysql";  // of the store, for logs and INFO
    std::string host = "127.0.0.1";
    std::uint16_t port = 3306;
    std::string path;  // not empty: a Unix socket instead of host and port
    std::string username;
    std::string password;
    std::string database = "latchd";
    Tls tls = Tls::off;
    std::string tls_ca;  // file of certificates; empty: the system's
    Duration connect_timeout = std::chrono::seconds(1);  // resolving, then connecting and greeting
    // Without an answer the connection is dead. Locks get a second more, which a row is waited for.
    Duration operation_timeout = std::chrono::seconds(1);
    runtime::TcpOptions tcp;
};

struct CheckOptions {
    Duration inter = std::chrono::seconds(1);             // between probes
    Duration fastinter = std::chrono::milliseconds(250);  // once one failed, until one succeeds
    Duration timeout = std::chrono::milliseconds(500);
    std::uint32_t fall = 3;  // late ones in a row that end the connection
};

// How a lock operation is carried out. One schema and one counter: nodes may differ, and a node
// may change it when it starts.
enum class Strategy : std::uint8_t {
    upsert,       // one statement decides; what it can't express goes on as `optimistic`
    optimistic,   // read, decide here, write if the row's stamp is still the same
    pessimistic,  // read for update, decide here, write, within one transaction
};

struct Options {
    ConnectOptions server;
    std::string cluster = "default";
    NodeName node;
    Strategy strategy = Strategy::upsert;
    std::size_t connections = 4;  // at most, one of them for probes and messages; at least 2
    std::size_t batch_max = 128;  // operations in one statement
    // Locks in one statement of heads that look again; core::NodeOptions::checks_per_second.
    std::size_t looks_max = 1'000;
    CheckOptions check;
    Duration clock_margin = std::chrono::milliseconds(50);  // goes off every lease told
    Duration clock_window = std::chrono::seconds(1);        // of the server's clock, either way
    Duration backoff_min = std::chrono::milliseconds(50);  // doubles to max, between half and whole
    Duration backoff_max = std::chrono::milliseconds(500);
    std::size_t in_flight_max = 100'000;  // operations without an answer; above: refused
    Duration poll_min = std::chrono::milliseconds(50);  // for messages, while there is work
    Duration poll_max = std::chrono::milliseconds(250);
    Duration sweep_every = std::chrono::seconds(60);
    Duration sweep_after = std::chrono::minutes(10);  // rows stay for so long after their lease
};

}  // namespace latchd::store::mysql
