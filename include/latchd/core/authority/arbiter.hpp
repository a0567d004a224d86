// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/view.hpp>
#include <latchd/core/lock/claims.hpp>
#include <latchd/core/resource/registry.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// What nodes ask of their arbiter, and the rules that every arbiter (SQL, Redis, the simulator's)
// obeys. One call is one transaction; each answer shows the view after it.
namespace latchd::core::authority {

inline constexpr std::size_t claims_per_call_max = 1'000;

struct ReadView {};

// Heartbeat; also registers, and raises what the row says.
struct Beat {
    NodeRow row;
    // A former process of this node, known to be dead, whose journal this one has: its row goes.
    std::optional<Incarnation> replaces;
};

// Begins an epoch.
struct Propose {
    // Epoch, state and nonce that are compared; absent: there is no record.
    struct Expected {
        Epoch epoch = 0;
        RecordState state = RecordState::open;
        Nonce nonce;
    };
    std::optional<Expected> expected;
    FleetRecord next;  // settling
};

// A part of what a node hands over for the epoch that settles (or, late, has opened).
struct HandOver {
    Epoch epoch = 0;
    Claims claims;         // at most claims_per_call_max
    bool is_first = true;  // what this incarnation handed over for this epoch before is dropped
    bool is_last = true;   // the acknowledgement: the row is written with acked = epoch
    NodeRow row;
};

// All claims that count for the epoch that settles, page by page.
struct FetchClaims {
    Epoch epoch = 0;
    std::string after{};  // ArbiterReply::next of the page before; empty: the first one
};

// Opens the epoch that settles.
struct OpenEpoch {
    Epoch epoch = 0;
    Nonce settling;  // the nonce of the settling record
    Placement next;  // open, of the same since_epoch
    // Of the FetchClaims whose claims the store has now: not done if more came since. Absent: not
    // compared.
    std::optional<std::uint64_t> claims_version{};
};

// An orderly end: the claims count for View::claims_kept(), the row goes.
struct Leave {
    Incarnation incarnation = 0;
    Claims claims;        // in parts, as HandOver
    bool is_last = true;  // the row goes
};

// Takes out a row that can't hold anything any more (its judge is the caller).
struct Forget {
    Incarnation incarnation = 0;
};

// A lock that a leaver handed over was renewed or released since.
struct Settled {
    std::vector<GoneFence> locks;
};

// The registered resources, shared by the fleet.
struct ReadRegistry {};
struct WriteResource {
    ResourceName name;
    std::optional<ResourceSettings> settings;  // absent: it is taken out
    std::optional<Epoch> epoch{};              // that the record must show; absent: any
};

// Changes what safety rests on, from a later epoch on.
struct WriteBasis {
    BasisChange change;
    Epoch epoch = 0;  // that the record must show
};

// Which of the registered resources are in use. Those that nobody used for long are retired: their
// registration stays. Time is counted in periods in which nodes note uses, so that neither a step
// of the arbiter's clock nor a time without nodes retires anything.
struct NoteUses {
    std::vector<ResourceName> used{};  // at most claims_per_call_max
    Duration period{};                 // how long one is, > 0; zero: none ends by this call
};
// A resource is retired that was not used in so many whole periods.
inline constexpr std::uint64_t unused_periods_max = 7;

using ArbiterCall = std::variant<ReadView,
                                 Beat,
                                 Propose,
                                 HandOver,
                                 FetchClaims,
                                 OpenEpoch,
                                 Leave,
                                 Forget,
                                 Settled,
                                 ReadRegistry,
                                 WriteResource,
                                 WriteBasis,
                                 NoteUses>;

// What one incarnation handed over for one epoch, or when it left; or a part of that.
struct HandedOver {
    Epoch epoch = 0;  // 0: it left
    Incarnation from = 0;
    Duration age{};  // since then, by the arbiter's clock
    Claims claims;

