// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace latchd::load {

enum class Language : std::uint8_t {
    latchd,   // LOCK and UNLOCK
    set,      // SET key token NX PX ttl and DEL key: what people write themselves
    scripts,  // latchd's own acquire and release scripts, sent to Redis without latchd
};

struct Process {
    std::string name;
    int pid = 0;
};

// What one run does. Times are as the names say.
struct Settings {
    std::vector<sockaddr_in> servers;  // connections are spread over them in turn
    Language language = Language::latchd;
    std::size_t connections = 50;
    std::size_t pipeline = 1;  // cycles that are under way on each connection
    std::size_t locks = 1'000'000;
    bool is_in_turn = false;  // ids one after the other instead of by chance
    std::int64_t wait_ms = 0;
    // A refused LOCK is asked again after that, and who had the lock begins anew after that. -1: a
    // refused one ends the cycle, and the next begins at once.
    std::int64_t poll_us = -1;
    std::int64_t hold_us = 0;
    std::int64_t ttl_ms = 30'000;
    double rate = 0;  // cycles a second that begin by chance (open loop); 0: closed loop
    double warm_s = 0.2;
    double run_s = 1;
    bool is_patient = false;    // a store that is away is counted and asked again, no failure
    std::int64_t slice_ms = 0;  // figures of the LOCKs of each such time, too; 0: none
    std::uint64_t cycles = 0;   // ends the run earlier; 0: it doesn't
    std::size_t idle = 0;       // further connections that said PING once
    std::size_t held = 0;       // locks that are taken before and kept
    std::uint64_t seed = 1;
    int cpu = -1;                    // of this program; -1: any
    std::vector<Process> processes;  // whose CPU and memory are reported
};

// The settings, or what is wrong with the arguments. An address that isn't of the loopback
// interface is wrong: this program must never put load on somebody's server.
[[nodiscard]] std::variant<Settings, std::string> parse_settings(
    const std::vector<std::string_view>& arguments);

[[nodiscard]] std::string_view usage() noexcept;

}  // namespace latchd::load
