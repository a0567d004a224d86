// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/clock_doubt.hpp>
#include <latchd/core/authority/fleet.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace latchd::core::authority {

// What this node sees of one tier.
struct TierView {
    // Whether nodes that ask another arbiter keep their locks there.
    enum class OthersUse : std::uint8_t { none, unsure, seen };
    bool is_connected = false;  // identified on the connection that is there
    Identity identity;
    std::optional<Marker> marker;
    Time marker_since{};  // this opening's marker was seen first
    std::optional<StoreMs> marker_used;
    std::optional<Time> used_at;  // when marker_used was seen to have moved
    TierSight::State state = TierSight::State::unknown;
    std::uint32_t good = 0;  // probes in a row
    std::uint32_t bad = 0;
    Time healthy_since{};
    Time good_at{};  // the last good probe
    Time failing_since{};
    std::string reason;
    ClockOffset clock;
    Time clock_since{};            // when the offset was measured; what strays since is told
    std::uint32_t mismatches = 0;  // identified in a row with another marker than the record's
    std::uint32_t counter = 0;     // of the epoch that is served, as seen last
    bool jumped = false;           // its clock, in the epoch that is open
    bool evicts = false;
    bool is_locked_out = false;  // this node is turned away there
};

// What this node sees of another one.
struct Judged {
    std::uint64_t beat = 0;
    Time moved_at{};  // when the beat was seen to have moved
    std::optional<Time> lost_since;
};

// What of it differs from `other`, for people.
[[nodiscard]] std::string text_of(const Basis& basis, const Basis& other);

// Complete before the machine, which keeps optional ones.
struct FleetParts {
    using OthersUse = TierView::OthersUse;
    enum class Purpose : std::uint8_t {
        read,
        beat,
        propose,
        hand_over,
        fetch,
        open,
        forget,
        registry,
        basis,
        uses,
        settled,
        leave,
    };
    struct Asked {
        CallId id{};
        Purpose purpose{};
        bool writes_row = false;
    };
    // Claims as they were at an instant of this node's clock.
    struct Gathered {
        Time at{};
        Claims claims;
        Incarnation from = 0;   // who handed them over; 0: read from the former tier
        bool has_left = false;  // with them, as a leaver does
    };
    // From the first sight of a settling epoch to its opening.
    struct Settling {
        Epoch epoch = 0;
        Nonce nonce;
        Time seen_at{};
        bool is_collected = false;
        Claims claims;
        std::vector<Claims> parts;  // of the hand-over
        std::size_t sent = 0;
        bool acked = false;
        bool is_unsure = false;             // NodeRow::clock_unsure
        bool is_vouched = false;            // NodeRow::clock_vouched
        std::optional<Time> due_at;         // since when it could be opened
        std::optional<Time> refused_since;  // the target, each time that this node tried it
        std::string refusal;
        std::size_t handed_over = 0;   // claims of this node
        std::size_t fetched = 0;       // claims of all, when they were fetched last
        std::optional<Gathered> read;  // of the former tier, which is closed by that: only once
    };
    struct Opening {
        enum class Stage : std::uint8_t { idle, fetching, reading, initialising, loading, opening };
        Stage stage = Stage::idle;
        CallId id{};
        TierIndex tier = 0;
        std::vector<Gathered> claims;
        std::string next;  // page of claims that was asked for; empty: the first
        std::uint64_t claims_version = 0;
        std::vector<Incarnation> missing;
        std::vector<Incarnation> unsure;  // whose clock may have stood still
        Fence fence = 0;                  // what only they know of gets it
        Duration wait{};                  // for what the missing may have granted
        Duration wait_carried{};          // of it, what is left of earlier waits
        Nonce nonce;
        Time retry_at{};
        Time give_up_at{};  // of a stage
    };
    // The open epoch that this node follows.
    struct Open {
        Placement placement;
        Time seen_at{};
        Time strict_from{};
        Time strict_owed{};  // until then in any case
        // Carried leases are longer by so much than their holders were told.
        Duration settled_for{};
        std::optional<Time> accounted_at;  // every process has acknowledged or is lost
        bool carried = false;
    };
    struct Wish {  // this node witnessed that `after` can't go on
        Epoch after = 0;
        std::string reason;
    };
    // What is known of the basis and its changes, beside the view.
    struct OfBasis {
        std::optional<Basis> told;  // where the configuration says otherwise: the record's
        std::optional<Basis> last;  // of the record that was followed last
        // The change that holds, and since when by this node's clock.
        std::uint64_t held = 0;
        Time since{};
        std::optional<BasisWanted> wish;
        Time wish_due{};
        bool is_written = false;  // the wish is on its way to the arbiter
        // Since when changes of SAFETY and DEGRADE towards safety hold, by this node's clock;
        // which are promised by now.
        std::map<ResourceName, Time> held_since;
        std::set<ResourceName> promised;
    };
    // Which resources are in use.
    struct OfUses {
        std::set<ResourceName> retired;  // as was told
        std::set<ResourceName> unnoted;  // used, and to be noted
        std::set<ResourceName> noting;   // by the call that is under way
        std::set<ResourceName> noted;    // in the period that runs
        std::uint64_t period = 0;
        bool is_due = false;  // a note is to be sent, be it of nothing
        Time collect_at = Time::min();
    };
    struct Begin {
        TierIndex tier = 0;
        std::string reason;
        bool rows_unsure = false;
        Duration strict_wait{};
        bool is_failure = false;  // of a preferred tier: the hold-down grows
        Epoch raise = 1;
    };
};

}  // namespace latchd::core::authority
