// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locks.hpp"
#include "node_parts.hpp"
#include "renewal.hpp"

#include <latchd/base/few.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace latchd::core {

class Node::Impl {
public:
    Impl(NodeOptions options, Registry& registry, NameSource& names)
        : options_(std::move(options)), registry_(registry), names_(names), limits_(own_limits()) {}

    void step(Time now, Event&& event, Actions& out);

    NodeOptions options_;
    Registry& registry_;
    NameSource& names_;
    Deadlines deadlines_;  // of locks, and of the drain
    // Of requests and tasks, which come and go: each would have to rise past the leases of a
    // million locks, which end later, and leave through them again.
    Deadlines waits_;
    NodeCounts counts_;
    std::unordered_map<ResourceName, std::uint64_t> held_;

    // node_lock.cpp: LOCK and the queue
    void on(LockCommand&& command);
    void take_over(Request& request, LockCommand&& command);
    void enter(Request& request, LockCommand&& command);
    void granted(Request& request, Reply& reply, Time sent);
    void refused(Request& request, const Reply& reply);
    void ask(Request& request, bool join_only);
    void make_acquire(Request& request, bool join_only, Acquire& wish);
    void begin_again(Request& request);
    void ask_failed(Request& request, Failure failure, const std::string& text);
    void time_out(Request& request);
    void undo(Request& request);
    void drop(Request& request);
    void forget_waiting(const Request& request);
    void client_left(Request& request);
    Request* head(const Lock& lock) const noexcept;
    bool may_ask(Lock& lock, const Request& first);
    bool take_check();
    void settle(Lock& lock);

    // node_queue.cpp: waiting beside other nodes
    void offered(const LockKey& key);
    void step_out(Lock& lock);
    void look_later(Lock& lock, const Reply& reply);
    void look_now(Lock& lock) noexcept;
    void remember_busy(Lock& lock, const Reply& reply);
    [[nodiscard]] bool has_had_its_turn(const Lock& lock) const noexcept;
    [[nodiscard]] bool looks_often() const noexcept { return !hears_ || tier_ == "mysql"; }

    // node_hold.cpp: UNLOCK, RENEW, CANCEL, FORCEUNLOCK, messages
    void on(UnlockCommand&& command);
    void on(RenewCommand&& command);
    void on(CancelCommand&& command);
    void on(ForceCommand&& command);
    void on(NodeMessage&& message);
    void on(ClientGone&& event);
    void unlocked(Task& task, const Reply& reply, Time sent);
    [[nodiscard]] bool is_foreign_here(const Task& task, const Lock& lock) const noexcept;
    [[nodiscard]] bool needs_look(const Lock& lock) const noexcept;
    [[nodiscard]] bool looked(Task& task, Reply& reply);
    void renewed(Task& task, Reply& reply, Time sent);
    void cancelled(Task& task, const Reply& reply, Time sent);
    void keep_rest(Lock& lock, const Reply& reply, Time sent);
    void forced(Task& task, const Reply& reply);
    [[nodiscard]] bool is_only_hold_gone(const Lock& lock, const Reply& reply) const noexcept;
    void ended_in_store(Lock& lock, const GrantRecord& ended);
    void cancel_here(const LockKey& key, const RequestId& request);

    // node_keep.cpp: records, leases, the watchdog
    void keep_record(Lock& lock, GrantRecord&& record, Time sent);
    void drop_record(Lock& lock);
    void keep_as_moved(Lock& lock);
    void forget_hold(Lock& lock, const Token& token);
    void give_back(Lock& lock, const Token& token, Time try_until);
    void give_back_attempts(Lock& lock, const Parted& hold, Time try_until);
    void give_back_later(const Lock& lock, const Holder& holder);
    void give_back_parted(ClientId client);
    void undone(const Task& task, const Reply& reply, Time sent);
    [[nodiscard]] bool is_of_lock_here(const Attempt& attempt) const noexcept;
    void set_holder(Lock& lock, Holder holder);
    void stop_keeping(Lock& lock, Holder& holder);
    enum class Ending : std::uint8_t { lapsed, gone };  // by this node's clock, by the store's word
    void lease_ended(Lock& lock, const char* reason, Ending ending = Ending::gone);
    void kept(Task& task, Reply& reply, Time sent);
    void renew_kept(Lock& lock);
    void on_timer(Lock& lock);
    void rearm(Lock& lock);
    [[nodiscard]] Pace* pace_of(const Lock& lock);
    [[nodiscard]] Duration renew_after_of(const Lock& lock);
    [[nodiscard]] Duration margin_of(const LockKey& key) const noexcept;
    [[nodiscard]] Time told_end(const LockKey& key, Time sent, Duration left) const noexcept;
    [[nodiscard]] Duration kept_left(const LockKey& key, Duration left) const noexcept;
    [[nodiscard]] GrantRecord to_be_kept(const LockKey& key, const KeptRecord& kept) const;
    [[nodiscard]] bool is_near_hard_end(const Lock& lock, Time at) const noexcept;
    [[nodiscard]] bool is_kept(const Lock& lock) const noexcept;
    [[nodiscard]] bool is_elsewhere(const Lock& lock) const noexcept;
    [[nodiscard]] bool knows_held(const Lock& lock) const noexcept;

