// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/claims.hpp>
#include <latchd/core/lock/command.hpp>
#include <latchd/core/lock/limits.hpp>
#include <latchd/core/lock/names.hpp>
#include <latchd/core/lock/operation.hpp>
#include <latchd/core/resource/registry.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace latchd::core {

// ---- what happens to a node ----------------------------------------------------------------

enum class OperationId : std::uint64_t {};  // never used twice within an incarnation

// The store opened an epoch (first, again after an outage, or a new one). Operations may be sent.
struct StoreOpened {
    std::string tier;  // "redis", "local"
    Epoch epoch = 0;
    bool shared = true;      // other hosts see what is kept there
    Duration margin{};       // goes off every lease told (clock_margin; 0 for the embedded table)
    bool kill_works = true;  // false: an undo after a doubt needs a tombstone
    // What this node handed over (ClaimsGiven) was loaded before the opening: nothing is put back.
    bool carried = false;
};
// What this node may do while its store is open; told by the authority of a fleet, again with each
// heartbeat. Before the first one, and with a store that needs no arbiter, everything is allowed.
// A LOCK, RENEW, further hold or Restore is sent only before the end that is stated for its
// resource's SAFETY, compared with the very instant that its lease counts from. UNLOCK, undo and
// looks are always allowed, and all that the host's own table of a fleet serves (it rests on no
// view). What is not allowed yet waits like a command of a settling store.
struct PermitChanged {
    Time available_until = Time::max();
    Time strict_until = Time::max();
    bool is_confirmed = true;    // false: the tier is told as "redis?" and REQUIRE refuses it
    bool strict_carried = true;  // RENEW, re-entrance and adoption of strict locks
    bool strict_fresh = true;    // new grants of strict locks
    std::vector<ResourceName> strict_named;     // strict grants and renewals: only of these …
    bool strict_all = true;                     // … or of all,
    Duration strict_ttl_max = Duration::max();  // with lease and delay up to this: else StrictAsked
    std::optional<LeaseLimits> limits;          // the fleet's; absent: those of NodeOptions
    std::string preferred;  // the fleet's first tier; empty: that of NodeOptions
    std::string reason;     // what is missing; shown in -NOSTORE

    friend bool operator==(const PermitChanged&, const PermitChanged&) = default;
};
// A new epoch settles: answered by ClaimsGiven in the same step. What the store says to anything
// sent before is not believed any more (the adapter delivers nothing of it).
struct ClaimsWanted {
    Epoch epoch = 0;
};
// Which registered resources were used since it was asked last: answered by UsesGiven in the same
// step.
struct UsesWanted {};
// Nothing can be sent now. What was sent before is answered or failed one by one by the adapter.
struct StoreClosed {
    std::string reason;     // shown in -NOSTORE
    bool settling = false;  // a new epoch is about to open: nobody is granted anything before
};
struct StoreReplied {
    OperationId id{};
    OperationReply reply;
};
struct StoreFailed {
    OperationId id{};
    Failure failure = Failure::refused;
    std::string text;  // what the store said
};
// Another node did something to a lock that this node has a record of.
struct NodeMessage {
    enum class Kind : std::uint8_t {
        released,   // key is free (or changed hands); fence: the grant that ended
        forced,     // as released, by FORCEUNLOCK
        moved,      // renewed or re-entered through another node
        cancelled,  // this request id is cancelled
        offered,    // key is free, and reserved for this node, which is in its queue
    };
    Kind kind = Kind::released;
    LockKey key;
    Fence fence = 0;
    RequestId request;          // cancelled
    bool keep = false;          // moved: the other node renews it from now on
    std::uint64_t version = 0;  // moved: of the record that the other node has
    std::string hold = {};      // moved, with keep: the tail of that hold's token; empty: all holds
};
// The message channel is away: nothing that other nodes say arrives until MessagesResumed.
struct MessagesLost {};
// The message channel was away: messages may have been missed.
struct MessagesResumed {};
struct ClientGone {
    ClientId client{};
};
// Records of this node's former self, from the journal, with what is left of them now.
struct Restarted {
    std::vector<GrantRecord> records;
};
// How many further locks' records the journal takes. A LOCK that it may have no room for is not
// sent. Before the first one: as many as locks_max.
struct JournalRoom {
    std::size_t records = 0;
};
// SIGTERM: waiters are told, KEEP locks renewed once more; Drained comes within answer_max. Again
// after that, when the clients are gone: Drained comes when what they gave back is done, too.
struct DrainStarted {};
struct TimePassed {};  // a deadline of next_deadline() may be due

using Event = std::variant<LockCommand,
                           UnlockCommand,
                           RenewCommand,
                           CancelCommand,
                           InfoCommand,
                           ListCommand,
                           FenceCommand,
                           ForceCommand,
                           StoreOpened,
                           StoreClosed,
                           PermitChanged,
                           ClaimsWanted,
                           UsesWanted,
                           StoreReplied,
                           StoreFailed,
                           NodeMessage,
                           MessagesLost,
                           MessagesResumed,
                           ClientGone,
                           Restarted,
                           JournalRoom,
                           DrainStarted,
                           TimePassed>;

// ---- what a node asks for ------------------------------------------------------------------

// The most frequent ones are made of their parts where they lie: they are large.

struct Answer {
    template <class T>
    Answer(const Ticket& to, T&& says) : ticket(to), outcome(std::forward<T>(says)) {}

