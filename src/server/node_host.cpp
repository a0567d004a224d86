// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "node_host.hpp"

#include "crew_member.hpp"
#include "process_numbers.hpp"

#include <latchd/runtime/clock.hpp>
#include <latchd/server/crew.hpp>
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
            .batches = health.batches,
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

void add_warning(std::string& to, const std::string& warning) {
    if (warning.empty()) return;
    to += (to.empty() ? "" : "; ") + warning;
}

}  // namespace

NodeHost::NodeHost(Parts parts) : parts_(std::move(parts)), started_(parts_.shell->now()) {}

void NodeHost::set_ending(Ending ending) { ending_ = std::max(ending_, ending); }

void NodeHost::sample(std::uint64_t commands) {
    commands_per_second_ = commands - last_commands_;
    last_commands_ = commands;
    (void)status();
}

Time NodeHost::read_clock() const { return runtime::boot_time(); }

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
    const telemetry::LogCounts log = telemetry::log_counts();
    info.log_written = log.written;
    info.log_suppressed = log.suppressed;
    info.log_dropped = log.dropped;
    return info;
}

NodeHost::Word NodeHost::word() const {
    const StoreView& view = parts_.shell->store_view();
    if (ending_ != Ending::no)
        return {"draining", "no new locks are given; what is held goes on to its lease"};
    if (!view.open) return {"no_store", view.reason};
    const store::Store* const store = parts_.shell->store();
    if (store != nullptr && store->fleet() != nullptr) return word_of_fleet(*store->fleet());
    return {"ok", "-"};
}

// Open, but perhaps not where it should be, or not as sure.
NodeHost::Word NodeHost::word_of_fleet(const store::FleetDesk& desk) const {
    const core::authority::FleetStatus status = desk.status();
    if (status.mode == core::authority::FleetStatus::Mode::local) {
        return {"degraded", "local mode, locks of this process alone: " + status.reason};
    }
    if (!status.record) return {"ok", "-"};
    const core::authority::Placement& placement = status.record->placement;
    for (const core::authority::TierSight& sight : status.sights) {
        if (sight.store == placement.store &&
            sight.state == core::authority::TierSight::State::failing) {
            return {"degraded", "store " + sight.store + " fails: " + sight.reason};
        }
    }
    if (!status.is_confirmed) {
        return {"degraded",
                "the arbiter is not reached, strict resources are not granted: " +
                    status.arbiter_error};
    }
    const std::vector<std::string>& order = status.basis.order;
    if (!order.empty() && order.front() != placement.store) {
        return {"degraded",
                "locks are in " + placement.store + ", not in " + order.front() + ": " +
                    placement.reason};
    }
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
        status.store_warning = health.warning;
    }
    add_warning(status.warnings, parts_.shell->grant_log_warning());
    add_warning(status.warnings, telemetry::log_trouble());
    return status;
}

std::vector<command::StoreStatus> NodeHost::stores() const {
    if (parts_.shell->store() == nullptr) return {};
    const store::FleetDesk* const desk = std::as_const(*parts_.shell->store()).fleet();
    if (desk == nullptr) return {shown(parts_.shell->store()->health())};
    std::vector<command::StoreStatus> all;
    for (store::Health& health : desk->stores()) all.push_back(shown(std::move(health)));
    return all;
}

std::optional<command::FleetView> NodeHost::fleet() const {
    const store::Store* const store = parts_.shell->store();
    const store::FleetDesk* const desk = store == nullptr ? nullptr : store->fleet();
    if (desk == nullptr) return std::nullopt;
    command::FleetView view;
    view.status = desk->status();
    view.incarnation = parts_.incarnation;
    view.arbiter = shown(desk->arbiter());
    view.differing = desk->differing();
    const store::FleetDesk::Counts counts = desk->counts();
    view.failovers = counts.failovers;
    view.last_failover_unix = counts.last_failover_unix;
    view.last_failover_from = counts.last_failover_from;
    return view;
}

std::optional<core::LeaseLimits> NodeHost::limits() const {
    const store::Store* const store = parts_.shell->store();
    const store::FleetDesk* const desk = store == nullptr ? nullptr : store->fleet();
    return desk == nullptr ? std::nullopt : desk->limits();
}

void NodeHost::visit_clients(const std::function<void(const command::ClientState&)>& visit) const {
    parts_.sessions->visit([&visit](const Session& session) { visit(session.state()); });
}

command::ClientState* NodeHost::find_client(ClientId id) {
    Session* session = parts_.sessions->find(id);
    return session == nullptr ? nullptr : &session->state();
}

std::size_t NodeHost::loops() const { return parts_.crew->size(); }

void NodeHost::registry_changed(const ResourceName& name,
                                const std::optional<core::ResourceSettings>& settings) {
    parts_.sessions->tell_loops({name, settings});
}

void NodeHost::listens(bool anybody) {
    if (std::exchange(listens_, anybody) == anybody) return;
    parts_.crew->listening.fetch_add(anybody ? 1 : static_cast<std::size_t>(-1));
}

void NodeHost::kill_client(ClientId id) {
    const std::size_t loop = parts_.sessions->loop_of(id);
    if (loop != parts_.loop) {
        (void)parts_.crew->post(loop, [id](CrewMember& member) { member.kill_client(id); });
        return;
    }
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
    parts_.crew->post_to_others(parts_.loop, [](CrewMember& member) { member.begin_drain(); });
    return std::nullopt;
}

std::optional<std::string> NodeHost::shut_down(bool at_once) {
    if (at_once) {
        parts_.crew->stop();
    } else {
        parts_.crew->finish();
    }
    return std::nullopt;
}

void NodeHost::note(core::Notice notice) {
    telemetry::log(audit_level(notice.level), notice.event, notice.text);
}

}  // namespace latchd::server
