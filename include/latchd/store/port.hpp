// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/node.hpp>

#include <cstdint>
#include <string>

// The port that every lock store fulfils. An adapter has no opinion about locks: it carries
// operations to where the locks are kept, and says what came of each.
namespace latchd::store {

// Where a store tells its node what happened: StoreOpened, StoreClosed, StoreReplied,
// StoreFailed, NodeMessage, MessagesResumed. May be called from within submit(); the receiver
// queues. Loop thread only.
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
    std::string warning;  // standing: an evicting maxmemory-policy, for example
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
};

}  // namespace latchd::store