    // node_store.cpp: operations, doubts, opening and closing, drain
    void on(StoreReplied&& event);
    void on(StoreFailed&& event);
    void on(MessagesLost&& event);
    void on(MessagesResumed&& event);
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
    void failed(const Flight& flight, Failure failure, const std::string& text);
    void pop_timers();
    [[nodiscard]] Timer* pop_timer() noexcept;
    void check_drained();
    [[nodiscard]] std::string nostore_text(bool held_back) const;
    [[nodiscard]] std::string away_text(const Lock& lock) const;

    // node_permit.cpp: what is taken on, and what may be sent now
    void on(PermitChanged&& event);
    void on(JournalRoom&& event);
    void on(UsesWanted&& event);
    [[nodiscard]] bool has_room() const noexcept { return journal_room_ > flights_.size(); }
    bool complete(LockCommand& command);
    [[nodiscard]] std::optional<Error> overload(const Lock& lock, const LockCommand& command) const;
    [[nodiscard]] Allowed allowed(const LockKey& key, Duration ttl_high);
    [[nodiscard]] Allowed allowed(const Request& request);
    [[nodiscard]] bool may_start(const Task& task);
    void cut(Renew& wish, const Lock& lock) const;
    [[nodiscard]] LeaseLimits own_limits() const noexcept;
    [[nodiscard]] bool is_strict(const LockKey& key) const noexcept;
    [[nodiscard]] bool is_covered(const ResourceName& resource, Duration ttl_high);
    [[nodiscard]] bool is_degraded(const ResourceSettings* settings) const noexcept;
    [[nodiscard]] const char* worth_too_little(Require require, const std::string& told) const;
    [[nodiscard]] std::optional<std::string> refusal(const LockCommand& command) const;
    [[nodiscard]] const std::string& told_tier() const noexcept;
    void refuse_degraded();
    void resume();

    // node_epoch.cpp: opening, closing, claims, restoring
    void on(StoreOpened&& event);
    void on(StoreClosed&& event);
    void on(ClaimsWanted&& event);
    void on(Restarted&& event);
    void leave_shared();
    void restore_all(bool carried);
    void begin_asserting();
    void consider_asserted();
    void restored(Task& task, Reply& reply, Time sent);
    void decide_here(Task& task);
    void bar_restores(Lock& lock, const KeptHold& hold);
    void add_gone(const LockKey& key, Fence fence, Time until);
    void add_gone_if_roamed(const Lock& lock);
    // `by`: the incarnation that was given it; 0: not known.
    void tell_ended(const LockKey& key, Fence fence, std::uint64_t by);
    template <class Holds>
    [[nodiscard]] static std::uint64_t given_to(const Holds& holds) noexcept {
        if (holds.empty() || holds.begin()->attempts.empty()) return 0;
        return holds.begin()->attempts.begin()->incarnation;
    }
    void add_cancelled(const LockKey& key, const RequestId& request);
    void end_delay(Lock& lock, Fence up_to);
    [[nodiscard]] Claims claims();
    [[nodiscard]] bool is_away(const Lock& lock) const noexcept;
    [[nodiscard]] bool awaits_restore(const Lock& lock) const noexcept;

    // node_view.cpp: LOCKINFO, LOCKS, FENCE
    void on(InfoCommand&& command);
    void on(ListCommand&& command);
    void on(FenceCommand&& command);
    void viewed(Task& task, OperationReply& reply);
    [[nodiscard]] LockView view(const LockKey& key, const Lock* lock) const;

