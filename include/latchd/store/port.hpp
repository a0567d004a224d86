// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/batch_depths.hpp>
#include <latchd/core/authority/fleet.hpp>
#include <latchd/core/lock/node.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// The port that every lock store fulfils. An adapter has no opinion about locks: it carries
// operations to where the locks are kept, and says what came of each.
namespace latchd::store {

// Where a store tells its node what happened: StoreOpened, StoreClosed, StoreReplied,
// StoreFailed, NodeMessage, MessagesLost, MessagesResumed. May be called from within submit(); the
// receiver queues. Loop thread only.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void deliver(core::Event&& event) = 0;
};

// For INFO and LATCHD STORES; names as in conventions.md section 4.
struct Health {
    std::string name;
    std::string type;
    std::string address;
    std::string state;  // "up", "down", "settling", "starting"
    std::string last_error = "-";
    std::uint64_t checks_ok = 0;
    std::uint64_t checks_failed = 0;
    std::uint64_t last_check_usec = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t connections = 0;
    Epoch epoch = 0;
    BatchDepths batches;  // commands, or operations, that left together
    std::string warning;  // standing: an evicting maxmemory-policy, for example
};

// What operators ask of the authority behind a store, and what the end of the process does.
// `answered` is called once, later or from within the call. Loop thread only.
class FleetDesk {
public:
    using Answered = std::function<void(bool done, const std::string& text)>;

    struct Counts {
        std::uint64_t failovers = 0;  // openings in another tier than before
        std::int64_t last_failover_unix = 0;
        std::string last_failover_from;  // the tier; empty: none yet
    };

    virtual ~FleetDesk() = default;
    [[nodiscard]] virtual core::authority::FleetStatus status() const = 0;
    [[nodiscard]] virtual Counts counts() const = 0;
    // In order of preference, the host's own table last.
    [[nodiscard]] virtual std::vector<Health> stores() const = 0;
    [[nodiscard]] virtual Health arbiter() const = 0;
    // Of leases and delays, as the node was told last; absent: not yet.
    [[nodiscard]] virtual std::optional<core::LeaseLimits> limits() const = 0;
    // Registered resources of which this node's configuration says otherwise.
    [[nodiscard]] virtual std::vector<std::string> differing() const = 0;

    // FAILOVER to `store` (empty: the next one that is healthy), or FAILBACK.
    virtual void move(std::string store, bool back, std::string reason, Answered answered) = 0;
    // RESOURCE SET and DEL; on success the registry of this node has it already.
    virtual void write(core::authority::WriteResource&& call, Answered answered) = 0;
    // LATCHD CLUSTER SET; the id is filled in here.
    virtual void change(core::authority::BasisWanted wish, Answered answered) = 0;
    // Hands what this node holds to the arbiter and leaves the fleet. Bounded (leave_max).
    virtual void leave(Answered answered) = 0;
};

// Every submitted operation is answered exactly once, with StoreReplied or StoreFailed, within
// the store's operation time-out; after stop() none is. Operations submitted between StoreOpened
// and StoreClosed are carried out in the order of submission (one connection). An operation
// submitted after a StoreFailed{in_doubt} was delivered runs only after it is certain that the
// doubtful one will not run any more ("kill, then look"), except where StoreOpened said
// kill_works = false. Loop thread only.
class Store {
public:
    virtual ~Store() = default;
    virtual void start() = 0;
    virtual void stop() = 0;
    virtual void submit(core::OperationId id, core::Operation&& operation) = 0;
    [[nodiscard]] virtual Health health() const = 0;

    // For a store that belongs to a fleet's authority; others need none of them.
    virtual void claims_given(core::ClaimsGiven&&) {}
    virtual void uses_given(core::UsesGiven&&) {}
    virtual void grant_ended(core::GrantEnded&&) {}
    virtual void asserted(core::Asserted) {}
    virtual void strict_asked(core::StrictAsked&&) {}
    // nullptr: nobody else shares this store's decisions.
    [[nodiscard]] virtual FleetDesk* fleet() noexcept { return nullptr; }
    [[nodiscard]] const FleetDesk* fleet() const noexcept {
        return const_cast<Store*>(this)->fleet();
    }
};

}  // namespace latchd::store
