// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "keeping.hpp"

#include <latchd/config/options.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/core/resource/registry.hpp>
#include <latchd/store/desk.hpp>
#include <latchd/store/port.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace latchd::app {

// Unix time.
[[nodiscard]] std::int64_t wall_ms();

// What a fleet's store is built from. All of it outlives the store.
struct FleetParts {
    const config::Options& options;
    Keeping& keeping;
    core::Registry& registry;
    core::NameSource& names;
    core::authority::Incarnation incarnation = 0;
    // Of a process with several loops: on the first its desk and the local grants of all loops'
    // former selves, on a further one the way there.
    store::Desk* desk = nullptr;
    std::vector<core::GrantRecord> former_of_host;
    std::function<std::unique_ptr<store::Window>(store::Sink&)> window;
    std::function<void(const core::authority::Changed&)> changed;
};

// The stores that are servers, their arbiter and the host's own table, as one store.
[[nodiscard]] std::unique_ptr<store::Store> make_fleet(boost::asio::io_context& context,
                                                       const FleetParts& parts,
                                                       store::Sink& sink);

}  // namespace latchd::app
