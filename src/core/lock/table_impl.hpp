// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "line.hpp"
#include "packed.hpp"

#include <latchd/core/lock/table.hpp>
#include <latchd/core/time/deadlines.hpp>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace latchd::core {

class Table::Impl {
public:
    enum TimerKind : std::uint8_t { of_place, of_packed, of_bar, of_queue };

    // In a set that finds it by its key: a map's would need a pointer back to its key.
    struct Place : Timer {  // when the record is over
        explicit Place(const LockKey& of) : Timer(of_place), key(of) {}

        LockKey key;
        KeptRecord record;
        Place* before = nullptr;  // in the line of those that are not packed
        Place* behind = nullptr;
    };
    struct PlaceHash {
        using is_transparent = void;
        // Without noexcept for the same reason as std::hash<LockKey>.
        std::size_t operator()(const LockKey& key) const { return std::hash<LockKey>{}(key); }
        std::size_t operator()(const Place& place) const { return (*this)(place.key); }
    };
    struct PlaceEqual {
        using is_transparent = void;
        bool operator()(const Place& a, const Place& b) const { return a.key == b.key; }
        bool operator()(const LockKey& a, const Place& b) const { return a == b.key; }
        bool operator()(const Place& a, const LockKey& b) const { return a.key == b; }
    };
    // Elements of a set are const, for the sake of what it finds them by; all else may change.
    static Place& changeable(const Place& place) noexcept { return const_cast<Place&>(place); }

    // A cancelled request id, or attempts of it that were undone before they came.
    struct Bar : Timer {
        Bar() : Timer(of_bar) {}

        bool everything = false;
        std::vector<Attempt> attempts;
        Time until{};
        const std::pair<LockKey, RequestId>* key = nullptr;

        [[nodiscard]] bool stops(const Attempt& attempt) const noexcept {
            return everything || std::ranges::find(attempts, attempt) != attempts.end();
        }
    };

    struct BarHash {
        std::size_t operator()(const std::pair<LockKey, RequestId>& key) const noexcept {
            return std::hash<LockKey>{}(key.first) * 31 + std::hash<RequestId>{}(key.second);
        }
    };

    struct Queue : Timer {  // when it is forgotten
        Queue() : Timer(of_queue) {}

        NodeQueue waiting;
        const LockKey* key = nullptr;
    };

    Impl(Epoch epoch, std::uint32_t counter, std::size_t unpacked_max)
        : epoch_(epoch), counter_(counter), unpacked_max_(unpacked_max) {}

    Reply acquire(Time now, const Acquire& wish) { return acquire(now, wish, Turn::waited_for); }
    OperationReply release(Time now, const Release& wish);
    Reply renew(Time now, const Renew& wish);
    Reply undo(Time now, const Undo& wish);
    Reply cancel(Time now, const Cancel& wish);
    Reply force(Time now, const Force& wish);
    Reply inspect(Time now, const Inspect& wish);
    Reply restore(Time now, const Restore& wish);
    OperationReply list(Time now, const List& wish);
    Reply step_out(Time now, const StepOut& wish);
    void expire(Time now);
    void pack_some();
    [[nodiscard]] std::size_t size() const noexcept { return places_.size() + packed_.size(); }
    NodeQueue* queue_of(Time now, const LockKey& key);
    void put_queue(const LockKey& key, NodeQueue&& waiting);

    Epoch epoch_;
    std::uint32_t counter_;
    RecentNames names_;
    std::unordered_map<LockKey, Queue> queues_;
    std::vector<Told> told_;

private:
    Place* place_of(const LockKey& key);
    Place& add_place(const LockKey& key);
    KeptRecord* find(Time now, const LockKey& key);
    enum class Turn : bool { waited_for, taken };  // taken: before the queue
    Reply acquire(Time now, const Acquire& wish, Turn turn);
    Reply acquire_free(Time now, const Acquire& wish, Turn turn);
    Reply refuse(Time now, const Acquire& wish, Reply&& reply);
    void offer(Time now, const LockKey& key, const NodeName& sender);
    void step_out(const LockKey& key, const NodeName& node);
    Reply grant(Time now, const Acquire& wish);
    Reply adopt(Time now, const Acquire& wish, KeptRecord& record, KeptHold& hold);
    Reply reenter(Time now, const Acquire& wish, KeptRecord& record);
    void put(const LockKey& key, KeptRecord&& record);
    void changed(const LockKey& key, KeptRecord& record);
    void pass_to(const LockKey& key,
                 KeptRecord& record,
                 const NodeName& node,
                 const Token* kept = nullptr);
    Reply take_out(Time now,
                   const LockKey& key,
                   KeptRecord& record,
                   const KeptHold& hold,
                   const NodeName& sender);
    void erase(const LockKey& key);
    void tell(const NodeName& node, const NodeName& sender, NodeMessage message);
    Bar& bar(const LockKey& key, const RequestId& request, Time until);
    void leave_out_barred(Time now, const LockKey& key, KeptRecord& record) const;

    Deadlines deadlines_;
    std::unordered_set<Place, PlaceHash, PlaceEqual> places_;  // of locks that are not packed
    Line<Place> line_;                                         // the same, the last unpacked last
    PackedLocks packed_{of_packed};
    std::size_t unpacked_max_;
    std::unordered_map<std::pair<LockKey, RequestId>, Bar, BarHash> bars_;
};

}  // namespace latchd::core
