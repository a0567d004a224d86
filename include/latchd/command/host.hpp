// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/batch_depths.hpp>
#include <latchd/command/client_state.hpp>
#include <latchd/core/authority/fleet.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/core/resource/registry.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::command {

// One store as INFO and LATCHD STORES show it; the fields of store::Health, which lives above.
struct StoreStatus {
    std::string name;
    std::string type;     // "redis", "local"
    std::string address;  // without user and password
    std::string state;    // "up", "down", "settling", "starting"; of a fleet's also "serving"
    std::string last_error = "-";
    std::uint64_t checks_ok = 0;
    std::uint64_t checks_failed = 0;
    std::uint64_t last_check_usec = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t connections = 0;
    Epoch epoch = 0;
    BatchDepths batches;
    std::string warning;  // empty: none
};

// What this node is doing, in one word and its reason.
struct NodeStatus {
    std::string state = "ok";     // ok, degraded, draining, no_store
    std::string reason = "-";     // a sentence; "-" when ok
    std::int64_t since_unix = 0;  // seconds: when `state` began
    std::string store;            // the name of the one that serves; empty: none
    std::string store_type;
    std::string tier;
    Epoch epoch = 0;
    std::uint64_t epochs = 0;   // how often the store opened again under a new epoch
    std::string warnings;       // standing ones, joined by "; "; empty: none
    std::string store_warning;  // that of `store`, which LATCHD STORES tells, too

    [[nodiscard]] std::string all_warnings() const {
        const bool are_both = !warnings.empty() && !store_warning.empty();
        return store_warning + (are_both ? "; " : "") + warnings;
    }
};

// The fleet as this node sees it.
struct FleetView {
    core::authority::FleetStatus status;
    core::authority::Incarnation incarnation = 0;  // of this node
    StoreStatus arbiter;
    std::vector<std::string> differing;  // resources of which this node's configuration differs
    std::uint64_t failovers = 0;         // openings in another tier than before
    std::int64_t last_failover_unix = 0;
    std::string last_failover_from;  // empty: none yet
};

// What only the process knows. Bytes, seconds, or as the name says.
struct ProcessInfo {
    std::int64_t pid = 0;
    std::string run_id;  // 40 hexadecimal digits, new at each start
    std::uint16_t tcp_port = 0;
    std::string os;  // "Linux 6.1.0 x86_64"
    std::string executable;
    std::string config_file;        // empty: none
    std::string supervised = "no";  // or "systemd"
    std::uint32_t threads = 1;      // loops
    Time started{};
    std::uint64_t clients = 0;  // connected now
    std::uint64_t clients_max = 0;
    std::uint64_t memory_used = 0;
    std::uint64_t memory_rss = 0;
    std::uint64_t memory_peak = 0;
    std::uint64_t memory_clients = 0;
    std::uint64_t connections_received = 0;
    std::uint64_t connections_rejected = 0;
    std::uint64_t commands_per_second = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t cpu_system_usec = 0;
    std::uint64_t cpu_user_usec = 0;
    std::uint64_t log_written = 0;     // lines
    std::uint64_t log_suppressed = 0;  // by log.rate_limit
    std::uint64_t log_dropped = 0;     // could not be written
};

// One line of CONFIG GET. Secrets come masked ("***") already.
struct Setting {
    std::string name;  // dotted YAML path: "locks.ttl_max"
    std::string value;
};

// What commands need of the process and of the node. The server implements it (tests: a fake).
// Nothing here may block: every command is answered from memory. Loop thread only.
class Host {
public:
    virtual ~Host() = default;

    // The time of this turn of the loop; may be a cached reading.
    [[nodiscard]] virtual Time now() const = 0;
    // The clock itself, for what is over before the turn is.
    [[nodiscard]] virtual Time read_clock() const = 0;
    [[nodiscard]] virtual std::int64_t wall_usec() const = 0;  // since 1970, UTC

    [[nodiscard]] virtual ProcessInfo process() const = 0;
    [[nodiscard]] virtual NodeStatus status() const = 0;
    [[nodiscard]] virtual std::vector<StoreStatus> stores() const = 0;
    // Nothing: the store of this node is its own.
    [[nodiscard]] virtual std::optional<FleetView> fleet() const = 0;
    // Of leases and delays, as the fleet agreed on. Nothing: the configuration says.
    [[nodiscard]] virtual std::optional<core::LeaseLimits> limits() const = 0;
    [[nodiscard]] virtual core::NodeCounts counts() const = 0;
    [[nodiscard]] virtual std::vector<Setting> settings() const = 0;
    [[nodiscard]] virtual core::Registry& registry() = 0;

    // Of the process.
    [[nodiscard]] virtual std::size_t loops() const = 0;
    // After a change of registry(): the other loops' are to be the same. Absent settings: erased.
    virtual void registry_changed(const ResourceName& name,
                                  const std::optional<core::ResourceSettings>& settings) = 0;

    // Whether anybody subscribes to anything here: who doesn't isn't told of events elsewhere.
    virtual void listens(bool anybody) = 0;

    // Connections of this node, in the order of their ids.
    virtual void visit_clients(const std::function<void(const ClientState&)>& visit) const = 0;
    // nullptr: gone. Stays valid until the loop's next turn.
    [[nodiscard]] virtual ClientState* find_client(ClientId id) = 0;
    // Closes the connection, of whatever loop, soon and not from within the call. For another
    // connection than the one whose command runs; that one gets
    // Disposition::Kind::close_after_flush.
    virtual void kill_client(ClientId id) = 0;
    // Bytes that belong to no command: subscription messages and pushes. They go out between
    // two replies, never into one, and count against the client's output limit.
    virtual void push(ClientId id, std::string_view bytes) = 0;

    // Begins the drain that SIGTERM begins, on all loops, without ending the process. nullopt:
    // begun (or going on already); else why not, a sentence.
    [[nodiscard]] virtual std::optional<std::string> drain() = 0;
    // Ends the process as SIGTERM does (`at_once`: without waiting for the drain). nullopt: it
    // will; else why not and what to do instead.
    [[nodiscard]] virtual std::optional<std::string> shut_down(bool at_once) = 0;

    // For the log: refused administration, who did what. Never carries a token or password.
    virtual void note(core::Notice notice) = 0;
};

}  // namespace latchd::command