    Ticket ticket;
    Outcome outcome;
};
struct Submit {
    template <class... Parts>
    explicit Submit(OperationId as, Parts&&... parts)
        : id(as), operation(std::forward<Parts>(parts)...) {}

    OperationId id{};
    Operation operation;
};
// To be in the journal before any Answer of the same step leaves.
struct JournalPut {
    explicit JournalPut(GrantRecord&& of) noexcept : record(std::move(of)) {}

    GrantRecord record;
};
struct JournalDrop {
    JournalDrop(const LockKey& of, Fence upto) : key(of), fence(upto) {}

    LockKey key;
    Fence fence = 0;
};
// For subscribers of latchd:events:<resource> and for the holder's own connections that asked.
struct Happened {
    enum class Kind : std::uint8_t {
        lost,      // the lease ended without UNLOCK; reason says why
        expiring,  // renewing fails; the lease ends soon
        revoked,   // FORCEUNLOCK
        failover,  // kept across a change of store, under a new fence
    };
    Kind kind = Kind::lost;
    LockKey key;
    Fence fence = 0;
    OwnerName owner;
    std::string reason;
    std::vector<ClientId> holders;  // the connections of this node that it was granted to
};
// Something for the log; the runtime writes it. Never carries a whole token.
struct Notice {
    enum class Level : std::uint8_t { debug, info, warning, error };
    Level level = Level::debug;
    const char* event = "";  // stable id: "lock.granted"
    std::string text;        // begins with resource/id#fence where there is one
};
// All that was asked of the drain is done (or given up).
struct Drained {};

// All live grant records of this node (in DELAY too), the fences of grants that ended through this
// node while another one may keep a record of them, and cancelled request ids.
struct ClaimsGiven {
    Epoch epoch = 0;
    Claims claims;
};
// By a LOCK, or by a lock that is held through this node.
struct UsesGiven {
    std::vector<ResourceName> used;
};
// Whatever this node kept when this epoch opened is in its store now, with all that its holders
// were told. Not said where something was lost, or is in its DELAY, which is not put back.
struct Asserted {
    Epoch epoch = 0;
};
// A strict grant or renewal waits for a PermitChanged that covers it.
struct StrictAsked {
    ResourceName resource;
    Duration ttl_high{};  // lease and delay
};

using Action = std::variant<Answer,
                            Submit,
                            JournalPut,
                            JournalDrop,
                            Happened,
                            Notice,
                            Drained,
                            ClaimsGiven,
                            UsesGiven,
                            GrantEnded,
                            Asserted,
                            StrictAsked>;
using Actions = std::vector<Action>;

// ---- the node ------------------------------------------------------------------------------

struct NodeOptions {
    NodeName name;
    std::uint64_t incarnation = 0;
    std::size_t waiters_max = 10'000;   // per node
    std::size_t locks_max = 1'000'000;  // records kept at once; above: LIMIT journal
    Duration wait_max = std::chrono::seconds(60);
    Duration ttl_max = std::chrono::seconds(60);
    Duration delay_max = std::chrono::seconds(60);
    // The tiers that the operator configured, in order of preference. Fewer than two: there is
    // nothing to degrade to.
    std::vector<std::string> tiers;
    Duration answer_max = std::chrono::seconds(2);  // beyond WAIT, every command
    Duration retry_window = std::chrono::seconds(15);
    Duration wake_check = std::chrono::seconds(1);
    Duration place_kept = std::chrono::seconds(5);    // of a waiter that comes back with its REQ
    Duration answer_kept = std::chrono::seconds(60);  // the same UNLOCK gets the same answer
    std::uint32_t checks_per_second = 1'000;
    std::size_t unpacked_max = unpacked_max_default;
    std::uint32_t handover_max = 16;  // grants in a row within the node while other nodes wait
    bool debug_notices = false;       // whether Notices of level debug are wanted at all
};

struct NodeCounts {
    std::uint64_t acquired = 0;
    std::uint64_t adopted = 0;
    std::uint64_t contended = 0;
    std::uint64_t wait_timeouts = 0;
    std::uint64_t released = 0;
    std::uint64_t renewed = 0;
    std::uint64_t expired = 0;
    std::uint64_t lost = 0;
    std::uint64_t not_owner = 0;
    std::uint64_t undone = 0;
    std::uint64_t uncertain = 0;
    std::uint64_t handovers = 0;
    std::uint64_t over_expected = 0;  // held longer than three times EXPECT
    std::uint64_t held = 0;           // now
    std::uint64_t waiting = 0;        // now
    std::uint64_t keeping = 0;        // now: renewed by this node
};

// Decides everything about the locks of one node. Sans-I/O: told the time and an event, it
// appends the actions; the caller carries them out in order. One thread.
class Node {
public:
    Node(NodeOptions options, Registry& registry, NameSource& names);
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    // `now` never goes back between calls. Events may be moved from.
    void step(Time now, Event&& event, Actions& out);

    // When TimePassed is wanted at the latest.
    [[nodiscard]] std::optional<Time> next_deadline() const noexcept;

    [[nodiscard]] NodeCounts counts() const noexcept;
    [[nodiscard]] std::uint64_t held_of(const ResourceName& resource) const noexcept;
    // Whether it renews a lock for this client (KEEP), which it stops when the connection ends.
    [[nodiscard]] bool keeps_for(ClientId client) const noexcept;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace latchd::core