    friend bool operator==(const HandedOver&, const HandedOver&) = default;
};

struct ArbiterReply {
    bool done = false;  // false: what was compared had changed; nothing was written
    View view;
    std::vector<HandedOver> claims;    // FetchClaims: not merged
    std::uint64_t claims_version = 0;  // FetchClaims: raised by each HandOver and Leave
    std::string next{};                // FetchClaims: where the next page begins; empty: no more
    std::vector<std::pair<ResourceName, ResourceSettings>> resources;  // ReadRegistry
    std::uint64_t use_period = 0;  // NoteUses: the number of the period; 0: none has begun
};

// The rules, named by number in SQL, lua/ and tests/:
//  A1 Every call is one transaction and shows the view after it.
//  A2 Beat inserts its row or overwrites it, but acked never falls, and acked above the record's
//     epoch counts as the record's. Of a row with a lower beat than is there (a call that was
//     overtaken) only acked counts. `replaces` takes out that row.
//  A3 Propose writes `next` if the record is as expected and next.epoch is above the record's.
//     Claims stay: those of epochs that never opened count for this one. As OpenEpoch it dates
//     the placement (since_ms) by the arbiter's clock.
//  A4 HandOver is done only while the record's epoch is `epoch`. The last part sets row.acked.
//  A5 FetchClaims, while the record's epoch is `epoch`, answers the claims of every epoch above the
//     one that was opened last, dated by their first part that isn't empty, and leavers' claims,
//     dated by their last part, that are not older than 2 * (ttl_max + delay_max), the longest
//     ones of the record and the last change. Who has none is left out. Pages of one
//     claims_version make up the whole.
//  A6 OpenEpoch is done only while (epoch, settling nonce) are the record's, and no claims came
//     since those of `claims_version`. It deletes the claims of HandOver up to this epoch: they are
//     in the store now. Leavers' claims go on: nobody else has them if that store dies.
//  A7 Leave keeps the claims, dated; the last part takes out the row.
//  A8 Forget takes out the row. Settled takes leavers' records of these locks up to this fence out.
//  A9 WriteResource raises the registry's version. With an epoch it is done only while that is the
//     record's: what it says of the next epoch would not hold for that one else. What is written is
//     in use in this period, and not retired.
// A10 NoteUses begins the next period once the one that runs is `period` old by the arbiter's clock
//     (one that began in the future begins now). Each resource of `used`, and each that was never
//     noted, is in use in this period; of `used` none is retired then. With a period it retires
//     those that were used last more than unused_periods_max periods before this one. If any became
//     retired, or is so no more, the registry's version is raised.
// A11 WriteBasis is done only while the record's epoch is `epoch` and the change is the next one to
//     that which is there by its number. Views show the record's basis as the change says it,
//     whatever Propose wrote.
//
// This is the reference: the simulator's arbiter, and what SQL and Lua are compared with. Copyable,
// so that a replica that lacks the last transactions can be made of it. Not for several threads.
class ArbiterTable {
public:
    [[nodiscard]] ArbiterReply apply(StoreMs now, const ArbiterCall& call);

    [[nodiscard]] const std::optional<FleetRecord>& record() const noexcept { return record_; }

    Identity identity;  // shown in each view

private:
    struct Kept {
        StoreMs at{};
        Claims claims;
    };
    bool write(StoreMs now, const ReadView& call);
    bool write(StoreMs now, const Beat& call);
    bool write(StoreMs now, const Propose& call);
    bool write(StoreMs now, const HandOver& call);
    bool write(StoreMs now, const FetchClaims& call);
    bool write(StoreMs now, const OpenEpoch& call);
    bool write(StoreMs now, const Leave& call);
    bool write(StoreMs now, const Forget& call);
    bool write(StoreMs now, const Settled& call);
    bool write(StoreMs now, const ReadRegistry& call);
    bool write(StoreMs now, const WriteResource& call);
    bool write(StoreMs now, const WriteBasis& call);
    bool write(StoreMs now, const NoteUses& call);
    void put(NodeRow row);
    [[nodiscard]] bool is_at(Epoch epoch) const noexcept;
    [[nodiscard]] std::vector<HandedOver> claims_at(StoreMs now) const;
    [[nodiscard]] View view(StoreMs now) const;
    void show_basis();

    std::optional<FleetRecord> record_;
    std::optional<BasisChange> basis_change_;
    std::map<Incarnation, NodeRow> rows_;
    std::map<std::pair<Epoch, Incarnation>, Kept> claims_;
    std::map<Incarnation, Kept> left_;
    Epoch opened_ = 0;  // the last epoch that was opened
    std::uint64_t claims_version_ = 0;
    std::map<ResourceName, ResourceSettings> resources_;
    std::uint64_t registry_version_ = 0;
    std::map<ResourceName, std::uint64_t> used_;  // in which period last; absent: not noted yet
    std::uint64_t use_period_ = 0;
    StoreMs period_since_{};
};

}  // namespace latchd::core::authority
