// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "latency_log.hpp"
#include "slow_log.hpp"
#include "statistics.hpp"

#include <latchd/command/dispatcher.hpp>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace latchd::command {

struct Context;
struct Services;

// What one loop of the process has to say for a command that is about all of them.
struct Report {
    std::uint32_t loop = 1;  // counted from 1
    NodeName node;
    ProcessInfo process;  // only what is counted by loop
    NodeStatus status;
    core::NodeCounts counts;
    Statistics statistics;
    std::deque<SlowLog::Entry> slow;
    LatencyLog latency;
    std::map<std::string, std::size_t> channels;  // and how many listen
    std::set<std::string> patterns;
    std::vector<ClientState> clients;  // where the command asks for them
    std::size_t clients_waiting = 0;
    std::size_t clients_listening = 0;
};

// The same over all loops: this one's own and what the others reported.
[[nodiscard]] ProcessInfo process_of_all(const Context& context);
[[nodiscard]] core::NodeCounts counts_of_all(const Context& context);
[[nodiscard]] Statistics statistics_of_all(const Context& context);
// The newest first. An entry's id is its loop's own.
[[nodiscard]] std::deque<SlowLog::Entry> slow_log_of_all(const Context& context);
[[nodiscard]] LatencyLog latency_of_all(const Context& context);
[[nodiscard]] std::map<std::string, std::size_t> channels_of_all(const Context& context);
[[nodiscard]] std::size_t patterns_of_all(const Context& context);
// In the order of their ids.
void visit_clients_of_all(const Context& context,
                          const std::function<void(const ClientState&)>& visit);

// This loop's part in a command that another loop's client sent.
[[nodiscard]] std::shared_ptr<const Report> make_report(Services& services,
                                                        const Gathering& gathering);

}  // namespace latchd::command
