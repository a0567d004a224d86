// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>

#include <cstdint>
#include <string>

// What the authority is about: which process keeps the locks of an epoch, and what is written
// down of it. Design section 5.
namespace latchd::core::authority {

// Names one opening of a store; drawn fresh for each attempt to open.
using Nonce = Name<struct NonceTag>;
// The cluster, for as long as its arbiter remembers; drawn when there is none.
using ClusterUuid = Name<struct ClusterUuidTag>;

enum class Role : std::uint8_t {
    master,   // may keep locks
    replica,  // refuses writes, or would lose them
};

// The very process behind a connection.
struct Identity {
    std::string run_id;  // changes with every start of the process
    Role role = Role::replica;
    std::string replid;   // may change with nothing lost (a first replica attached)
    std::string replid2;  // empty: none (all zeros). A new one: it took another's data over
    friend bool operator==(const Identity&, const Identity&) = default;
};

enum class RecordState : std::uint8_t {
    open,      // grants in `epoch` by who knows the nonce
    settling,  // nobody grants; the store is about to be opened in `epoch`
};

// What lies beside the locks in the store and is checked by every script. The counter is that of
// the last fence.
struct Marker {
    ClusterUuid uuid;
    Epoch epoch = 0;
    Nonce nonce;
    std::string run_id;
    std::uint32_t counter = 0;
    friend bool operator==(const Marker&, const Marker&) = default;
};

// What the state directory keeps over restarts of the node. epoch 0: it knows nothing.
struct Known {
    ClusterUuid uuid;
    Epoch epoch = 0;
    friend bool operator==(const Known&, const Known&) = default;
};

}  // namespace latchd::core::authority
