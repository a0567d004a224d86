// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include "context.hpp"

#include <algorithm>
#include <utility>

// A process of several loops is several nodes, and to who asks it by its one port it is one server:
// INFO, CLIENT, SLOWLOG and the like tell of all loops. The loop whose client asked gets a report
// of each other loop, and the handler adds them up.
namespace latchd::command {
namespace {

void add(ProcessInfo& to, const ProcessInfo& part) {
    to.clients += part.clients;
    to.memory_clients += part.memory_clients;
    to.connections_received += part.connections_received;
    to.connections_rejected += part.connections_rejected;
    to.commands_per_second += part.commands_per_second;
    to.bytes_in += part.bytes_in;
    to.bytes_out += part.bytes_out;
}

void add(core::NodeCounts& to, const core::NodeCounts& part) {
    to.acquired += part.acquired;
    to.adopted += part.adopted;
    to.contended += part.contended;
    to.wait_timeouts += part.wait_timeouts;
    to.released += part.released;
    to.renewed += part.renewed;
    to.expired += part.expired;
    to.lost += part.lost;
    to.not_owner += part.not_owner;
    to.undone += part.undone;
    to.uncertain += part.uncertain;
    to.handovers += part.handovers;
    to.over_expected += part.over_expected;
    to.held += part.held;
    to.waiting += part.waiting;
    to.keeping += part.keeping;
}

}  // namespace

ProcessInfo process_of_all(const Context& context) {
    ProcessInfo all = context.host().process();
    for (const auto& report : context.others) add(all, report->process);
    return all;
}

core::NodeCounts counts_of_all(const Context& context) {
    core::NodeCounts all = context.host().counts();
    for (const auto& report : context.others) add(all, report->counts);
    return all;
}

Statistics statistics_of_all(const Context& context) {
    Statistics all = context.services.statistics;
    for (const auto& report : context.others) all.add(report->statistics);
    return all;
}

std::deque<SlowLog::Entry> slow_log_of_all(const Context& context) {
    std::deque<SlowLog::Entry> all = context.services.slow_log.entries();
    for (const auto& report : context.others) {
        all.insert(all.end(), report->slow.begin(), report->slow.end());
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.unix_seconds > b.unix_seconds;
    });
    const std::size_t most = context.options().slowlog_max;
    if (all.size() > most) all.erase(all.begin() + static_cast<std::ptrdiff_t>(most), all.end());
    return all;
}

LatencyLog latency_of_all(const Context& context) {
    LatencyLog all = context.services.latency_log;
    for (const auto& report : context.others) all.add(report->latency);
    return all;
}

std::map<std::string, std::size_t> channels_of_all(const Context& context) {
    std::map<std::string, std::size_t> all;
    for (const auto& [channel, clients] : context.services.subscriptions.channels()) {
        all.emplace(channel, clients.size());
    }
    for (const auto& report : context.others) {
        for (const auto& [channel, count] : report->channels) all[channel] += count;
    }
    return all;
}

std::size_t patterns_of_all(const Context& context) {
    std::set<std::string> all;
    for (const auto& [pattern, clients] : context.services.subscriptions.patterns()) {
        all.insert(pattern);
    }
    for (const auto& report : context.others) {
        all.insert(report->patterns.begin(), report->patterns.end());
    }
    return all.size();
}

void visit_clients_of_all(const Context& context,
                          const std::function<void(const ClientState&)>& visit) {
    if (context.others.empty()) return context.host().visit_clients(visit);
    std::map<ClientId, const ClientState*> all;
    context.host().visit_clients(
        [&all](const ClientState& client) { all.emplace(client.id, &client); });
    for (const auto& report : context.others) {
        for (const ClientState& client : report->clients) all.emplace(client.id, &client);
    }
    for (const auto& [id, client] : all) visit(*client);
}

std::shared_ptr<const Report> make_report(Services& services, const Gathering& gathering) {
    auto report = std::make_shared<Report>();
    report->loop = services.options.loop;
    report->node = services.options.node;
    report->process = services.host.process();
    report->status = services.host.status();
    report->counts = services.host.counts();
    report->statistics = services.statistics;
    report->slow = services.slow_log.entries();
    report->latency = services.latency_log;
    for (const auto& [channel, clients] : services.subscriptions.channels()) {
        report->channels.emplace(channel, clients.size());
    }
    for (const auto& [pattern, clients] : services.subscriptions.patterns()) {
        report->patterns.insert(pattern);
    }
    const bool wants_clients = gathering.pending.command->has(flag_gather_clients);
    services.host.visit_clients([&](const ClientState& client) {
        report->clients_waiting += client.waiting != 0 ? 1 : 0;
        report->clients_listening += client.subscriptions() != 0 ? 1 : 0;
        if (wants_clients) report->clients.push_back(client);
    });
    if (gathering.pending.command->part != nullptr) {
        gathering.pending.command->part(services, gathering);
    }
    return report;
}

}  // namespace latchd::command
