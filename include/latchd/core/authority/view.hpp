// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>
#include <latchd/core/authority/basis.hpp>
#include <latchd/core/authority/clock_offset.hpp>
#include <latchd/core/authority/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What the fleet agrees on, as its arbiter keeps it (design section 5, "the record").
namespace latchd::core::authority {

// Names one process of a node: a restart is another one. Attempt::incarnation is the same number.
using Incarnation = std::uint64_t;

// Where the locks live. One per cluster in this version; a row of its own in every arbiter.
struct Placement {
    std::string store;  // name of the configured store that keeps the locks
    std::string tier;   // its kind: "redis", "mysql"
    RecordState state = RecordState::settling;
    Epoch since_epoch = 0;  // the epoch of its fences, markers and statements
    Identity identity;      // the very process; while settling: unknown (empty run_id)
    Nonce nonce;            // while settling: of the compare-and-set; open: of the opening
    // The store's clock less the arbiter's, when it was opened; absent: one of them is too far.
    std::optional<Duration> clock_difference;
    // New LOCKs of strict resources wait for so long from a node's first sight of the opening, or
    // until all of `missing` have asserted what they kept; but in any case for what is left of
    // earlier waits (absent: all of it).
    Duration strict_wait{};
    std::optional<Duration> strict_wait_carried;
    std::vector<Incarnation> missing;  // had not acknowledged when the claims were read
    bool rows_unsure =
        false;           // settling: nodes may have no row yet, settle_grace is waited in full
    std::string reason;  // why this epoch began; one line
    std::int64_t since_ms = 0;                      // of this state, by the arbiter's clock
    Duration hold_down = std::chrono::seconds(30);  // before a better tier is taken back

    friend bool operator==(const Placement&, const Placement&) = default;
};

struct FleetRecord {
    ClusterUuid uuid;
    Epoch epoch = 0;  // the highest; equals placement.since_epoch while there is one placement
    Placement placement;
    Basis basis;
    Identity arbiter;  // the arbiter's own process when the epoch began

    friend bool operator==(const FleetRecord&, const FleetRecord&) = default;
};

// How one node sees one store.
struct TierSight {
    enum class State : std::uint8_t {
        unknown,  // no probe has told yet
        healthy,  // the last `rise` write probes succeeded (at the start: one)
        failing,  // refused a connection, or `fall` probes failed
    };
    std::string store;
    State state = State::unknown;
    std::string run_id;      // of the process seen last; empty: none yet
    bool is_other = false;   // it is not the recorded process, or took another's data over
    Duration healthy_for{};  // without a break; 0 unless healthy
    std::string reason;      // failing: why; one line

    friend bool operator==(const TierSight&, const TierSight&) = default;
};

// Of NodeRow::protocol: the first that goes by the record's list of stores. While a row says less,
// each node goes by its own.
inline constexpr std::uint32_t protocol_listed = 2;

// A node's row. Its incarnation is the key.
struct NodeRow {
    NodeName name;
    Incarnation incarnation = 0;
    Incarnation former = 0;  // it has all that its former self kept, and speaks for it; 0: no
    std::uint64_t beat = 0;  // raised with each heartbeat
    Epoch acked = 0;         // the newest epoch for which it handed over, or registered
    Epoch asserted = 0;      // the newest epoch in whose store all is that it kept before
    Epoch seen_open = 0;     // the epoch that was open when the sights were told; they vote on it
    std::vector<TierSight> sights;
    // Of strict resources, raised before the first such grant: which, and for how long at most.
    std::vector<ResourceName> strict;
    bool strict_all = false;  // more than strict_names_max of them
    Duration ttl_high{};      // lease and delay together; 0: it grants none
    Duration strict_left{};   // what is left of a strict wait that it counts, when it acknowledged
    bool clock_unsure = false;  // its clock may have stood still: what it hands over may have ended
    bool clock_vouched = false;  // unsure, but another store's clock went on as its own
    std::string config_hash;
    std::uint32_t protocol = 1;
    std::int64_t started_ms = 0;  // by its host's wall clock, for people
    std::string version;          // of latchd, for people

    friend bool operator==(const NodeRow&, const NodeRow&) = default;
};
inline constexpr std::size_t strict_names_max = 200;

// All of it at one moment. Rows are in the order of (name, incarnation).
struct View {
    Identity arbiter;  // MySQL: run_id is the server's uuid
    StoreMs shown{};   // the arbiter's clock
    std::optional<FleetRecord> record;
    std::vector<NodeRow> nodes;
    std::uint64_t registry_version = 0;       // raised with each change of a registered resource
    std::optional<BasisChange> basis_change;  // the last one; absent: there was none

    // A11, by every arbiter once it has filled in the rest.
    void show_basis() {
        if (record && basis_change) record->basis = basis_change->in(record->epoch);
    }
    // For how long a leaver's claims count; without a record: not at all.
    [[nodiscard]] Duration claims_kept() const {
        if (!record) return Duration::zero();
        const Duration kept = 2 * (record->basis.ttl_max + record->basis.delay_max);
        return basis_change ? std::max(kept, basis_change->claims_kept()) : kept;
    }

    friend bool operator==(const View&, const View&) = default;
};

}  // namespace latchd::core::authority
