// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/base/glob.hpp>
#include <latchd/core/lock/table.hpp>

#include <algorithm>
#include <utility>

namespace latchd::core {
namespace {

Reply held(const KeptRecord& record, Time now) {
    return {Status::held, std::nullopt, record.lease_end + record.delay - now, record.fence};
}

}  // namespace

class Table::Impl {
public:
    struct Place {
        KeptRecord record;
        Timer timer;  // when the record is over
        const LockKey* key = nullptr;
    };

    // A cancelled request id, or attempts of it that were undone before they came.
    struct Bar {
        bool everything = false;
        std::vector<Attempt> attempts;
        Timer timer;
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

    enum TimerKind : std::uint8_t { of_place, of_bar };

    Impl(Epoch epoch, std::uint32_t counter) : epoch_(epoch), counter_(counter) {}

    Reply acquire(Time now, const Acquire& wish);
    OperationReply release(Time now, const Release& wish);
    Reply renew(Time now, const Renew& wish);
    Reply undo(Time now, const Undo& wish);
    Reply cancel(Time now, const Cancel& wish);
    Reply force(Time now, const Force& wish);
    Reply inspect(Time now, const Inspect& wish);
    Reply restore(Time now, const Restore& wish);
    OperationReply list(Time now, const List& wish);
    void expire(Time now);

    Epoch epoch_;
    std::uint32_t counter_;
    std::unordered_map<LockKey, Place> places_;
    std::vector<Told> told_;

private:
    KeptRecord* find(Time now, const LockKey& key);
    Reply grant(Time now, const Acquire& wish);
    Reply adopt(Time now, const Acquire& wish, KeptRecord& record, KeptHold& hold);
    Reply reenter(Time now, const Acquire& wish, KeptRecord& record);
    void put(const LockKey& key, KeptRecord&& record);
    void changed(const LockKey& key, KeptRecord& record);
    void pass_to(const LockKey& key, KeptRecord& record, const NodeName& node, bool keep);
    Reply take_out(Time now,
                   const LockKey& key,
                   KeptRecord& record,
                   const KeptHold& hold,
                   const NodeName& sender);
    void erase(const LockKey& key);
    void tell(const NodeName& node, const NodeName& sender, NodeMessage message);
    Bar& bar(const LockKey& key, const RequestId& request, Time until);

