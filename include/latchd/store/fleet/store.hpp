// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/fleet.hpp>
#include <latchd/core/resource/registry.hpp>
#include <latchd/store/desk.hpp>
#include <latchd/store/port.hpp>
#include <latchd/store/tier.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace latchd::store::fleet {

// Who decides: core::authority::Fleet; the tests have a script.
class Decider {
public:
    virtual ~Decider() = default;
    virtual void start(core::authority::Moment at, core::authority::FleetActions& out) = 0;
    virtual void step(core::authority::Moment at,
                      core::authority::FleetEvent&& event,
                      core::authority::FleetActions& out) = 0;
    [[nodiscard]] virtual std::optional<Time> next_deadline() const = 0;
    [[nodiscard]] virtual core::authority::FleetStatus status(Time now) const = 0;
};

[[nodiscard]] std::unique_ptr<Decider> make_decider(core::authority::FleetOptions options,
                                                    core::authority::Known known,
                                                    core::NameSource& names);

struct Options {
    std::string local_name;       // of the host's own table as last resort; empty: there is none
    Fence local_fence_floor = 0;  // kept: local fences begin above
    std::uint64_t local_locks_max = 100'000;
    // Of a process with several loops, on the first: where the others ask for its table, and the
    // local grants of all loops' former selves.
    Desk* desk = nullptr;
    std::vector<core::GrantRecord> former_of_host;
    // On the first loop: request ids that this process's former self barred in the host's table.
    std::vector<core::CancelledRequest> cancelled_of_host;
    // The registered resources that the configuration proposes to a new cluster.
    std::vector<std::pair<ResourceName, core::ResourceSettings>> proposed;
    // While the host's own table serves, an error is logged again after so long.
    Duration local_reminder = std::chrono::seconds(10);
};

// What the store needs of its host. Any of the functions but the clocks may be empty.
struct Surroundings {
    std::function<Time()> boot_now;         // CLOCK_BOOTTIME
    std::function<std::int64_t()> wall_ms;  // Unix time
    std::function<void(const core::authority::Known&)> save;
    std::function<void(Fence)> save_local_floor;
    std::function<void(const core::CancelledRequest&, Time)> keep_cancelled;  // over a restart
    std::function<void(Duration)> keep_offset;  // the arbiter's clock less CLOCK_BOOTTIME
    std::function<void(const core::authority::FleetRecord&)> keep_record;
    std::function<void(const core::authority::Changed&)> changed;
    core::Registry* registry = nullptr;  // filled with what the fleet agreed on; never nullptr
};

// The parts that it is made of. Tiers in order of preference, as in FleetOptions.
struct Makers {
    std::vector<std::function<std::unique_ptr<Tier>(FleetSink&, Sink&)>> tiers;
    std::function<std::unique_ptr<Arbiter>(FleetSink&)> arbiter;
    std::unique_ptr<Decider> decider;
    // On a further loop of the process: the way to the first one's table. Else empty.
    std::function<std::unique_ptr<Window>(Sink&)> window;
};

// One store to its node, several servers behind it: where operations go is what the decider says.
// All calls, and the sink's, on the thread that runs `context`.
[[nodiscard]] std::unique_ptr<Store> make_store(boost::asio::io_context& context,
                                                Options options,
                                                Surroundings surroundings,
                                                Makers makers,
                                                Sink& sink);

}  // namespace latchd::store::fleet
