// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "mapping.hpp"

#include <latchd/config/settings.hpp>

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
    out.tcp = {.keepalive = options.tcp.keepalive, .user_timeout = options.tcp.user_timeout};
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
    out.wait_max = options.locks.wait_max;
    out.slower_than = options.slowlog.slower_than;
    out.slowlog_max = options.slowlog.max_len;
    return out;
}

core::NodeOptions node_options(const config::Options& options) {
    core::NodeOptions out;
    out.name = NodeName(options.node);
    out.waiters_max = options.limits.max_waiters;
    out.locks_max = options.stores.front().max_locks;
    out.wait_max = options.locks.wait_max;
    out.ttl_max = options.locks.ttl_max;
    out.retry_window = options.locks.retry_window;
    out.wake_check = options.locks.wake_check;
    out.debug_notices = options.log.level == config::LogLevel::debug;
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
    out.database = store.database;
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
    out.keepalive = options.tcp.keepalive;
    out.user_timeout = options.tcp.user_timeout;
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
        registry.set(ResourceName(resource.name), std::move(settings));
    }
}

}  // namespace latchd::app