    Deadlines deadlines_;
    std::unordered_map<std::pair<LockKey, RequestId>, Bar, BarHash> bars_;
};

KeptRecord* Table::Impl::find(Time now, const LockKey& key) {
    const auto it = places_.find(key);
    if (it == places_.end() || !it->second.record.is_live(now)) return nullptr;  // T1
    return &it->second.record;
}

void Table::Impl::put(const LockKey& key, KeptRecord&& record) {
    const auto [it, is_new] = places_.try_emplace(key);
    Place& place = it->second;
    place.record = std::move(record);
    if (is_new) {
        place.key = &it->first;
        place.timer.owner = &place;
        place.timer.kind = of_place;
    }
    deadlines_.arm(place.timer, place.record.lease_end + place.record.delay);
}

void Table::Impl::changed(const LockKey& key, KeptRecord& record) {
    ++record.version;  // T10
    deadlines_.arm(places_.find(key)->second.timer, record.lease_end + record.delay);
}

void Table::Impl::erase(const LockKey& key) {
    const auto it = places_.find(key);
    deadlines_.disarm(it->second.timer);
    places_.erase(it);
}

void Table::Impl::tell(const NodeName& node, const NodeName& sender, NodeMessage message) {
    if (node != sender) told_.push_back({node, std::move(message)});
}

void Table::Impl::pass_to(const LockKey& key, KeptRecord& record, const NodeName& node, bool keep) {
    // The version is what changed() makes it.
    tell(record.node,
         node,
         {NodeMessage::Kind::moved, key, record.fence, RequestId{}, keep, record.version + 1});
    record.node = node;
}

Table::Impl::Bar& Table::Impl::bar(const LockKey& key, const RequestId& request, Time until) {
    const auto [it, is_new] = bars_.try_emplace({key, request});
    Bar& bar = it->second;
    if (is_new) {
        bar.key = &it->first;
        bar.timer.owner = &bar;
        bar.timer.kind = of_bar;
        bar.timer.due = until;
    }
    deadlines_.arm(bar.timer, std::max(bar.timer.due, until));
    return bar;
}

Reply Table::Impl::acquire(Time now, const Acquire& wish) {
    const auto barred = bars_.find({wish.key, wish.request});
    if (barred != bars_.end() && barred->second.timer.due > now &&
        barred->second.stops(wish.attempt)) {
        return {Status::cancelled, std::nullopt, {}, 0};  // T2
    }
    KeptRecord* const record = find(now, wish.key);
    if (record == nullptr) {
        return wish.join_only ? Reply{Status::held, std::nullopt, {}, 0} : grant(now, wish);
    }
    if (record->is_leased(now)) {
        KeptHold* const hold = record->find(wish.request);
        if (hold != nullptr &&
            (now < hold->adopt_until ||
             std::ranges::find(hold->attempts, wish.attempt) != hold->attempts.end())) {
            return adopt(now, wish, *record, *hold);
        }
        if (!wish.owner.empty() && wish.owner == record->owner) return reenter(now, wish, *record);
    }
    return held(*record, now);  // T5
}

Reply Table::Impl::grant(Time now, const Acquire& wish) {
    KeptRecord record;
    record.holds.push_back({wish.token, wish.request, {wish.attempt}, now + wish.retry_window});
    record.owner = wish.owner;
    record.fence = make_fence(epoch_, ++counter_);  // T6
    record.version = 1;
    record.ttl = wish.ttl;
    record.lease_end = now + wish.ttl;
    if (wish.hold_max) {
        record.hard_end = now + *wish.hold_max;
        record.lease_end = std::min(record.lease_end, *record.hard_end);
    }
    record.renew_max = wish.renew_max;
    record.delay = wish.delay;
    record.granted_at = now;
    record.node = wish.node;
    record.client = wish.client;
    Reply reply{Status::granted, to_record(wish.key, record, now), {}, 0};
    put(wish.key, std::move(record));
    return reply;
}

Reply Table::Impl::adopt(Time now, const Acquire& wish, KeptRecord& record, KeptHold& hold) {
    if (std::ranges::find(hold.attempts, wish.attempt) == hold.attempts.end()) {
        if (hold.attempts.size() >= attempts_per_hold_max) {
            return {Status::holds_full, std::nullopt, {}, record.fence};
        }
        hold.attempts.push_back(wish.attempt);
        hold.adopt_until = now + wish.retry_window;
    }
    pass_to(wish.key, record, wish.node, wish.keep);
    record.client = wish.client;
    changed(wish.key, record);
    return {Status::adopted, to_record(wish.key, record, now), {}, 0};
}

Reply Table::Impl::reenter(Time now, const Acquire& wish, KeptRecord& record) {
    if (record.holds.size() >= holds_per_lock_max) {
        return {Status::holds_full, std::nullopt, {}, record.fence};
    }
    record.holds.push_back({wish.token, wish.request, {wish.attempt}, now + wish.retry_window});
    Time end = now + wish.ttl;
    if (record.hard_end) end = std::min(end, *record.hard_end);
    record.lease_end = std::max(record.lease_end, end);
    record.ttl = wish.ttl;
    // A hold of its own: the other node's KEEP holders go on.
    pass_to(wish.key, record, wish.node, false);
    record.client = wish.client;
    changed(wish.key, record);
    return {Status::reentered, to_record(wish.key, record, now), {}, 0};
}

// Removes one hold; frees the lock with the last. The reply's record is the grant as it is now,
// or as it was when it ended.
Reply Table::Impl::take_out(Time now,
                            const LockKey& key,
                            KeptRecord& record,
                            const KeptHold& hold,
                            const NodeName& sender) {
    if (record.holds.size() > 1) {
        record.erase(hold);
        changed(key, record);
        return {Status::hold_removed, to_record(key, record, now), {}, 0};
    }
    Reply reply{Status::released, to_record(key, record, now), {}, 0};
    tell(record.node, sender, {NodeMessage::Kind::released, key, record.fence, RequestId{}, false});
    erase(key);
    return reply;
}

OperationReply Table::Impl::release(Time now, const Release& wish) {
    OperationReply answer;
    KeptRecord* const record = find(now, wish.key);
    if (record == nullptr) {
        answer.reply.status = Status::not_held;
    } else if (const KeptHold* const hold = record->find(wish.token); hold != nullptr) {
        answer.reply = take_out(now, wish.key, *record, *hold, wish.node);  // T7
    } else if (record->is_leased(now)) {
        answer.reply = {Status::held_by_other, std::nullopt, {}, record->fence};
    } else {
        answer.reply.status = Status::not_held;  // in somebody's DELAY
    }
    if (wish.then) answer.then = acquire(now, *wish.then);
    return answer;
}

Reply Table::Impl::renew(Time now, const Renew& wish) {
    KeptRecord* const record = find(now, wish.key);
    if (record == nullptr || !record->is_leased(now)) {
        return {Status::not_held, std::nullopt, {}, 0};
    }
    if (record->find(wish.token) == nullptr) {
        return {Status::held_by_other, std::nullopt, {}, record->fence};
    }
    if (record->renew_max != 0 && record->renewals >= record->renew_max) {
        return {Status::renew_limit, to_record(wish.key, *record, now), {}, record->fence};
    }
    if (wish.ttl) record->ttl = *wish.ttl;
    Time end = now + record->ttl;
    if (record->hard_end) end = std::min(end, *record->hard_end);
    record->lease_end = std::max(record->lease_end, end);  // T8
    ++record->renewals;
    pass_to(wish.key, *record, wish.node, wish.keep);
    changed(wish.key, *record);
    return {Status::renewed, to_record(wish.key, *record, now), {}, 0};
}

Reply Table::Impl::undo(Time now, const Undo& wish) {
    if (wish.tombstone) {
        bar(wish.key, wish.request, now + *wish.tombstone).attempts.push_back(wish.attempt);
    }
    KeptRecord* const record = find(now, wish.key);
    KeptHold* const hold = record == nullptr ? nullptr : record->find(wish.request);
    if (hold == nullptr ||
        std::ranges::find(hold->attempts, wish.attempt) == hold->attempts.end()) {
        return {};  // T9
    }
    Reply reply;
    if (hold->attempts.size() == 1) {
        reply = take_out(now, wish.key, *record, *hold, wish.node);
    } else {
        std::erase(hold->attempts, wish.attempt);
        changed(wish.key, *record);
        reply.record = to_record(wish.key, *record, now);
    }
    reply.status = Status::undone;
    return reply;
}

Reply Table::Impl::cancel(Time now, const Cancel& wish) {
    bar(wish.key, wish.request, now + wish.bar).everything = true;
    told_.push_back({NodeName{}, {NodeMessage::Kind::cancelled, wish.key, 0, wish.request, false}});
    KeptRecord* const record = find(now, wish.key);
    const KeptHold* const hold = record == nullptr ? nullptr : record->find(wish.request);
    if (hold == nullptr) return {};
    Reply reply = take_out(now, wish.key, *record, *hold, wish.node);
    reply.status = Status::ended;
    return reply;
}

Reply Table::Impl::force(Time now, const Force& wish) {
    KeptRecord* const record = find(now, wish.key);
    if (record == nullptr || (wish.fence && *wish.fence != record->fence)) return {};
    Reply reply{Status::ended, to_record(wish.key, *record, now), {}, record->fence};
    tell(record->node,
         wish.node,
         {NodeMessage::Kind::forced, wish.key, record->fence, RequestId{}, false});
    erase(wish.key);
    return reply;
}

Reply Table::Impl::inspect(Time now, const Inspect& wish) {
    const KeptRecord* const record = find(now, wish.key);
    if (record == nullptr) return {Status::not_held, std::nullopt, {}, 0};
    return {Status::found, to_record(wish.key, *record, now), {}, record->fence};
}

Reply Table::Impl::restore(Time now, const Restore& wish) {
    KeptRecord wanted = keep(wish.record, now);
    if (!wanted.is_live(now)) return {Status::not_held, std::nullopt, {}, 0};
    if (KeptRecord* const record = find(now, wish.record.key); record != nullptr) {
        const bool own = std::ranges::any_of(wanted.holds, [&](const KeptHold& hold) {
            return record->find(hold.token) != nullptr;
        });
        if (!own) return held(*record, now);
        return {Status::restored, to_record(wish.record.key, *record, now), {}, 0};
    }
    if (wish.keep_fence) {
        if (epoch_of(wanted.fence) == epoch_) {
            counter_ = std::max(counter_, counter_of(wanted.fence));
        }
    } else {
        wanted.fence = make_fence(epoch_, ++counter_);
        wanted.version = 1;
    }
    Reply reply{Status::restored, to_record(wish.record.key, wanted, now), {}, 0};
    put(wish.record.key, std::move(wanted));
    return reply;
}

// Pages go by the order of the keys' hashes, so that a lock that stays is never left out whatever
// comes and goes meanwhile. A page looks at every lock: LOCKS is for people.
OperationReply Table::Impl::list(Time now, const List& wish) {
    std::vector<std::pair<std::uint64_t, const Place*>> rest;
    for (const auto& [key, place] : places_) {
        const std::uint64_t hash = std::hash<LockKey>{}(key) >> 1;
        if (hash >= wish.cursor && place.record.is_live(now)) rest.emplace_back(hash, &place);
    }
    std::ranges::sort(rest);
    OperationReply answer;
    answer.reply.status = Status::listed;
    std::size_t taken = 0;
    for (const auto& [hash, place] : rest) {
        if (taken >= wish.count && hash != rest[taken - 1].first) {
            answer.cursor = hash;
            break;
        }
        ++taken;
        const std::string name = place->key->resource.str() + ":" + place->key->id.str();
        if (wish.pattern.empty() || glob_matches(wish.pattern, name)) {
            answer.rows.push_back(to_record(*place->key, place->record, now));
        }
    }
    return answer;
}

void Table::Impl::expire(Time now) {
    while (Timer* const timer = deadlines_.pop(now)) {
        if (timer->kind == of_place) {
            const LockKey key = *static_cast<Place*>(timer->owner)->key;
            places_.erase(key);
        } else {
            const auto key = *static_cast<Bar*>(timer->owner)->key;
            bars_.erase(key);
        }
    }
}

Table::Table(Epoch epoch, std::uint32_t counter) : impl_(std::make_unique<Impl>(epoch, counter)) {}
Table::~Table() = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(Table&&) noexcept = default;

OperationReply Table::apply(Time now, const Operation& operation) {
    impl_->expire(now);
    struct Visitor {
        Impl& impl;
        Time now;
        OperationReply operator()(const Acquire& o) const {
            return {impl.acquire(now, o), {}, {}, 0};
        }
        OperationReply operator()(const Release& o) const { return impl.release(now, o); }
        OperationReply operator()(const Renew& o) const { return {impl.renew(now, o), {}, {}, 0}; }
        OperationReply operator()(const Undo& o) const { return {impl.undo(now, o), {}, {}, 0}; }
        OperationReply operator()(const Cancel& o) const {
            return {impl.cancel(now, o), {}, {}, 0};
        }
        OperationReply operator()(const Force& o) const { return {impl.force(now, o), {}, {}, 0}; }
        OperationReply operator()(const Inspect& o) const {
            return {impl.inspect(now, o), {}, {}, 0};
        }
        OperationReply operator()(const Restore& o) const {
            return {impl.restore(now, o), {}, {}, 0};
        }
        OperationReply operator()(const List& o) const { return impl.list(now, o); }
    };
    return std::visit(Visitor{*impl_, now}, operation);
}

std::vector<Table::Told> Table::take_told() noexcept { return std::exchange(impl_->told_, {}); }
void Table::expire(Time now) { impl_->expire(now); }
std::size_t Table::size() const noexcept { return impl_->places_.size(); }
void Table::begin_epoch(Epoch epoch) noexcept {
    impl_->epoch_ = epoch;
    impl_->counter_ = 0;
}

std::uint32_t Table::counter() const noexcept { return impl_->counter_; }
Epoch Table::epoch() const noexcept { return impl_->epoch_; }

}  // namespace latchd::core
