// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "fleet_commands.hpp"
#include "map_writer.hpp"
#include "report.hpp"
#include "resource_commands.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>

// LATCHD: administration of this node and of its fleet.
namespace latchd::command {
namespace {

void write_fleet(MapWriter& map, const FleetView& fleet, const core::Registry& registry) {
    const core::authority::FleetStatus& status = fleet.status;
    const auto ms = [](Duration d) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(to_ms(d), 0));
    };
    map.text("mode", word_of(status.mode));
    map.text("epoch_reason", status.record ? or_dash(status.record->placement.reason) : "-");
    map.number(
        "epoch_since",
        status.record ? static_cast<std::uint64_t>(status.record->placement.since_ms / 1000) : 0);
    map.text("arbiter", fleet.arbiter.name);
    map.text("arbiter_state", status.arbiter_reached ? "reached" : "unreachable");
    map.text("arbiter_error", or_dash(status.arbiter_error));
    map.number("confirmed", status.is_confirmed ? 1 : 0);
    map.number("view_left_ms", ms(status.view_left));
    map.number("strict_left_ms", ms(status.strict_left));
    map.number("nodes", status.nodes.size());
    map.number("nodes_lost", status.lost.size());
    map.number("failovers", fleet.failovers);
    std::string pending = pending_text(status.basis);
    for (const auto& [name, settings] : registry.all()) {
        if (!settings.pending) continue;
        pending += (pending.empty() ? "" : "; ") + name + ": " + pending_text(*settings.pending);
    }
    map.text("pending", or_dash(pending));
}

void run_status(Context& context) {
    const NodeStatus status = context.host().status();
    const core::NodeCounts counts = counts_of_all(context);
    const ProcessInfo process = process_of_all(context);
    const auto fleet = context.host().fleet();
    MapWriter map(context.reply(), fleet ? 32 : 19);
    map.text("node", context.options().node.view());
    map.text("cluster", context.options().cluster);
    map.text("version", context.options().version);
    map.text("state", status.state);
    map.text("reason", or_dash(status.reason));
    map.number("since", static_cast<std::uint64_t>(status.since_unix));
    map.text("store", or_dash(status.store));
    map.text("store_type", or_dash(status.store_type));
    map.text("tier", or_dash(status.tier));
    map.number("epoch", status.epoch);
    map.number("uptime_s",
               static_cast<std::uint64_t>(to_ms(context.host().now() - process.started) / 1000));
    map.number("clients", process.clients);
    map.number("locks_held", counts.held);
    map.number("locks_kept", counts.keeping);
    map.number("locks_waiting", counts.waiting);
    map.number("resources", context.host().registry().all().size());
    map.text("warnings", or_dash(status.all_warnings()));
    map.number("loops", context.host().loops());
    map.number("loops_silent", context.silent);
    if (fleet) write_fleet(map, *fleet, context.host().registry());
}

void run_stores(Context& context) {
    const std::vector<StoreStatus> stores = context.host().stores();
    context.reply().array(stores.size());
    for (const StoreStatus& store : stores) {
        MapWriter map(context.reply(), 12);
        map.text("name", store.name);
        map.text("type", store.type);
        map.text("address", or_dash(store.address));
        map.text("state", store.state);
        map.number("epoch", store.epoch);
        map.number("checks_ok", store.checks_ok);
        map.number("checks_failed", store.checks_failed);
        map.number("last_check_usec", store.last_check_usec);
        map.text("last_error", or_dash(store.last_error));
        map.number("in_flight", store.in_flight);
        map.number("connections", store.connections);
        map.text("warning", or_dash(store.warning));
    }
}

void run_drain(Context& context) {
    if (const auto refusal = context.host().drain()) return context.error("ERR " + *refusal);
    context.host().note(
        {core::Notice::Level::info, "audit.drain", "LATCHD DRAIN by " + context.client.peer});
    context.ok();
}

