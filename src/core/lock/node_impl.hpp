// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/kept.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/core/time/deadlines.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace latchd::core {

struct Lock;

// One LOCK from its arrival until it is answered and nothing of it is under way any more.
// Its state only moves forward: a grant that comes after it was given up is undone.
struct Request {
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
    std::list<Request>::iterator self;
    Timer timer;
    Stage stage = Stage::idle;
    bool named = false;     // the client chose the request id
    bool queued = false;    // has a place in the queue of its lock
    bool ghost = false;     // only the place is left: its client went away
    bool given_up = false;  // answered, or its client is gone: whatever comes is undone
};

// A hold that was told to a client of this node.
struct Holder {
    Token token;
    ClientId client{};
    bool keep = false;
    bool release_on_close = false;
    std::optional<Time> expect_until;  // three times EXPECT
};

// What a node knows of one lock.
struct Lock {
    const LockKey* key = nullptr;
    std::optional<KeptRecord> record;  // its lease_end is what holders were told
    std::vector<Holder> holders;
    std::vector<Request*> requests;  // by arrival
    Time confirmed_at{};             // when the store last spoke of the record
    Time free_at{};                  // when it must have ended in the store at the latest
    Time check_at{};                 // the head does not ask before
    Time asked_at{};
    Duration check_interval{};
    Time keep_at{};
    Time reclaim_at{};     // a KEEP lock that moved is renewed from here no sooner
    Fence fence_seen = 0;  // of a holder elsewhere
    // What other nodes said: records of this grant below this version are theirs, or nobody's.
    Fence moved_fence = 0;
    std::uint64_t moved_version = 0;
    std::uint32_t busy = 0;  // operations under way or parked that point here
    Timer timer;
    bool releasing = false;  // a release of its last hold is under way
    bool renewing = false;   // a KEEP renewal is under way
    bool warned = false;     // `expiring` was told for this lease
};

// Everything else that a node asks of its store: one operation, sent again until it is answered
// or not worth it any more.
struct Task {
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
    };

    Kind kind{};
    Operation operation;
    std::optional<Ticket> ticket;  // absent: nobody waits for the answer (any more)
    Lock* lock = nullptr;
    Time answer_by{};
    Time try_until{};  // carried out behind, after the client was answered
    std::list<Task>::iterator self;
    Timer timer;
    bool under_way = false;
    bool doubtful = false;           // was sent once, and the answer is lost
    bool had_token = false;          // unlock: the record of this node had it
    bool explain = false;            // info
    std::optional<ClientId> keeper;  // renew: KEEP, for this client
    Fence fence = 0;                 // fence
    ClientName client;
};

// An operation that the store has not answered yet.
struct Flight {
    Task* task = nullptr;
    Request* request = nullptr;  // an ask, or the `then` of the task's release
    Time sent{};
};

class Node::Impl {
public:
    Impl(NodeOptions options, Registry& registry, NameSource& names)
        : options_(std::move(options)), registry_(registry), names_(names) {}

    void step(Time now, Event&& event, Actions& out);

    NodeOptions options_;
    Registry& registry_;
    NameSource& names_;
    Deadlines deadlines_;
    NodeCounts counts_;
    std::unordered_map<ResourceName, std::uint64_t> held_;

    // node_lock.cpp: LOCK and the queue
    void on(LockCommand&& command);
    bool complete(LockCommand& command);
    void take_over(Request& request, LockCommand&& command);
    void enter(Request& request, LockCommand&& command);
    [[nodiscard]] std::optional<Error> overload(const Lock& lock, const LockCommand& command) const;
    void granted(Request& request, Reply& reply, Time sent);
    void refused(Request& request, const Reply& reply);
    void ask(Request& request, bool join_only);
    Acquire make_acquire(Request& request, bool join_only);
    void ask_failed(Request& request, Failure failure, const std::string& text);
    void time_out(Request& request);
    void undo(Request& request);
    void drop(Request& request);
    void client_left(Request& request);
    Request* head(const Lock& lock) const noexcept;
    bool may_ask(Lock& lock);
    void settle(Lock& lock);

    // node_hold.cpp: UNLOCK, RENEW, CANCEL, FORCEUNLOCK, messages
    void on(UnlockCommand&& command);
    void on(RenewCommand&& command);
    void on(CancelCommand&& command);
    void on(ForceCommand&& command);
    void on(NodeMessage&& message);
    void on(ClientGone&& event);
    void on(NotKept&& event);
    void unlocked(Task& task, const Reply& reply);
    void renewed(Task& task, Reply& reply, Time sent);
    void cancelled(Task& task, const Reply& reply);
    void forced(Task& task, const Reply& reply);
    void restored(Task& task, Reply& reply, Time sent);
    void cancel_here(const LockKey& key, const RequestId& request);

