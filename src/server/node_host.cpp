// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "node_host.hpp"

#include "process_numbers.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>

namespace latchd::server {
namespace {

command::StoreStatus shown(store::Health health) {
    return {.name = std::move(health.name),
            .type = std::move(health.type),
            .address = std::move(health.address),
            .state = std::move(health.state),
            .last_error = std::move(health.last_error),
            .checks_ok = health.checks_ok,
            .checks_failed = health.checks_failed,
            .last_check_usec = health.last_check_usec,
            .in_flight = health.in_flight,
            .connections = health.connections,
            .epoch = health.epoch,
            .warning = std::move(health.warning)};
}

telemetry::Level audit_level(core::Notice::Level level) {
    switch (level) {
        case core::Notice::Level::debug:
            return telemetry::Level::debug;
        // Commands only note what administrators did.
        case core::Notice::Level::info:
            return telemetry::Level::notice;
        case core::Notice::Level::warning:
            return telemetry::Level::warning;
        case core::Notice::Level::error:
            return telemetry::Level::error;
    }
    return telemetry::Level::error;
}

}  // namespace

NodeHost::NodeHost(Parts parts) : parts_(std::move(parts)), started_(parts_.shell->now()) {}

void NodeHost::set_ending(Ending ending) { ending_ = std::max(ending_, ending); }

void NodeHost::sample(std::uint64_t commands) {
    commands_per_second_ = commands - last_commands_;
    last_commands_ = commands;
    (void)status();
}

std::int64_t NodeHost::wall_usec() const { return wall_clock_usec(); }

std::uint16_t NodeHost::tcp_port() const {
    for (const Endpoint& endpoint : *parts_.endpoints) {
        if (!endpoint.is_unix()) return endpoint.port;
    }
    return 0;
}

command::ProcessInfo NodeHost::process() const {
    command::ProcessInfo info;
    read_process_numbers(info);
    info.run_id = parts_.options->run_id;
    info.config_file = parts_.options->config_file;
    info.threads = parts_.options->threads;
    info.tcp_port = tcp_port();
    info.started = started_;
    info.clients = parts_.sessions->size();
    for (const ListenerOptions& listener : parts_.options->listeners) {
        info.clients_max = std::max<std::uint64_t>(info.clients_max, listener.clients_max);
    }
    parts_.sessions->visit(
        [&info](const Session& session) { info.memory_clients += session.memory_bytes(); });
    const SessionCounts counts = parts_.sessions->counts();
    info.connections_received = counts.received;
    info.connections_rejected = counts.rejected;
    info.bytes_in = counts.bytes_in;
    info.bytes_out = counts.bytes_out;
    info.commands_per_second = commands_per_second_;
    return info;
}

NodeHost::Word NodeHost::word() const {
    const StoreView& view = parts_.shell->store_view();
    if (ending_ != Ending::no) return {"draining", "the node gives its locks back and ends"};
    if (!view.open) return {"no_store", view.reason};
    return {"ok", "-"};
}

command::NodeStatus NodeHost::status() const {
    const StoreView& view = parts_.shell->store_view();
    Word now = word();
    if (now.state != last_state_) {
        last_state_ = now.state;
        since_unix_ = wall_clock_usec() / 1'000'000;
    }
    command::NodeStatus status;
    status.state = std::move(now.state);
    status.reason = std::move(now.reason);
    status.since_unix = since_unix_;
    status.tier = view.tier;
    status.epoch = view.epoch;
    status.epochs = view.openings > 0 ? view.openings - 1 : 0;
    if (parts_.shell->store() != nullptr) {
        const store::Health health = parts_.shell->store()->health();
        status.store = view.open ? health.name : "";
        status.store_type = health.type;
        status.warnings = health.warning;
    }
    return status;
}

std::vector<command::StoreStatus> NodeHost::stores() const {
    if (parts_.shell->store() == nullptr) return {};
    return {shown(parts_.shell->store()->health())};
}

void NodeHost::visit_clients(const std::function<void(const command::ClientState&)>& visit) const {
    parts_.sessions->visit([&visit](const Session& session) { visit(session.state()); });
}

command::ClientState* NodeHost::find_client(ClientId id) {
    Session* session = parts_.sessions->find(id);
    return session == nullptr ? nullptr : &session->state();
}

void NodeHost::kill_client(ClientId id) {
    Session* session = parts_.sessions->find(id);
    if (session == nullptr) return;
    session->kill();
    parts_.sessions->touch(*session);
}

void NodeHost::push(ClientId id, std::string_view bytes) {
    if (Session* session = parts_.sessions->find(id)) session->push(bytes);
}

std::optional<std::string> NodeHost::drain() {
    parts_.drain();
    return std::nullopt;
}

std::optional<std::string> NodeHost::shut_down(bool at_once) {
    if (at_once) {
        parts_.stop();
    } else {
        parts_.finish();
    }
    return std::nullopt;
}

void NodeHost::note(core::Notice notice) {
    telemetry::log(audit_level(notice.level), notice.event, notice.text);
}

}  // namespace latchd::server
