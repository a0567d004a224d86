// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "mapping.hpp"

#include <latchd/config/settings.hpp>

#include <algorithm>

namespace latchd::app {
namespace {

telemetry::Level log_level(config::LogLevel level) {
    switch (level) {
        case config::LogLevel::debug:
            return telemetry::Level::debug;
        case config::LogLevel::info:
            return telemetry::Level::info;
        case config::LogLevel::warning:
            return telemetry::Level::warning;
        case config::LogLevel::error:
            return telemetry::Level::error;
    }
    return telemetry::Level::info;
}

telemetry::Target log_target(config::LogTarget::Kind kind) {
    switch (kind) {
        case config::LogTarget::Kind::automatic:
            return telemetry::Target::automatic;
        case config::LogTarget::Kind::journal:
            return telemetry::Target::journal;
        case config::LogTarget::Kind::standard_error:
            return telemetry::Target::stderr_plain;
        case config::LogTarget::Kind::file:
            return telemetry::Target::file;
    }
    return telemetry::Target::automatic;
}

store::mysql::ConnectOptions::Tls tls_of(config::Tls tls) {
    using Tls = store::mysql::ConnectOptions::Tls;
    switch (tls) {
        case config::Tls::off:
            return Tls::off;
        case config::Tls::required:
            return Tls::required;
        case config::Tls::verified:
            break;
    }
    return Tls::verified;
}

store::mysql::Strategy strategy_of(config::Strategy strategy) {
    switch (strategy) {
        case config::Strategy::upsert:
            return store::mysql::Strategy::upsert;
        case config::Strategy::optimistic:
            return store::mysql::Strategy::optimistic;
        case config::Strategy::pessimistic:
            break;
    }
    return store::mysql::Strategy::pessimistic;
}

std::optional<core::Degrade> degrade(std::optional<config::Degrade> wish) {
    if (!wish) return std::nullopt;
    switch (*wish) {
        case config::Degrade::none:
            return core::Degrade::none;
        case config::Degrade::mysql:
            return core::Degrade::mysql;
        case config::Degrade::local:
            return core::Degrade::local;
    }
    return std::nullopt;
}

const char* tier(config::StoreKind kind) {
    switch (kind) {
        case config::StoreKind::redis:
            return "redis";
        case config::StoreKind::mysql:
            return "mysql";
        case config::StoreKind::local:
            return "local";
    }
    return "";
}

runtime::TcpOptions tcp_options(const config::Options& options) {
    return {.keepalive = options.tcp.keepalive, .user_timeout = options.tcp.user_timeout};
}

}  // namespace

telemetry::LogOptions log_options(const config::Options& options) {
    return {.level = log_level(options.log.level),
            .target = log_target(options.log.target.kind),
            .path = options.log.target.path,
            .burst = options.log.rate_limit.count,
            .window = std::chrono::ceil<std::chrono::milliseconds>(options.log.rate_limit.per)};
}

server::Options server_options(const config::Options& options) {
    server::Options out;
    for (const config::Listener& listener : options.listen) {
        out.listeners.push_back({.endpoint = {.host = listener.address.host,
                                              .port = listener.address.port,
                                              .path = listener.address.path},
                                 .clients_max = listener.max_clients,
                                 .idle_timeout = listener.idle_timeout});
    }
    out.tcp = tcp_options(options);
    out.session.requests.arguments_max = options.limits.max_arguments;
    out.session.requests.bulk_bytes_max = options.limits.max_bulk;
    out.session.requests.request_bytes_max = options.limits.max_request;
    out.session.output_bytes_max = options.limits.output_buffer;
    out.threads = options.threads;
    return out;
}

command::Options command_options(const config::Options& options) {
    command::Options out;
    out.password = options.auth.password.reveal();
    out.node = NodeName(options.node);
    out.cluster = options.cluster;
    out.version = LATCHD_VERSION;
    out.ttl_min = options.locks.ttl_min;
    out.ttl_max = options.locks.ttl_max;
    out.delay_max = options.locks.delay_max;
    out.wait_max = options.locks.wait_max;
    if (config::arbiter_outlives(options)) out.strict_refusal.clear();
    out.slower_than = options.slowlog.slower_than;
    out.slowlog_max = options.slowlog.max_len;
    return out;
}

core::NodeOptions node_options(const config::Options& options) {
    core::NodeOptions out;
    out.name = NodeName(options.node);
    out.waiters_max = options.limits.max_waiters;
    out.locks_max = options.stores.back().max_locks;
    out.wait_max = options.locks.wait_max;
    out.ttl_max = options.locks.ttl_max;
    out.delay_max = options.locks.delay_max;
    out.retry_window = options.locks.retry_window;
    out.wake_check = options.locks.wake_check;
    out.handover_max = options.locks.handover_max;
    out.debug_notices = options.log.level == config::LogLevel::debug;
    for (const config::Store& store : options.stores) out.tiers.emplace_back(tier(store.kind));
    return out;
}

store::redis::Options redis_options(const config::Options& options, const config::Store& store) {
    store::redis::Options out;
    const config::Address& address = store.address;
    out.name = store.name;
    out.host = address.host;
    out.port = address.port;
    out.path = address.path;
    out.username = store.username;
    out.password = store.password.reveal();
    out.database = config::redis_database(store);
    out.cluster = options.cluster;
    out.node = NodeName(options.node);
    out.connect_timeout = store.connect_timeout;
    out.operation_timeout = store.operation_timeout;
    out.check = {.inter = store.check.inter,
                 .fastinter = store.check.fastinter,
                 .timeout = store.check.timeout,
                 .rise = store.check.rise,
                 .fall = store.check.fall};
    out.clock_margin = options.locks.clock_margin;
    out.wait_replicas = store.wait_replicas;
    out.tcp = tcp_options(options);
    return out;
}

store::mysql::Options mysql_options(const config::Options& options, const config::Store& store) {
    store::mysql::Options out;
    out.server.name = store.name;
    out.server.host = store.address.host;
    out.server.port = store.address.port;
    out.server.path = store.address.path;
    out.server.username = store.username;
    out.server.password = store.password.reveal();
    out.server.database = store.database;
    out.server.tls = tls_of(store.tls);
    out.server.tls_ca = store.tls_ca;
    out.server.connect_timeout = store.connect_timeout;
    out.server.operation_timeout = store.operation_timeout;
    out.server.tcp = tcp_options(options);
    out.cluster = options.cluster;
    out.node = NodeName(options.node);
    out.strategy = strategy_of(store.strategy);
    out.connections = store.connections;
    out.check = {.inter = store.check.inter,
                 .fastinter = store.check.fastinter,
                 .timeout = store.check.timeout,
                 .fall = store.check.fall};
    out.clock_margin = options.locks.clock_margin;
    return out;
}

namespace {

// FNV-1a: a node of another build has to come to the same text.
std::string hash_text(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4) out += digits[(hash >> shift) & 15u];
    return out;
}

// What safety rests on: nodes that differ in it are shown.
std::string config_hash(const config::Options& options) {
    std::string text = options.cluster;
    for (const config::NamedValue& value : config::list_values(options)) {
        const bool is_store = value.path.starts_with("stores[") &&
                              (value.path.ends_with("].name") || value.path.ends_with("].type"));
        if (!is_store && value.path != "locks.ttl_max" && value.path != "locks.delay_max" &&
            !value.path.starts_with("resources.") && !value.path.starts_with("authority.")) {
            continue;
        }
        text += "\n" + value.path + "=" + value.text;
    }
    return hash_text(text);
}

}  // namespace