    // node_keep.cpp: records, leases, the watchdog
    void keep_record(Lock& lock, GrantRecord& record, Time sent);
    void drop_record(Lock& lock);
    void forget_hold(Lock& lock, const Token& token);
    void give_back(Lock& lock, const Token& token, Time try_until);
    void set_holder(Lock& lock, Holder holder);
    void stop_keeping(Lock& lock, Holder& holder);
    void lease_ended(Lock& lock, const char* reason);
    void kept(Task& task, Reply& reply, Time sent);
    void renew_kept(Lock& lock);
    void on_timer(Lock& lock);
    void rearm(Lock& lock);
    [[nodiscard]] Time told_end(Time sent, Duration left) const noexcept;
    [[nodiscard]] Duration kept_left(Duration left) const noexcept;
    [[nodiscard]] bool is_kept(const Lock& lock) const noexcept;
    [[nodiscard]] bool is_elsewhere(const Lock& lock) const noexcept;
    [[nodiscard]] bool knows_held(const Lock& lock) const noexcept;

    // node_store.cpp: operations, doubts, opening and closing, drain
    void on(StoreOpened&& event);
    void on(StoreClosed&& event);
    void on(StoreReplied&& event);
    void on(StoreFailed&& event);
    void on(MessagesResumed&& event);
    void on(Restarted&& event);
    void on(DrainStarted&& event);
    void on(TimePassed&&) {}
    Task& add_task(Task::Kind kind,
                   Operation&& operation,
                   Lock* lock,
                   std::optional<Ticket> ticket);
    void start(Task& task, Request* then = nullptr);
    void finish(Task& task);
    void task_failed(Task& task, Failure failure, const std::string& text);
    void time_out(Task& task);
    [[nodiscard]] bool goes_on(const Task& task) const noexcept;
    [[nodiscard]] std::string max_ms(const Task& task) const;
    void restore_all();
    void pop_timers();
    void check_drained();
    [[nodiscard]] std::string nostore_text() const;

    // node_view.cpp: LOCKINFO, LOCKS, FENCE
    void on(InfoCommand&& command);
    void on(ListCommand&& command);
    void on(FenceCommand&& command);
    void viewed(Task& task, OperationReply& reply);
    [[nodiscard]] LockView view(const LockKey& key, const Lock* lock) const;

    // node.cpp
    Lock& lock_of(const LockKey& key);
    Lock* find(const LockKey& key) noexcept;
    void erase_if_idle(Lock& lock);
    void answer(const Ticket& ticket, Outcome outcome);
    void fail(const Ticket& ticket, ErrorWord word, std::string text);
    void notice(Notice::Level level, const char* event, std::string text);
    [[nodiscard]] bool wants_debug() const noexcept { return options_.debug_notices; }
    void happened(Happened::Kind kind, const Lock& lock, const char* reason);
    void remember(const Token& token, std::int64_t value);
    [[nodiscard]] std::optional<std::int64_t> remembered(const Token& token) const;
    void forget_old();

    // An answer to UNLOCK that is given again to the same UNLOCK; lost_maxhold stands for the
    // reason why a RENEW fails.
    static constexpr std::int64_t lost_maxhold = -100;
    static constexpr std::size_t remembered_max = 100'000;
    static constexpr std::size_t tasks_max = 100'000;

    Time now_{};
    Actions* out_ = nullptr;

    bool open_ = false;
    bool settling_ = false;
    bool draining_ = false;
    bool drained_ = false;
    bool kill_works_ = true;
    bool shared_ = true;
    bool restore_wanted_ = false;
    std::string tier_;
    std::string closed_reason_ = "no store has been reached yet";
    Epoch epoch_ = 0;
    Duration margin_{};
    Time messages_since_ = Time::min();
    Time drain_by_{};
    Timer drain_timer_;

    std::unordered_map<LockKey, Lock> locks_;
    std::list<Request> requests_;
    std::list<Task> tasks_;
    std::unordered_map<std::uint64_t, Flight> flights_;
    std::unordered_map<ClientId, std::vector<Request*>> waiting_clients_;
    std::unordered_map<ClientId, std::unordered_set<Lock*>> keeping_clients_;
    std::unordered_multimap<ClientId, Task*> taking_over_;  // RENEW KEEP under way
    std::unordered_map<Token, std::pair<std::int64_t, Time>> remembered_;
    std::deque<std::pair<Time, Token>> remembered_order_;
    std::uint64_t operations_ = 0;
    std::uint64_t attempts_ = 0;
    Time checks_window_{};
    std::uint32_t checks_ = 0;
    Actions scratch_;
};

enum NodeTimer : std::uint8_t { timer_of_request, timer_of_lock, timer_of_task, timer_of_drain };

// "order:settle/1001#3865470566400001": a grant's printable name. Bytes outside 0x21-0x7e are
// percent-encoded.
[[nodiscard]] std::string grant_name(const LockKey& key, Fence fence);
[[nodiscard]] std::string printable(std::string_view bytes);

}  // namespace latchd::core
