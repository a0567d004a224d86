// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/arbiter.hpp>
#include <latchd/core/authority/epoch.hpp>
#include <latchd/core/authority/orders.hpp>
#include <latchd/core/authority/types.hpp>
#include <latchd/core/authority/view.hpp>
#include <latchd/core/lock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// What a Fleet is told, and what it asks for.
namespace latchd::core::authority {

// Which of FleetOptions::tiers.
using TierIndex = std::size_t;
// Names one call; never used twice within an incarnation.
enum class CallId : std::uint64_t {};

// Both clocks at the moment of an event.
struct Moment {
    Time now{};
    WallMs wall{};
};

// ---- what happens ----------------------------------------------------------------------------

// Each ArbiterDo is answered by one of these two.
struct ArbiterAnswered {
    CallId id{};
    Time sent{};      // before the call left
    Time received{};  // when its answer was there
    ArbiterReply reply;
};
struct ArbiterFailed {
    CallId id{};
    bool is_down = false;  // evidence: refused, closed, timed out. Not: busy, deadlocked
    std::string text;
};

// The process behind a tier's connection: the first thing on each, with each probe, and as the
// answer to TierLook.
struct TierIdentified {
    TierIndex tier = 0;
    Identity identity;
    std::optional<Marker> marker;  // MySQL: none, the placement's row is the marker
    bool evicts = false;           // it may drop locks: no tier for strict resources
    // When a node that serves by the marker checked the store last, by the store's clock.
    std::optional<StoreMs> marker_used{};
};
// A write probe. `shown`: the store's clock, somewhere between the two.
struct TierProbed {
    TierIndex tier = 0;
    Time sent{};
    Time received{};
    StoreMs shown{};
};
// A probe failed, or the connection ended. The tier connects and probes again by itself. Where it
// ended, what was under way on it has failed, and nothing is carried before the next TierServe.
struct TierFailed {
    enum class Evidence : std::uint8_t {
        refused,  // nobody listens: evidence at once
        failed,   // a probe failed or timed out, the connection broke
        access,   // NOAUTH, no permission: this node's own trouble, never evidence
    };
    TierIndex tier = 0;
    Evidence evidence = Evidence::failed;
    bool is_connected = false;  // the connection goes on
    std::string reason;
};
// While serving: a script or statement did not find epoch, nonce or counter. Look again.
struct TierDoubted {
    TierIndex tier = 0;
};
// While serving: the counter of the epoch, with each probe.
struct TierCounter {
    TierIndex tier = 0;
    std::uint32_t counter = 0;
};
// Answer to TierNote: who, of those that were asked about, has a fresh note of this opening there.
struct TierNoted {
    TierIndex tier = 0;
    Time sent{};  // before the note and the question left
    std::vector<NodeName> fresh;
};
struct TierDone {  // Answer to TierInitialise and TierLoad.
    TierIndex tier = 0;
    CallId id{};
    bool done = false;  // false: text says why (the marker moved, the connection ended …)
    std::string text;
    bool is_overtaken = false;  // not done: another node opens it, or another process answers
};
// Answer to TierCloseAndRead: all that the store holds of its epoch, or done = false. A probe that
// was sent with it was told before: it says whether the store's clock can be believed.
struct TierRead {
    TierIndex tier = 0;
    CallId id{};
    bool done = false;
    Claims claims;
};
// After TierServe: operations can be sent now (scripts loaded, former connections ended).
struct TierReady {
    TierIndex tier = 0;
    Duration margin{};  // goes off every lease told
    bool kill_works = true;
};

// The answers of the lock core to CollectClaims and CollectUses.
struct ClaimsCollected {
    Epoch epoch = 0;
    Claims claims;
};
struct UsesCollected {
    std::vector<ResourceName> used;
};
// The lock core is about to grant locks of a strict resource, for so long at most.
struct StrictWanted {
    ResourceName resource;
    Duration ttl_high{};  // lease and delay
};
// SIGTERM: hand the records to the arbiter and leave. Answered by Gone.
struct LeaveWanted {
    Claims claims;
};
// next_deadline() may be due.
struct TimeCame {};

using FleetEvent = std::variant<ArbiterAnswered,
                                ArbiterFailed,
                                TierIdentified,
                                TierProbed,
                                TierFailed,
                                TierDoubted,
                                TierCounter,
                                TierNoted,
                                TierDone,
                                TierRead,
                                TierReady,
                                ClaimsCollected,
                                UsesCollected,
                                GrantEnded,
                                core::Asserted,
                                StrictWanted,
                                Command,
                                BasisWanted,
                                LeaveWanted,
                                TimeCame>;

// ---- what is asked for -----------------------------------------------------------------------

// At most two are outstanding: one of the loop (reads, heartbeats), one of a settling.
struct ArbiterDo {
    CallId id{};
    ArbiterCall call;
    // Run id of the arbiter that it was decided about; empty: whichever answers. Another one does
    // not get it: ArbiterFailed. What it lost of the fleet's record it would decide anew.
    std::string process{};
};
// Identity and marker again, now, on the connection that is there.
struct TierLook {
    TierIndex tier = 0;
};
// Compare-and-set of the marker: `expected` (absent: none; epoch and nonce are compared) -> next,
// by the very process that was identified. Locks of former epochs are void from then on.
// MySQL: confirms the process and sets the floor of the epoch's fences to next.counter; the
// placement's row is the marker.
struct TierInitialise {
    TierIndex tier = 0;
    CallId id{};
    std::optional<Marker> expected;
    Marker next;
};
// After TierInitialise, before the opening: puts carried locks and bars there, whole records, as
// they are (fence, tokens, version). Idempotent.
struct TierLoad {
    TierIndex tier = 0;
    CallId id{};
    Epoch epoch = 0;
    Nonce nonce;
    Claims claims;  // merged; gone is empty
};
// Ends the epoch in the store (its marker gets the epoch `next` and a nonce that nobody serves; on
// MySQL the settling row has ended it already) and reads every lock and bar. Only of the process
// that was recorded, its marker in place.
struct TierCloseAndRead {
    TierIndex tier = 0;
    CallId id{};
    Marker expected;
    Epoch next = 0;
    Nonce nonce;
};
// Carry operations of this epoch. The node is told by StoreOpened once TierReady came.
struct TierServe {
    TierIndex tier = 0;
    Epoch epoch = 0;
    Nonce nonce;
    std::uint32_t counter = 0;  // the marker's, as seen last
    std::optional<Duration>
        clock;            // the store's clock less this node's boot clock; none: unchecked
    bool sweeps = false;  // this node opened it: what older epochs left may go
};
// While serving: leaves a note there that this node has lost the arbiter, which goes by itself
// after `fresh`; and asks whose notes of this epoch and nonce are there. A tier that has no such
// place (MySQL, which is the arbiter) does not answer.
struct TierNote {
    TierIndex tier = 0;
    Epoch epoch = 0;
    Nonce nonce;
    NodeName name;
    Duration fresh{};
    std::vector<NodeName> others;
};
// Carry nothing from now on: what is under way is failed at once (in doubt), later answers to it
// are dropped.
struct TierWithdraw {
    TierIndex tier = 0;
    std::string reason;
};
// The host's own table serves: epoch 0 (fences below 2^32), or not any more.
struct LocalServe {};
struct LocalWithdraw {};

// StoreOpened, StoreClosed, PermitChanged, Happened… for the lock core.
struct ToNode {
    Event event;
};
// Asks the lock core for what it would hand over; answered by ClaimsCollected.
struct CollectClaims {
    Epoch epoch = 0;
};
// Asks the lock core which resources were used since; answered by UsesCollected.
struct CollectUses {};
// For the state directory, before anything is done in this epoch.
struct SaveKnown {
    Known known;
};
// The clock offsets may be kept for a restart within the same boot.
struct KeepOffsets {
    std::optional<Duration> arbiter;
};
// An epoch is open: a process of this node that starts without the arbiter may go by it.
struct KeepRecord {
    FleetRecord record;
};
// The shared registry changed: these are all of it.
struct RegistryRead {
    std::vector<std::pair<ResourceName, ResourceSettings>> resources;
};
struct Commanded {
    std::uint64_t id = 0;
    bool done = false;
    std::string text;  // "epoch 5 begins", or why not; "ERR …": what was asked can't be
};
// The records are with the arbiter and the row is gone (or the arbiter did not answer in time).
struct Gone {
    bool done = false;
};
// One line per change, at the level that it deserves; also the text of the `failover` event.
struct Changed {
    Epoch epoch = 0;
    RecordState state = RecordState::open;
    std::string tier;
    std::string reason;
};

using FleetAction = std::variant<ArbiterDo,
                                 TierLook,
                                 TierInitialise,
                                 TierLoad,
                                 TierCloseAndRead,
                                 TierServe,
                                 TierNote,
                                 TierWithdraw,
                                 LocalServe,
                                 LocalWithdraw,
                                 ToNode,
                                 CollectClaims,
                                 CollectUses,
                                 KeepOffsets,
                                 KeepRecord,
                                 RegistryRead,
                                 Commanded,
                                 Gone,
                                 Changed,
                                 SaveKnown,
                                 Notice>;
using FleetActions = std::vector<FleetAction>;

}  // namespace latchd::core::authority
