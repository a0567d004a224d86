// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/epoch.hpp>
#include <latchd/core/authority/fleet_events.hpp>
#include <latchd/core/authority/view.hpp>
#include <latchd/core/lock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// The authority as one node sees it: votes, epochs, hand-over, opening, leases of its view, local
// mode (design section 5, rules 1-9). Sans-I/O.
namespace latchd::core::authority {

// ---- the machine -----------------------------------------------------------------------------

// What the simulator leaves out, one at a time, to see that it is caught. Only in its own build.
enum class Rule : std::uint8_t {
    none,
    register_first,        // 1: serves without being recorded for the epoch
    view_lease,            // 1: permits don't end with the view lease
    same_process,          // 2: serves whatever process answers
    arbiter_identity,      // 2: another arbiter process is taken for the recorded one
    marker_checked,        // 2: a marker of another opening is no reason
    majority,              // 3: one vote suffices
    hold_down,             // 3: a better tier is taken back as soon as it is healthy
    vote_of_known,         // 3: a majority of the nodes that are not lost suffices
    hand_over,             // 4: acknowledges with nothing
    gone_handed_over,      // 4: keeps gone fences to itself
    cancels_handed_over,   // 4: keeps cancelled request ids to itself
    ack_or_grace,          // 6: opens at once, whoever has acknowledged
    by_incarnation,        // 5: acknowledging counts by node name
    strict_lost_first,     // 6: RENEW of strict locks goes on before silent nodes are lost
    strict_wait,           // 5: new strict LOCKs don't wait for what lost nodes may have granted
    strict_wait_carried,   // 5: a later epoch forgets what is left of the wait
    wait_until_asserted,   // 6: the strict wait ends when the missing have acknowledged
    successor_by_journal,  // 6: whoever has the missing one's name speaks for it
    wait_as_duration,      // 5: the wait is kept as an instant of the arbiter's clock
    rebase_only_settling,  // 9: offsets follow any step
    read_only_recorded,    // 4: a tier that is another process counts as the recorded one when read
    fresh_nonce,           // 6: the opening's nonce is the settling one's
    epoch_rises,           // 7: a lower epoch that the arbiter shows is obeyed
    former_basis_waited,   // the record: what may live of a longer ttl_max is forgotten
    stores_of_record,      // the record: each node goes by its own list of stores
    unsure_refenced,       // 9: what a host that may have stood still hands over keeps its fence
};

struct FleetOptions {
    struct Tier {
        std::string store;        // its name
        std::string kind;         // "redis", "mysql"
        Duration patience{};      // votes wait for so long for another process of it
        bool is_arbiter = false;  // keeps the authority record itself
    };
    NodeName name;
    Incarnation incarnation = 0;
    std::optional<Incarnation> former;  // of this node's last process, known to be dead
    bool has_journal = false;           // of that process: this one speaks for it
    std::vector<Tier> tiers;            // in order of preference, without the local one
    bool has_local = false;             // the last resort is this host's table
    std::string local_store;            // its name
    bool outlives = false;              // the arbiter does not fail with the preferred tier
    Basis basis;                        // proposed to a new cluster
    std::string config_hash;
    std::string version;
    std::int64_t started_ms = 0;
    std::optional<Duration> arbiter_clock;   // kept from the last process, same boot
    std::optional<FleetRecord> kept_record;  // the last open one that a process of this node saw

    Duration view_lease = std::chrono::seconds(10);
    Duration beat_every = std::chrono::seconds(2);
    Duration read_every = std::chrono::milliseconds(500);
    Duration read_settling = std::chrono::milliseconds(50);
    Duration settle_grace = std::chrono::seconds(1);
    Duration redirect_after = std::chrono::seconds(2);
    Duration available_max = std::chrono::minutes(10);
    Duration hold_down = std::chrono::seconds(30);
    Duration hold_down_max = std::chrono::minutes(15);
    Duration vote_kept = std::chrono::seconds(60);  // of a lost node
    Duration leave_max = std::chrono::seconds(2);
    Duration note_every = std::chrono::seconds(5);   // while the arbiter is away
    Duration note_fresh = std::chrono::seconds(12);  // a note counts for so long
    // A registered resource that nobody used for so long is retired; zero: never.
    Duration retire_after = std::chrono::hours(7 * 24);
    Duration check_every = std::chrono::seconds(1);  // of a store, by who serves from it
    std::uint32_t rise = 5;
    std::uint32_t fall = 3;
    double drift = 0.001;  // of clocks' rates, at most
#ifdef LATCHD_TEST_MUTANTS
    Rule omitted = Rule::none;
#endif
};

// For INFO, LATCHD STATUS, NODES and STORES.
struct FleetStatus {
    enum class Mode : std::uint8_t { starting, serving, settling, unreachable, local };
    Mode mode = Mode::starting;
    std::string reason;  // why it does not serve, or why this epoch began
    std::optional<FleetRecord> record;
    std::vector<NodeRow> nodes;
    std::vector<Incarnation> lost;  // of `nodes`, by this node's judgement
    std::vector<TierSight> sights;  // of this node
    bool is_confirmed = false;      // its view lease runs
    bool arbiter_reached = false;   // the last call was answered
    std::string arbiter_error;      // of the last call; empty: none
    Duration view_left{};
    Duration strict_left{};  // until strict resources may be locked anew; 0: they may
    struct OfBasis {
        LeaseLimits limits;
        std::optional<BasisChange> pending{};   // it does not hold yet, or is not promised yet
        std::optional<Duration> promised_in{};  // absent: its epoch is not open yet
        Basis configured;                       // by this node's own configuration
        Basis agreed{};  // the record's, without this host's own table in its list
        // Where the fleet goes, as far as this node can; what the list has and the configuration
        // has not, and the other way round.
        std::vector<std::string> order{};
        std::vector<std::string> missing{};
        std::vector<std::string> unlisted{};
    } basis;
};

// One thread. Invariants, asserted where one node can see them:
// F1 A tier serves only while the record is open, names the process that was identified on its
//    connection, and this node is recorded for the placement's epoch (rules 1, 2).
// F2 What the node was told it may do never outlives the view lease, counted from before the
//    heartbeat was sent (rule 1).
// F3 Between the first sight of a settling epoch and its opening nothing is granted (rule 4).
// F4 An epoch that was seen is never followed by a lower one (I7).
class Fleet {
public:
    Fleet(FleetOptions options, Known known, NameSource& names);
    ~Fleet();
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;

    void start(Moment at, FleetActions& out);
    void step(Moment at, FleetEvent&& event, FleetActions& out);
    [[nodiscard]] std::optional<Time> next_deadline() const noexcept;
    [[nodiscard]] FleetStatus status(Time now) const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace latchd::core::authority