core::authority::FleetOptions fleet_options(const config::Options& options) {
    core::authority::FleetOptions out;
    const auto arbiter = config::arbiter_index(options);
    out.name = NodeName(options.node);
    for (std::size_t i = 0; i < options.stores.size(); ++i) {
        const config::Store& store = options.stores[i];
        if (store.kind == config::StoreKind::local) {
            out.has_local = true;
            out.local_store = store.name;
            continue;
        }
        out.basis.stores.push_back(store.name);
        out.tiers.push_back({.store = store.name,
                             .kind = tier(store.kind),
                             .patience = store.patience,
                             .is_arbiter = arbiter == i});
        out.check_every = std::max<Duration>(out.check_every, store.check.inter);
    }
    out.outlives = config::arbiter_outlives(options);
    out.basis.ttl_max = options.locks.ttl_max;
    out.basis.delay_max = options.locks.delay_max;
    out.config_hash = config_hash(options);
    out.version = LATCHD_VERSION;
    out.view_lease = options.authority.view_lease;
    out.beat_every = options.authority.beat;
    out.settle_grace = options.authority.settle_grace;
    out.available_max = options.authority.available_max;
    out.hold_down = options.authority.hold_down;
    out.hold_down_max = options.authority.hold_down_max;
    out.retire_after = options.resources.retire_after;
    out.rise = options.stores.front().check.rise;
    out.fall = options.stores.front().check.fall;
    return out;
}

std::vector<command::Setting> settings(const config::Options& options) {
    std::vector<command::Setting> out;
    for (config::NamedValue& value : config::list_values(options)) {
        out.push_back({std::move(value.path), std::move(value.text)});
    }
    return out;
}

void fill_registry(const config::Options& options, core::Registry& registry) {
    registry.require_registered = options.resources.require_registered;
    registry.ttl_default = options.locks.ttl;
    for (const config::Resource& resource : options.resources.list) {
        core::ResourceSettings settings;
        settings.ttl = resource.ttl;
        settings.renew_max = resource.max_renew;
        settings.degrade = degrade(resource.degrade);
        settings.safety = resource.safety == config::Safety::strict ? core::Safety::strict
                                                                    : core::Safety::available;
        settings.queue_max = resource.queue;
        settings.locks_expected = resource.expect_locks;
        settings.hold_max = resource.max_hold;
        settings.expect = resource.expect;
        settings.delay = resource.delay;
        settings.busy_cache = resource.busy_cache;
        registry.set(ResourceName(resource.name), std::move(settings));
    }
}

}  // namespace latchd::app
