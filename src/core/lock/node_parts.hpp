// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "line.hpp"
#include "packed.hpp"

#include <latchd/core/lock/kept.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/core/time/deadlines.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What a node keeps of locks, of the LOCKs that wait for them, and of what it asked its store.
namespace latchd::core {

struct Lock;
struct Task;

enum NodeTimer : std::uint8_t {
    timer_of_request,
    timer_of_lock,
    timer_of_packed,
    timer_of_task,
    timer_of_drain,
};

// One LOCK from its arrival until it is answered and nothing of it is under way any more.
// Its state only moves forward: a grant that comes after it was given up is undone.
struct Request : Timer {
    Request() : Timer(timer_of_request) {}

    enum class Stage : std::uint8_t {
        idle,      // nothing is under way for it
        asked,     // an Acquire is under way
        doubtful,  // an Acquire was sent and its answer is lost: the same attempt is sent again
    };

    LockCommand command;
    RequestId id;
    Token token;
    Attempt attempt;
    Time wait_until{};
    Time answer_by{};
    Time sent{};
    Lock* lock = nullptr;
    Request* before = nullptr;  // in the line of its lock
    Request* behind = nullptr;
    std::list<Request>::iterator self;
    std::string tier;  // as the grant of the last Acquire is told
    Stage stage = Stage::idle;
    bool named = false;       // the client chose the request id
    bool queued = false;      // has a place in the queue of its lock
    bool ghost = false;       // only the place is left: its client went away
    bool given_up = false;    // answered, or its client is gone: whatever comes is undone
    bool joins_only = false;  // the last Acquire could only adopt or re-enter
    bool is_local = false;    // the last Acquire went to the host's table of a fleet
    bool is_handed = false;   // the last Acquire goes before the waiters of other nodes
};

// A hold that was told to a client of this node.
struct Holder {
    static constexpr Time never = Time::max();

    Token token;
    ClientId client{};
    Time expect_until = never;  // three times EXPECT
    bool keep = false;
    bool release_on_close = false;
};

// What only a lock has that others want, that lapsed or moved. Most never do, and a node may hold
// a million: so it lies beside the lock, and only as long as it says something.
struct Aside {
    std::optional<KeptRecord> delayed;  // its lease lapsed, its DELAY runs; to be handed over
    Task* restore = nullptr;            // puts the record back, or waits to
    Time busy_until{};                  // the store's busy answer is given again
    Duration check_interval{};
    Time reclaim_at{};     // a KEEP lock that moved is renewed from here no sooner
    Fence fence_seen = 0;  // of a holder elsewhere
    // What other nodes said: records of this grant below this version are theirs, or nobody's.
    Fence moved_fence = 0;
    std::uint64_t moved_version = 0;
    static constexpr std::uint64_t has_ended = std::numeric_limits<std::uint64_t>::max();

    [[nodiscard]] bool is_needed(Time now) const noexcept {
        return delayed || restore != nullptr || now < busy_until || now < reclaim_at ||
               check_interval != Duration::zero() || fence_seen != 0 || moved_fence != 0;
    }
};

// What a node knows of one lock.
struct Lock : Timer {
    Lock() : Timer(timer_of_lock) {}

    const LockKey* key = nullptr;
    Lock* before = nullptr;  // in the line of those that are not packed
    Lock* behind = nullptr;
    std::optional<KeptRecord> record;  // its lease_end is what holders were told
    std::vector<Holder> holders;
    Line<Request> requests;  // by arrival
    Time confirmed_at{};     // when the store last spoke of the record
    Time free_at{};          // when it must have ended in the store at the latest
    Time check_at{};         // the head does not ask before
    Time asked_at{};
    Time keep_at{};
    std::uint32_t turn = 0;         // grants in a row of which other nodes had no chance
    std::uint32_t busy = 0;         // operations under way or parked that point here
    bool in_queue = false;          // the store's queue may have this node's name
    bool is_offered = false;        // to this node, while its head's Acquire is under way
    bool releasing = false;         // a release of its last hold is under way
    bool renewing = false;          // a KEEP renewal is under way
    bool warned = false;            // `expiring` was told for this lease
    bool restore_doubtful = false;  // a copy of its Restore may be carried out yet
    bool roamed = false;            // another node had this grant once, and may have a record of it

    // As it is, or as one that says nothing.
    [[nodiscard]] const Aside& aside() const noexcept { return aside_ ? *aside_ : nothing_aside; }
    // To be changed.
    [[nodiscard]] Aside& set_aside() {
        if (!aside_) aside_ = std::make_unique<Aside>();
        return *aside_;
    }
    [[nodiscard]] bool has_aside() const noexcept { return aside_ != nullptr; }
    // To be changed where there is one, else null.
    [[nodiscard]] Aside* any_aside() noexcept { return aside_.get(); }
    void forget_aside(Time now) noexcept {
        if (aside_ && !aside_->is_needed(now)) aside_.reset();
    }

private:
    inline static const Aside nothing_aside;
    std::unique_ptr<Aside> aside_;
};

// Everything else that a node asks of its store: one operation, sent again until it is answered
// or not worth it any more.
struct Task : Timer {
    enum class Kind : std::uint8_t {
        unlock,  // for a client, or ONCLOSE RELEASE
        renew,   // for a client
        keep,    // the watchdog's
        undo,
        cancel,
        force,
        info,
        fence,
        list,
        restore,
        step_out,
    };

    Task(Kind what, Operation&& asks)
        : Timer(timer_of_task), kind(what), operation(std::move(asks)) {}

    Kind kind{};
    Operation operation;
    std::optional<Ticket> ticket;  // absent: nobody waits for the answer (any more)
    Lock* lock = nullptr;
    Time answer_by{};
    Time try_until{};  // carried out behind, after the client was answered
    std::list<Task>::iterator self;
    bool under_way = false;
    bool doubtful = false;           // was sent once, and the answer is lost
    bool had_token = false;          // unlock, cancel: the record of this node had the hold
    bool was_others = false;         // unlock: the record of this node was of another grant
    bool shared_only = false;        // not for the host's table: waits for the shared store
    bool explain = false;            // info
    std::optional<ClientId> keeper;  // renew: KEEP, for this client
    // renew, of a lock that this node has no record of: the operation looks at the lock
    // first, then this is sent. What the look showed:
    std::optional<Renew> after_look;
    std::optional<Duration> seen_left;
    std::optional<Duration> seen_delay;
    Fence fence = 0;  // fence
    ClientName client;
};

// What this node may send now of a lock.
enum class Allowed : std::uint8_t {
    nothing,
    joining,   // to adopt, to re-enter, to renew
    granting,  // everything
};

// A hold of ONCLOSE RELEASE that another node renews now: what a connection of this node got.
struct Parted {
    LockKey key;
    RequestId request;
    Few<Attempt> attempts;
};
inline constexpr std::size_t parted_max = 10'000;  // above: they stay to their leases' ends

// The attempt of each RENEW KEEP of a node; those of its LOCKs count from 1.
[[nodiscard]] constexpr Attempt standing_attempt(std::uint64_t incarnation) noexcept {
    return {incarnation, 0};
}
[[nodiscard]] std::string holds_full_text();

// What an UNLOCK or RENEW was answered.
struct Remembered {
    std::int64_t value = 0;
    std::size_t lock = 0;  // hash of its key
    Time until{};
};

// An operation that the store has not answered yet.
struct Flight {
    Task* task = nullptr;
    Request* request = nullptr;  // an ask, or the `then` of the task's release
    Time sent{};
};

}  // namespace latchd::core
