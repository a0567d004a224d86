// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/core/lock/operation.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace latchd::store::redis {

// An operation on its way. Kept whole until it is answered: one that was definitely not executed
// for a reason that has nothing to do with locks is sent again.
struct Request {
    core::OperationId id{};
    core::Operation operation;
    Time submitted{};
    bool clock_refused = false;           // once already
    bool goes_alone = false;              // as one of many it was refused
    std::uint8_t reloads = 0;             // NOSCRIPT so often
    std::vector<std::string> redis_keys;  // List: the scanned page
    std::uint64_t cursor = 0;             // List: where the scan goes on
};

// What the next reply of a connection belongs to.
enum class Kind : std::uint8_t {
    greeting,  // AUTH, SELECT: must succeed
    wish,      // CLIENT SETNAME: may fail
    client_id,
    identity,        // one of the parts of INFO
    kill,            // CLIENT KILL of a former connection, or to see whether it may be done
    load_authority,  // SCRIPT LOAD
    authority,       // what the authority asked
    load_locks,      // SCRIPT LOAD
    probe_write,     // the first half of a probe while nothing is served
    probe,
    eviction,  // INFO stats
    message,   // PUBLISH to no node: whether it may be done
    operation,
    many,  // operations
    wait,  // for replicas
    scan,  // the first half of a List
    list,  // its second half
    sweep_scan,
    sweep,
    withdrawn,  // an operation that nobody waits for any more
};

struct Pending {
    Kind kind = Kind::operation;
    bool is_patient = false;   // its lateness alone does not end the connection
    bool is_last = false;      // identity: the set is complete
    std::uint32_t load = 0;    // how many loads of scripts went before
    std::uint32_t number = 0;  // of a probe
    bool is_guarded = false;   // probe: by the script of the served epoch
    std::uint64_t end = 0;     // position in the stream after its last byte
    Time sent{};
    std::unique_ptr<Request> request;
    std::vector<std::unique_ptr<Request>> many;
};

}  // namespace latchd::store::redis