    // node.cpp
    void erase_if_idle(Lock& lock);
    // An action that is made of its parts where it lies: it is not moved there.
    template <class T, class... Parts>
    T& add(Parts&&... parts) {
        return std::get<T>(
            out_->emplace_back(std::in_place_type<T>, std::forward<Parts>(parts)...));
    }
    template <class T>
    void answer(const Ticket& ticket, T&& outcome) {
        add<Answer>(ticket, std::forward<T>(outcome));
    }
    [[nodiscard]] OperationId take_off(const Flight& flight);
    void fail(const Ticket& ticket, ErrorWord word, std::string text);
    void notice(Notice::Level level, const char* event, std::string text);
    [[nodiscard]] bool wants_debug() const noexcept { return options_.debug_notices; }
    void happened(Happened::Kind kind, const Lock& lock, const char* reason);
    void remember(const LockKey& key, const Token& token, std::int64_t value);
    [[nodiscard]] std::optional<std::int64_t> remembered(const LockKey& key,
                                                         const Token& token) const;
    void forget_old();

    // An answer to UNLOCK that is given again to the same UNLOCK; lost_maxhold stands for the
    // reason why a RENEW fails.
    static constexpr std::int64_t lost_maxhold = -100;
    static constexpr std::size_t remembered_max = 100'000;
    static constexpr Duration strict_ttl_min = std::chrono::seconds(2);
    static constexpr std::size_t tasks_max = 100'000;
    static constexpr std::size_t paces_max = 10'000;
    static constexpr const char* journal_text =
        "journal: there is no room to write a grant down; nothing is held";
    static constexpr std::size_t claims_max = 100'000;  // of gone fences, of cancelled ids

    Time now_{};
    Actions* out_ = nullptr;

    bool open_ = false;
    bool settling_ = false;
    bool draining_ = false;
    bool drained_ = false;
    bool kill_works_ = true;
    bool shared_ = true;
    bool restore_wanted_ = false;
    bool asserts_ = false;       // Asserted is owed once …
    std::size_t restoring_ = 0;  // … so many Restores are answered
    bool hears_ = true;          // what other nodes say
    bool fleet_local_ = false;   // a fleet's last resort serves: the host's table, epoch 0
    bool held_back_ = false;     // something waits for a PermitChanged or for JournalRoom
    std::size_t journal_room_ = std::numeric_limits<std::size_t>::max();
    Epoch epoch_wanted_ = 0;  // after ClaimsWanted nothing older opens
    PermitChanged permit_;
    LeaseLimits limits_;
    std::unordered_map<ResourceName, Duration> strict_asked_;
    std::unordered_map<ResourceName, Pace> paces_;  // of resources with KEEP locks
    std::deque<std::pair<Time, GoneFence>> gone_;
    std::deque<std::pair<Time, CancelledRequest>> cancelled_;
    std::string tier_;
    std::string doubted_tier_ = "?";  // as it is told while the permit is not confirmed
    std::string closed_reason_ = "no store has been reached yet";
    std::string store_refusal_;  // what the store, though open, said last instead of an answer
    Epoch epoch_ = 0;
    Duration margin_{};
    Time messages_since_ = Time::min();
    Time drain_by_{};
    Timer drain_timer_{timer_of_drain};

    RecentNames recent_;
    Locks locks_{deadlines_, options_.unpacked_max};
    std::list<Request> requests_;
    std::list<Task> tasks_;
    boost::unordered_flat_map<std::uint64_t, Flight> flights_;
    boost::unordered_flat_map<ClientId, Few<Request*>> waiting_clients_;
    std::unordered_map<ClientId, std::unordered_set<Lock*>> keeping_clients_;
    std::unordered_multimap<ClientId, Task*> taking_over_;  // RENEW KEEP under way
    std::unordered_map<ClientId, std::vector<Parted>> parted_;
    std::size_t parted_count_ = 0;
    // Flat: most are cold, and most that are looked for are not here, which flat maps say by a
    // byte.
    boost::unordered_flat_map<Token, Remembered, std::hash<Token>> remembered_;
    std::deque<std::pair<Time, Token>> remembered_order_;
    std::uint64_t operations_ = 0;
    std::uint64_t attempts_ = 0;
    Time checks_window_{};
    std::uint32_t checks_ = 0;
    Actions scratch_;
};

// "order:settle/1001#3865470566400001": a grant's printable name. Bytes outside 0x21-0x7e are
// percent-encoded.
[[nodiscard]] std::string grant_name(const LockKey& key, Fence fence);
[[nodiscard]] std::string printable(std::string_view bytes);

}  // namespace latchd::core
