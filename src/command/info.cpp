// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "info.hpp"

#include "fleet_commands.hpp"
#include "map_writer.hpp"
#include "report.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

// INFO as Redis's tools and exporters read it: Redis's sections first, latchd's own behind them.
// blocked_clients, expired_keys and db0 have mapped meanings: clients waiting in LOCK, locks
// ended by their lease, locks held.
namespace latchd::command {
namespace {

constexpr double microseconds_per_second = 1e6;

class Section {
public:
    void begin(std::string_view title) {
        if (!text_.empty()) text_ += "\r\n";
        text_ += "# ";
        text_ += title;
        text_ += "\r\n";
    }
    // Line ends in a value would make a line of their own.
    void text(std::string_view name, std::string_view value) {
        text_ += name;
        text_ += ':';
        const std::size_t at = text_.size();
        text_ += value;
        std::replace_if(
            text_.begin() + static_cast<std::ptrdiff_t>(at),
            text_.end(),
            [](char c) { return c == '\r' || c == '\n'; },
            ' ');
        text_ += "\r\n";
    }
    template <class Number>
    void number(std::string_view name, Number value) {
        text_ += name;
        text_ += ':';
        append_number(text_, value);
        text_ += "\r\n";
    }
    void fraction(std::string_view name, double value) {
        std::array<char, 48> digits{};
        const int length = std::snprintf(digits.data(), digits.size(), "%.6f", value);
        text(name, {digits.data(), static_cast<std::size_t>(length)});
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
};

// What the sections are made from, read once.
struct Source {
    Context& context;
    ProcessInfo process;      // of all loops
    NodeStatus status;        // of this one
    core::NodeCounts counts;  // of all
    Statistics statistics;    // of all
    std::optional<FleetView> fleet;
};

std::int64_t uptime_seconds(const Source& source) {
    return to_ms(source.context.host().now() - source.process.started) / 1000;
}

void add_server(const Source& source, Section& out) {
    const Options& options = source.context.options();
    out.begin("Server");
    out.text("redis_version", options.redis_version);
    out.text("server_name", "latchd");
    out.text("latchd_version", options.version);
    out.text("redis_git_sha1", "00000000");
    out.text("redis_build_id", "0");
    out.text("redis_mode", "standalone");
    out.text("os", source.process.os);
    out.number("arch_bits", sizeof(void*) * 8);
    out.text("multiplexing_api", "epoll");
    out.text("gcc_version", __VERSION__);
    out.number("process_id", source.process.pid);
    out.text("process_supervised", source.process.supervised);
    out.text("run_id", source.process.run_id);
    out.number("tcp_port", source.process.tcp_port);
    out.number("server_time_usec", source.context.host().wall_usec());
    out.number("uptime_in_seconds", uptime_seconds(source));
    out.number("uptime_in_days", uptime_seconds(source) / 86'400);
    out.text("executable", source.process.executable);
    out.text("config_file", source.process.config_file);
    out.number("io_threads_active", source.process.threads > 1 ? 1 : 0);
}

void add_clients(const Source& source, Section& out) {
    std::uint64_t waiting = 0;
    std::uint64_t listening = 0;
    source.context.host().visit_clients([&](const ClientState& client) {
        waiting += client.waiting != 0 ? 1 : 0;
        listening += client.subscriptions() != 0 ? 1 : 0;
    });
    for (const auto& report : source.context.others) {
        waiting += report->clients_waiting;
        listening += report->clients_listening;
    }
    out.begin("Clients");
    out.number("connected_clients", source.process.clients);
    out.number("maxclients", source.process.clients_max);
    out.number("blocked_clients", waiting);
    out.number("pubsub_clients", listening);
    out.number("clients_in_timeout_table", waiting);
}

void add_memory(const Source& source, Section& out) {
    out.begin("Memory");
    out.number("used_memory", source.process.memory_used);
    out.number("used_memory_rss", source.process.memory_rss);
    out.number("used_memory_peak", source.process.memory_peak);
    out.number("maxmemory", 0);
    out.text("maxmemory_policy", "noeviction");
    out.number("mem_clients_normal", source.process.memory_clients);
}

void add_persistence(const Source&, Section& out) {
    out.begin("Persistence");
    out.number("loading", 0);
}

void add_stats(const Source& source, Section& out) {
    const Statistics& statistics = source.statistics;
    out.begin("Stats");
    out.number("total_connections_received", source.process.connections_received);
    out.number("total_commands_processed", statistics.processed());
    out.number("instantaneous_ops_per_sec", source.process.commands_per_second);
    out.number("total_net_input_bytes", source.process.bytes_in);
    out.number("total_net_output_bytes", source.process.bytes_out);
    out.number("rejected_connections", source.process.connections_rejected);
    out.number("expired_keys", source.counts.expired);
    out.number("evicted_keys", 0);
    out.number("keyspace_hits", 0);
    out.number("keyspace_misses", 0);
    out.number("pubsub_channels", channels_of_all(source.context).size());
    out.number("pubsub_patterns", patterns_of_all(source.context));
    out.number("total_error_replies", statistics.error_replies());
    out.number("slowlog_len", slow_log_of_all(source.context).size());
}

void add_replication(const Source&, Section& out) {
    out.begin("Replication");
    out.text("role", "master");
    out.number("connected_slaves", 0);
}

void add_cpu(const Source& source, Section& out) {
    out.begin("CPU");
    const auto seconds = [](std::uint64_t usec) {
        return static_cast<double>(usec) / microseconds_per_second;
    };
    out.fraction("used_cpu_sys", seconds(source.process.cpu_system_usec));
    out.fraction("used_cpu_user", seconds(source.process.cpu_user_usec));
}

void add_cluster(const Source&, Section& out) {
    out.begin("Cluster");
    out.number("cluster_enabled", 0);
}

// Commas and equals signs divide the fields of a store's line.
std::string plain(std::string_view text) {
    std::string result(or_dash(text));
    std::replace_if(
        result.begin(), result.end(), [](char c) { return c == ',' || c == '='; }, ' ');
    return result;
}

// Each loop is a node of its own; what this section says else is of the one that was asked.
void add_loop(Section& out,
              std::size_t number,
              const NodeName& node,
              const NodeStatus& status,
              std::uint64_t clients,
              const core::NodeCounts& counts) {
    std::string line = "node=" + plain(node.view()) + ",state=" + plain(status.state) + ",clients=";
    append_number(line, clients);
    line += ",locks_held=";
    append_number(line, counts.held);
    line += ",locks_waiting=";
    append_number(line, counts.waiting);
    std::string name = "latchd_loop";
    append_number(name, number);
    out.text(name, line);
}

void add_loops(const Source& source, Section& out) {
    const Context& context = source.context;
    out.number("latchd_loops", context.host().loops());
    out.number("latchd_loops_silent", context.silent);
    const ProcessInfo own = context.host().process();
    add_loop(out,
             context.client.loop,
             context.options().node,
             source.status,
             own.clients,
             context.host().counts());
    for (const auto& report : context.others) {
        add_loop(out,
                 report->loop,
                 report->node,
                 report->status,
                 report->process.clients,
                 report->counts);
    }
}

void add_latchd(const Source& source, Section& out) {
    const NodeStatus& status = source.status;
    out.begin("Latchd");
    out.text("latchd_node", source.context.options().node.view());
    out.text("latchd_cluster", source.context.options().cluster);
    out.text("latchd_state", status.state);
    out.text("latchd_state_reason", or_dash(status.reason));
    out.number("latchd_state_since", status.since_unix);
    out.text("latchd_active_store", or_dash(status.store));
    out.text("latchd_active_store_type", or_dash(status.store_type));
    out.text("latchd_tier", or_dash(status.tier));
    out.number("latchd_epoch", status.epoch);
    out.number("latchd_epochs_opened", status.epochs);
    if (source.fleet) {
        out.number("latchd_failovers", source.fleet->failovers);
        out.number("latchd_last_failover_time", source.fleet->last_failover_unix);
        out.text("latchd_last_failover_from", or_dash(source.fleet->last_failover_from));
        const bool is_basis_other = !basis_differs(source.fleet->status).empty();
        out.number("latchd_config_differs",
                   source.fleet->differing.size() + (is_basis_other ? 1 : 0));
    }
    out.text("latchd_warnings", or_dash(status.all_warnings()));
    out.number("latchd_log_lines", source.process.log_written);
    out.number("latchd_log_suppressed", source.process.log_suppressed);
    out.number("latchd_log_dropped", source.process.log_dropped);
    add_loops(source, out);
}

// Where the fleet agrees, and on what.
void add_authority(const Source& source, Section& out) {
    if (!source.fleet) return;
    const core::authority::FleetStatus& status = source.fleet->status;
    out.begin("Authority");
    out.text("authority_mode", word_of(status.mode));
    out.text("authority_arbiter", or_dash(source.fleet->arbiter.name));
    out.text("authority_arbiter_state", status.arbiter_reached ? "reached" : "unreachable");
    out.text("authority_arbiter_error", or_dash(status.arbiter_error));
    out.number("authority_confirmed", status.is_confirmed ? 1 : 0);
    out.number("authority_view_left_ms", std::max<std::int64_t>(to_ms(status.view_left), 0));
    out.number("authority_strict_left_ms", std::max<std::int64_t>(to_ms(status.strict_left), 0));
    if (!status.record) return;
    const core::authority::Placement& placement = status.record->placement;
    out.text("authority_cluster_uuid", or_dash(status.record->uuid.view()));
    out.number("authority_epoch", status.record->epoch);
    out.text("authority_state",
             placement.state == core::authority::RecordState::open ? "open" : "settling");
    out.text("authority_store", or_dash(placement.store));
    out.text("authority_tier", or_dash(placement.tier));
    out.text("authority_reason", or_dash(placement.reason));
    out.number("authority_since", placement.since_ms / 1000);
    out.text("authority_process", or_dash(placement.identity.run_id));
    const auto joined = [](const std::vector<std::string>& names) {
        std::string text;
        for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
        return text;
    };
    out.text("authority_stores", or_dash(joined(status.record->basis.stores)));
    out.text("authority_stores_missing", or_dash(joined(status.basis.missing)));
    out.text("authority_stores_unlisted", or_dash(joined(status.basis.unlisted)));
}

// What left for the store together, as a histogram whose buckets count all below them, too.
void add_batches(const std::string& name, const BatchDepths& batches, Section& out) {
    if (batches.batches() == 0) return;
    std::string line = "batches=";
    append_number(line, batches.batches());
    line += ",commands=";
    append_number(line, batches.commands());
    std::uint64_t up_to = 0;
    for (std::size_t i = 0; i < BatchDepths::buckets; ++i) {
        up_to += batches.at(i);
        line += ",le_";
        if (i + 1 == BatchDepths::buckets) {
            line += "inf";
        } else {
            append_number(line, BatchDepths::upper(i));
        }
        line += '=';
        append_number(line, up_to);
    }
    out.text(name, line);
}

void add_stores(const Source& source, Section& out) {
    const std::vector<StoreStatus> stores = source.context.host().stores();
    out.begin("Stores");
    out.number("stores", stores.size());
    for (std::size_t i = 0; i < stores.size(); ++i) {
        const StoreStatus& store = stores[i];
        std::string line = "name=" + plain(store.name) + ",type=" + plain(store.type) +
                           ",addr=" + plain(store.address) + ",state=" + plain(store.state);
        const auto add = [&](std::string_view name, std::uint64_t value) {
            line += ',';
            line += name;
            line += '=';
            append_number(line, value);
        };
        add("checks_ok", store.checks_ok);
        add("checks_failed", store.checks_failed);
        add("last_check_usec", store.last_check_usec);
        line += ",last_error=" + plain(store.last_error);
        add("epoch", store.epoch);
        add("in_flight", store.in_flight);
        add("conns", store.connections);
        line += ",warning=" + plain(store.warning);
        std::string name = "store";
        append_number(name, i);
        out.text(name, line);
        add_batches(name + "_batches", store.batches, out);
    }
}

void add_fleet(const Source& source, Section& out) {
    if (!source.fleet) return;
    const core::authority::FleetStatus& status = source.fleet->status;
    out.begin("Fleet");
    out.number("nodes", status.nodes.size());
    out.number("nodes_lost", status.lost.size());
    for (std::size_t i = 0; i < status.nodes.size(); ++i) {
        const core::authority::NodeRow& row = status.nodes[i];
        std::string line =
            "name=" + plain(row.name.view()) + ",incarnation=" + incarnation_text(row.incarnation) +
            ",self=" + (row.incarnation == source.fleet->incarnation ? "1" : "0") +
            ",state=" + (is_lost(status, row.incarnation) ? "lost" : "alive") + ",acked=";
        append_number(line, row.acked);
        line += ",version=" + plain(row.version) + ",config=" + plain(row.config_hash);
        std::string name = "node";
        append_number(name, i);
        out.text(name, line);
    }
}

void add_locks(const Source& source, Section& out) {
    const core::NodeCounts& counts = source.counts;
    out.begin("Locks");
    out.number("locks_held", counts.held);
    out.number("locks_kept", counts.keeping);
    out.number("locks_waiting", counts.waiting);
    out.number("locks_acquired", counts.acquired);
    out.number("locks_adopted", counts.adopted);
    out.number("locks_contended", counts.contended);
    out.number("locks_wait_timeouts", counts.wait_timeouts);
    out.number("locks_released", counts.released);
    out.number("locks_renewed", counts.renewed);
    out.number("locks_expired", counts.expired);
    out.number("locks_lost", counts.lost);
    out.number("locks_not_owner", counts.not_owner);
    out.number("locks_undone", counts.undone);
    out.number("locks_uncertain", counts.uncertain);
    out.number("locks_handed_over", counts.handovers);
    out.number("locks_over_expected", counts.over_expected);
}

// Every command and subcommand that was called, in the order of the table.
template <class Visit>
void visit_called(const Source& source, Visit&& visit) {
    const Services& services = source.context.services;
    const auto one = [&](const Command& command) {
        const CommandCounts* counts = source.statistics.find(command);
        if (counts != nullptr && counts->calls + counts->rejected > 0) visit(command, *counts);
    };
    for (const Command* command : services.table.all()) {
        one(*command);
        for (const Command& subcommand : command->subcommands) one(subcommand);
    }
}

void add_commandstats(const Source& source, Section& out) {
    out.begin("Commandstats");
    visit_called(source, [&](const Command& command, const CommandCounts& counts) {
        std::array<char, 160> line{};
        const double per_call = counts.calls == 0 ? 0.0
                                                  : static_cast<double>(counts.usec) /
                                                        static_cast<double>(counts.calls);
        const int length = std::snprintf(line.data(),
                                         line.size(),
                                         "calls=%llu,usec=%llu,usec_per_call=%.2f,"
                                         "rejected_calls=%llu,failed_calls=%llu",
                                         static_cast<unsigned long long>(counts.calls),
                                         static_cast<unsigned long long>(counts.usec),
                                         per_call,
                                         static_cast<unsigned long long>(counts.rejected),
                                         static_cast<unsigned long long>(counts.failed));
        out.text("cmdstat_" + std::string(command.name),
                 {line.data(), static_cast<std::size_t>(length)});
    });
}

void add_errorstats(const Source& source, Section& out) {
    out.begin("Errorstats");
    for (const auto& [word, count] : source.statistics.errors()) {
        std::string value = "count=";
        append_number(value, count);
        out.text("errorstat_" + word, value);
    }
}

void add_latencystats(const Source& source, Section& out) {
    out.begin("Latencystats");
    visit_called(source, [&](const Command& command, const CommandCounts& counts) {
        if (counts.took.count() == 0) return;
        std::string line;
        for (const auto& [name, share] :
             {std::pair{"p50=", 0.5}, std::pair{",p99=", 0.99}, std::pair{",p99.9=", 0.999}}) {
            line += name;
            append_number(line, counts.took.quantile_usec(share));
            line += ".000";
        }
        out.text("latency_percentiles_usec_" + std::string(command.name), line);
    });
}

void add_keyspace(const Source& source, Section& out) {
    out.begin("Keyspace");
    if (source.counts.held == 0) return;
    std::string line = "keys=";
    append_number(line, source.counts.held);
    line += ",expires=";
    append_number(line, source.counts.held);
    out.text("db0", line + ",avg_ttl=0");
}

struct Row {
    std::string_view name;
    void (*add)(const Source&, Section&);
    bool by_default;
};

constexpr std::array sections = {
    Row{"server", add_server, true},
    Row{"clients", add_clients, true},
    Row{"memory", add_memory, true},
    Row{"persistence", add_persistence, true},
    Row{"stats", add_stats, true},
    Row{"replication", add_replication, true},
    Row{"cpu", add_cpu, true},
    Row{"cluster", add_cluster, true},
    Row{"latchd", add_latchd, true},
    Row{"stores", add_stores, true},
    Row{"authority", add_authority, true},
    Row{"fleet", add_fleet, true},
    Row{"locks", add_locks, true},
    Row{"commandstats", add_commandstats, false},
    Row{"errorstats", add_errorstats, false},
    Row{"latencystats", add_latencystats, false},
    Row{"keyspace", add_keyspace, true},
};

bool is_asked(const Row& row, Arguments names) {
    if (names.empty()) return row.by_default;
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
        if (equals_ignoring_case(name, "all") || equals_ignoring_case(name, "everything")) {
            return true;
        }
        return equals_ignoring_case(name, "default") ? row.by_default
                                                     : equals_ignoring_case(name, row.name);
    });
}

}  // namespace

std::string info_text(Context& context) {
    const Source source{context,
                        process_of_all(context),
                        context.host().status(),
                        counts_of_all(context),
                        statistics_of_all(context),
                        context.host().fleet()};
    Section out;
    for (const Row& row : sections) {
        if (is_asked(row, context.args.subspan(1))) row.add(source, out);
    }
    return out.take();
}

}  // namespace latchd::command
