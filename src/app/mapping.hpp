// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/command/host.hpp>
#include <latchd/command/options.hpp>
#include <latchd/config/options.hpp>
#include <latchd/core/authority/fleet.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/core/resource/registry.hpp>
#include <latchd/server/options.hpp>
#include <latchd/store/mysql/options.hpp>
#include <latchd/store/redis/options.hpp>
#include <latchd/telemetry/log.hpp>

#include <vector>

// From what the operator wrote to what each module takes. No decisions: those are in the modules.
namespace latchd::app {

[[nodiscard]] telemetry::LogOptions log_options(const config::Options& options);
[[nodiscard]] server::Options server_options(const config::Options& options);
[[nodiscard]] command::Options command_options(const config::Options& options);
[[nodiscard]] core::NodeOptions node_options(const config::Options& options);
[[nodiscard]] store::redis::Options redis_options(const config::Options& options,
                                                  const config::Store& store);
[[nodiscard]] store::mysql::Options mysql_options(const config::Options& options,
                                                  const config::Store& store);
// Without what only the process knows: incarnations, clocks.
[[nodiscard]] core::authority::FleetOptions fleet_options(const config::Options& options);
[[nodiscard]] std::vector<command::Setting> settings(const config::Options& options);
void fill_registry(const config::Options& options, core::Registry& registry);

}  // namespace latchd::app