// LATCHD EVENTS ON|OFF: RESP3 push of events about locks that this connection holds. Never
// unasked: a push in front of a reply breaks clients that don't expect one.
void run_events(Context& context) {
    const bool on = equals_ignoring_case(context.args[2], "ON");
    if (!on && !equals_ignoring_case(context.args[2], "OFF")) {
        return context.error("ERR EVENTS " + quoted(context.args[2]) + ": ON or OFF is needed");
    }
    if (on && context.client.proto != 3) {
        return context.error(
            "ERR EVENTS ON needs RESP3, which has pushes: send HELLO 3 first, or "
            "SUBSCRIBE latchd:events:<resource> on a connection of its own");
    }
    context.client.events_push = on;
    context.ok();
}

void run_help(Context& context) { write_help(context); }

constexpr std::uint32_t asks = flag_readonly | flag_noscript | flag_loading | flag_stale;

constexpr std::array subcommands = {
    Command{.name = "latchd|cluster",
            .arity = -2,
            .flags = flag_admin | flag_noscript | flag_loading | flag_stale,
            .categories = category_admin | category_dangerous | category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Shows what the fleet agreed on, or changes how long its leases and delays "
                       "may be, or its stores, from the next epoch on",
            .syntax = "[SET] [TTLMAX ms] [DELAYMAX ms] [STORES name,name...]",
            .handler = run_cluster,
            .own = true},
    Command{.name = "latchd|doctor",
            .arity = 2,
            .flags = asks,
            .categories = category_read | category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Lists what is not as it should be on this node and in its fleet",
            .handler = run_doctor,
            .own = true},
    Command{.name = "latchd|drain",
            .arity = 2,
            .flags = flag_admin | flag_noscript | flag_loading | flag_stale,
            .categories = category_admin | category_dangerous | category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Takes the node out of service as SIGTERM does, without ending it: waiters "
                       "are told, no new lock is granted",
            .handler = run_drain,
            .own = true},
    Command{.name = "latchd|events",
            .arity = 3,
            .flags = flag_noscript | flag_loading | flag_stale | flag_alone,
            .categories = category_lock | category_connection | category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Pushes events about locks taken through this connection (RESP3 only)",
            .syntax = "ON|OFF",
            .handler = run_events,
            .own = true},
    Command{.name = "latchd|failback",
            .arity = 2,
            .flags = flag_admin | flag_noscript | flag_loading | flag_stale,
            .categories = category_admin | category_dangerous | category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Moves the fleet's locks back to the store that is preferred",
            .handler = run_failback,
            .own = true},
    Command{.name = "latchd|failover",
            .arity = -2,
            .flags = flag_admin | flag_noscript | flag_loading | flag_stale,
            .categories = category_admin | category_dangerous | category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Moves the fleet's locks to this store, or to the next one that is healthy",
            .syntax = "[store]",
            .handler = run_failover,
            .own = true},
    Command{.name = "latchd|help",
            .arity = 2,
            .flags = flag_loading | flag_stale,
            .categories = category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Shows this help",
            .handler = run_help,
            .own = true},
    Command{.name = "latchd|nodes",
            .arity = 2,
            .flags = asks,
            .categories = category_read | category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Shows the nodes of the fleet and what each sees",
            .handler = run_nodes,
            .own = true},
    Command{.name = "latchd|status",
            .arity = 2,
            .flags = asks | flag_gather | flag_gather_some,
            .categories = category_read | category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Shows what this node is doing, and why",
            .handler = run_status,
            .own = true},
    Command{.name = "latchd|stores",
            .arity = 2,
            .flags = asks,
            .categories = category_read | category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Shows the stores and their health",
            .handler = run_stores,
            .own = true},
};

}  // namespace

std::span<const Command> latchd_commands() noexcept {
    static const std::array rows = {
        Command{.name = "resource",
                .arity = -2,
                .categories = category_slow,
                .since = "0.1.0",
                .group = "generic",
                .summary = "Commands about the settings of resources",
                .subcommands = resource_subcommands(),
                .own = true},
        Command{.name = "latchd",
                .arity = -2,
                .categories = category_slow,
                .since = "0.1.0",
                .group = "generic",
                .summary = "Commands about this node",
                .subcommands = subcommands,
                .own = true},
    };
    return rows;
}

}  // namespace latchd::command
