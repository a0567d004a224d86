// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/core/authority/epoch.hpp>
#include <latchd/core/authority/types.hpp>
#include <latchd/core/lock/node.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

// Decides whether this node may serve one placement whose store is its own arbiter.
namespace latchd::core::authority {

// ---- what happens ----------------------------------------------------------------------------

// The process behind the connection: first thing on each connection, and again with each probe.
struct Identified {
    Identity identity;
};
struct ConnectionLost {
    std::string reason;
};
// Answer to LookUp, Settle and Open: what is there after it.
struct Seen {
    Sight sight;
};
// LookUp, Settle or Open was refused by the store (out of memory, read only, no permission).
struct AttemptFailed {
    std::string text;
};
// A script did not find what it was told to expect.
struct Doubted {
    enum class Kind : std::uint8_t {
        stale,           // epoch, nonce or counter differ
        unknown_script,  // NOSCRIPT: flushed, or another process
    };
    Kind kind = Kind::stale;
};
// Two probes running found the store's clock more than 100 ms from where it should be.
struct ClockJumped {
    std::string text;
};
// The counter of the served epoch, from a probe.
struct CounterSeen {
    std::uint32_t counter = 0;
};
// next_deadline() may be due.
struct TimeCame {};

using AuthorityEvent = std::variant<Identified,
                                    ConnectionLost,
                                    Seen,
                                    AttemptFailed,
                                    Doubted,
                                    ClockJumped,
                                    CounterSeen,
                                    TimeCame>;

// ---- what is asked for -----------------------------------------------------------------------

// Read record and marker; with_identity: ask for the identity first, on the same connection.
struct LookUp {
    bool with_identity = false;
};
// Compare-and-set of the record: `expected` (absent: no record) -> `next`, which is settling.
// Epoch, state and nonce are compared.
struct Settle {
    std::optional<Record> expected;
    Record next;
};
// In one step: the record is still `settling`, the marker is still `marker` (absent: none; epoch
// and nonce are compared) -> record and marker are those of `next`, the counter starts at
// `counter`.
struct Open {
    Record settling;
    std::optional<Marker> marker;
    Record next;
    std::uint32_t counter = 0;
};
// This node may grant; also sent again after a LookUp that found nothing changed.
struct Serve {
    Record record;
    std::uint32_t counter = 0;
    bool won = false;         // this node opened it: it sweeps what older epochs left
    bool same_epoch = false;  // served before by this node: clock offsets stay
};
// Said again when the reason changes.
struct StopServing {
    std::string reason;
    bool settling = false;  // a new epoch is about to open
};
// This connection leads to nothing that may serve: close it, resolve the name again.
struct DropConnection {
    std::string reason;
};
struct SaveKnown {
    Known known;
};

using AuthorityAction =
    std::variant<LookUp, Settle, Open, Serve, StopServing, DropConnection, SaveKnown, Notice>;
using AuthorityActions = std::vector<AuthorityAction>;

struct MachineOptions {
    Duration settle_grace = std::chrono::seconds(1);
    Duration settling_read = std::chrono::milliseconds(50);
    Duration retry = std::chrono::milliseconds(250);  // after a refusal
};

// Both clocks at the moment of an event.
struct Moment {
    Time now{};
    WallMs wall{};
};

// Sans-I/O, one thread. At most one LookUp, Settle or Open is outstanding; each is answered by
// Seen or AttemptFailed, or ends with ConnectionLost.
//
// Invariants:
// 1. Serve is asked for only for a record that is open, of the very process identified on this
//    connection, whose marker has its epoch and nonce, and not below an epoch seen before.
// 2. Of two nodes that compare-and-set, one wins; the other follows what is recorded.
// 3. An epoch is opened only settle_grace after it was first seen settling, except the first one
//    of a cluster that nobody here knows.
class Machine {
public:
    enum class State : std::uint8_t {
        away,     // no connection whose process is known
        looking,  // an answer from the store is awaited
        waiting,  // a settling epoch was seen; settle_grace runs
        serving,  // this node may grant
        pausing,  // refused; looked at again after `retry`
    };

    Machine(MachineOptions options, Known known, NameSource& names);

    void step(Moment at, AuthorityEvent&& event, AuthorityActions& out);
    [[nodiscard]] std::optional<Time> next_deadline() const noexcept;
    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] Epoch epoch() const noexcept { return served_ ? served_->epoch : 0; }

private:
    struct Wish {  // somebody asked for an epoch after this one
        Epoch after = 0;
        std::string reason;
    };
    struct Settling {  // since when this node knows of it
        Epoch epoch = 0;
        Nonce nonce;
        Time open_from{};
    };

    void on(Moment at, Identified&& event, AuthorityActions& out);
    void on(Moment at, ConnectionLost&& event, AuthorityActions& out);
    void on(Moment at, Seen&& event, AuthorityActions& out);
    void on(Moment at, AttemptFailed&& event, AuthorityActions& out);
    void on(Moment at, Doubted&& event, AuthorityActions& out);
    void on(Moment at, ClockJumped&& event, AuthorityActions& out);
    void on(Moment at, CounterSeen&& event, AuthorityActions& out);
    void on(Moment at, TimeCame&& event, AuthorityActions& out);

    void decide(Moment at, const Sight& sight, AuthorityActions& out);
    void begin(Moment at, const Sight& sight, std::string reason, AuthorityActions& out);
    void wait_or_open(Moment at, const Sight& sight, AuthorityActions& out);
    void serve(const Sight& sight, AuthorityActions& out);
    void stop(std::string reason, bool settling, AuthorityActions& out);
    void pause(Moment at, std::string reason, AuthorityActions& out);
    void look(bool with_identity, AuthorityActions& out);
    void ask_for_epoch(std::string reason, AuthorityActions& out);
    void take_over_uuid(const Record& record, AuthorityActions& out);
    [[nodiscard]] std::string why_not_serve(const Sight& sight) const;
    [[nodiscard]] std::string why_not_settling(const Record& record) const;
    [[nodiscard]] std::string foreign_marker(const Sight& sight) const;
    [[nodiscard]] bool is_same_store(const Identity& recorded) const;
    [[nodiscard]] ClusterUuid uuid_for(const Sight& sight);

    MachineOptions options_;
    Known known_;        // what the state directory holds, or was asked to
    Epoch highest_ = 0;  // seen by this process, settling ones too
    NameSource& names_;
    State state_ = State::away;
    Identity identity_;  // of the connection, unless away
    std::optional<Record> served_;
    std::optional<Record> last_served_;  // also while not serving
    std::uint32_t counter_seen_ = 0;     // of last_served_
    std::optional<Nonce> own_open_;      // of the Open that is outstanding or was the last
    std::optional<Nonce> first_settle_;  // of a cluster's first epoch: no grace
    std::string stopped_for_;            // said once, not with each retry
    std::optional<Settling> settling_;
    std::optional<Wish> wish_;
    Time next_look_{};
};

}  // namespace latchd::core::authority
