// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "table_impl.hpp"

#include <latchd/base/glob.hpp>

#include <algorithm>
#include <utility>

namespace latchd::core {
namespace {

Reply held(const KeptRecord& record, Time now) {
    return {Status::held, std::nullopt, record.lease_end + record.delay - now, record.fence};
}

// With the record as it is now.
Reply told(
    Status status, const LockKey& key, const KeptRecord& record, Time now, Fence fence_seen = 0) {
    Reply reply;
    reply.status = status;
    fill(reply.record.emplace(), key, record, now);
    reply.fence_seen = fence_seen;
    return reply;
}

}  // namespace

// What is packed is unpacked. The place stays as it is until pack_some().
Table::Impl::Place* Table::Impl::place_of(const LockKey& key) {
    if (const auto it = places_.find(key); it != places_.end()) return &changeable(*it);
    PackedLock* const packed = packed_.find(key);
    if (packed == nullptr) return nullptr;
    Place& place = add_place(key);
    LockKey same;
    (void)packed_.read(*packed, same, place.record);
    deadlines_.replace(*packed, place);
    packed_.erase(*packed);
    return &place;
}

// The same, or a new one. Precondition: it is not packed.
Table::Impl::Place& Table::Impl::add_place(const LockKey& key) {
    const auto [it, is_new] = places_.emplace(key);
    if (is_new) line_.add(changeable(*it));
    return changeable(*it);
}

// The longest unused of those that are too many become bytes.
void Table::Impl::pack_some() {
    for (int i = 0; i < packed_at_once && places_.size() > unpacked_max_; ++i) {
        Place& oldest = line_.front();
        line_.remove(oldest);
        if (!PackedLocks::takes(oldest.record)) {
            line_.add(oldest);
            continue;
        }
        const ByteWriter bytes = packed_.begin(oldest.key, oldest.record);
        deadlines_.replace(oldest, packed_.add(oldest.record, bytes));
        places_.erase(places_.find(oldest.key));
    }
}

KeptRecord* Table::Impl::find(Time now, const LockKey& key) {
    Place* const place = place_of(key);
    if (place == nullptr || !place->record.is_live(now)) return nullptr;  // T1
    return &place->record;
}

void Table::Impl::put(const LockKey& key, KeptRecord&& record) {
    Place& place = add_place(key);
    place.record = std::move(record);
    deadlines_.arm(place, place.record.lease_end + place.record.delay);
}

void Table::Impl::changed(const LockKey& key, KeptRecord& record) {
    ++record.version;  // T10
    deadlines_.arm(changeable(*places_.find(key)), record.lease_end + record.delay);
}

void Table::Impl::erase(const LockKey& key) {
    const auto it = places_.find(key);
    deadlines_.disarm(changeable(*it));
    line_.remove(changeable(*it));
    places_.erase(it);
}

void Table::Impl::tell(const NodeName& node, const NodeName& sender, NodeMessage message) {
    if (node != sender) told_.push_back({node, std::move(message)});
}

// `kept`: of the hold that this node renews from now on.
void Table::Impl::pass_to(const LockKey& key,
                          KeptRecord& record,
                          const NodeName& node,
                          const Token* kept) {
    // The version is what changed() makes it.
    NodeMessage message{NodeMessage::Kind::moved, key, record.fence, RequestId{}};
    message.version = record.version + 1;
    message.keep = kept != nullptr;
    if (message.keep) message.hold = token_tail(*kept);
    tell(record.node, node, std::move(message));
    if (record.node != node) record.node = names_.nodes.share(node);
}

Table::Impl::Bar& Table::Impl::bar(const LockKey& key, const RequestId& request, Time until) {
    const auto [it, is_new] = bars_.try_emplace({key, request});
    Bar& bar = it->second;
    if (is_new) bar.key = &it->first;
    bar.until = std::max(bar.until, until);
    deadlines_.arm(bar, bar.until);
    return bar;
}

Reply Table::Impl::acquire(Time now, const Acquire& wish, Turn turn) {
    // Mostly there is none at all, and a look-up costs a copy of the names.
    const auto barred = bars_.empty() ? bars_.end() : bars_.find({wish.key, wish.request});
    if (barred != bars_.end() && barred->second.until > now && barred->second.stops(wish.attempt)) {
        return {Status::cancelled, std::nullopt, {}, 0};  // T2
    }
    KeptRecord* const record = find(now, wish.key);
    if (record == nullptr) {
        return wish.join_only ? Reply{Status::held, std::nullopt, {}, 0}
                              : acquire_free(now, wish, turn);
    }
    if (record->is_leased(now)) {
        if (KeptHold* const own = record->find(wish.attempt); own != nullptr) {
            return adopt(now, wish, *record, *own);
        }
        KeptHold* const hold = record->find(wish.request);
        if (hold != nullptr && now < hold->adopt_until) return adopt(now, wish, *record, *hold);
        if (!wish.owner.empty() && wish.owner == record->owner) return reenter(now, wish, *record);
    }
    return refuse(now, wish, held(*record, now));  // T5
}

Reply Table::Impl::grant(Time now, const Acquire& wish) {
    step_out(wish.key, wish.node);
    Place& place = add_place(wish.key);
    KeptRecord& record = place.record;
    if (record.version != 0) record = {};
    record.holds.emplace_back(
        wish.token, wish.request, Few<Attempt>{wish.attempt}, now + wish.retry_window);
    record.owner = wish.owner;
    record.fence = make_fence(epoch_, ++counter_);  // T6
    record.version = 1;
    record.ttl = wish.ttl;
    record.lease_end = now + wish.ttl;
    if (wish.hold_max) {
        record.hard_end = now + *wish.hold_max;
        record.lease_end = std::min(record.lease_end, record.hard_end);
    }
    record.renew_max = wish.renew_max;
    record.delay = wish.delay;
    record.granted_at = now;
    record.node = names_.nodes.share(wish.node);
    record.client = names_.clients.share(wish.client);
    deadlines_.arm(place, record.lease_end + record.delay);
    return told(Status::granted, wish.key, record, now);
}

Reply Table::Impl::adopt(Time now, const Acquire& wish, KeptRecord& record, KeptHold& hold) {
    if (std::ranges::find(hold.attempts, wish.attempt) == hold.attempts.end()) {
        if (hold.attempts.size() >= attempts_per_hold_max) {
            return {Status::holds_full, std::nullopt, {}, record.fence};
        }
        hold.attempts.push_back(wish.attempt);
        hold.adopt_until = now + wish.retry_window;
    }
    pass_to(wish.key, record, wish.node, wish.keep ? &hold.token : nullptr);
    record.client = names_.clients.share(wish.client);
    changed(wish.key, record);
    return told(Status::adopted, wish.key, record, now);
}

Reply Table::Impl::reenter(Time now, const Acquire& wish, KeptRecord& record) {
    if (record.holds.size() >= holds_per_lock_max) {
        return {Status::holds_full, std::nullopt, {}, record.fence};
    }
    if (KeptHold* const former = record.find(wish.request)) former->request = RequestId{};
    record.holds.push_back({wish.token, wish.request, {wish.attempt}, now + wish.retry_window});
    const Time end = std::min(now + wish.ttl, record.hard_end);
    record.lease_end = std::max(record.lease_end, end);
    record.ttl = wish.ttl;
    // A hold of its own: the other node's KEEP holders go on.
    pass_to(wish.key, record, wish.node);
    record.client = names_.clients.share(wish.client);
    changed(wish.key, record);
    return told(Status::reentered, wish.key, record, now);
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
        if (record.is_leased(now)) pass_to(key, record, sender);
        changed(key, record);
        return told(Status::hold_removed, key, record, now);
    }
    tell(record.node, sender, {NodeMessage::Kind::released, key, record.fence, RequestId{}, false});
    Reply reply = told(Status::released, key, record, now);
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
    const bool is_free = answer.reply.status == Status::released;
    const bool goes_first = is_free && !wish.yields;
    if (is_free && !(wish.then && goes_first)) offer(now, wish.key, wish.node);
    if (!wish.then) return answer;
    answer.then = acquire(now, *wish.then, goes_first ? Turn::taken : Turn::waited_for);
    if (goes_first && answer.then->status != Status::granted) offer(now, wish.key, wish.node);
    return answer;
}

Reply Table::Impl::renew(Time now, const Renew& wish) {
    KeptRecord* const record = find(now, wish.key);
    if (record == nullptr || !record->is_leased(now)) {
        return {Status::not_held, std::nullopt, {}, 0};
    }
    KeptHold* const hold = record->find(wish.token);
    if (hold == nullptr) return {Status::held_by_other, std::nullopt, {}, record->fence};
    const bool joins =
        wish.stands && std::ranges::find(hold->attempts, *wish.stands) == hold->attempts.end();
    if (joins && hold->attempts.size() >= attempts_per_hold_max) {
        return {Status::holds_full, std::nullopt, {}, record->fence};
    }
    if (record->renew_max != 0 && record->renewals >= record->renew_max) {
        return told(Status::renew_limit, wish.key, *record, now, record->fence);
    }
    if (joins) hold->attempts.push_back(*wish.stands);
    if (wish.ttl) record->ttl = *wish.ttl;
    const Time end = std::min(now + record->ttl, record->hard_end);
    record->lease_end = std::max(record->lease_end, end);  // T8
    ++record->renewals;
    pass_to(wish.key, *record, wish.node, wish.keep ? &wish.token : nullptr);
    changed(wish.key, *record);
    return told(Status::renewed, wish.key, *record, now);
}

Reply Table::Impl::undo(Time now, const Undo& wish) {
    if (wish.tombstone) {
        bar(wish.key, wish.request, now + *wish.tombstone).attempts.push_back(wish.attempt);
    }
    KeptRecord* const record = find(now, wish.key);
    KeptHold* const hold = record == nullptr ? nullptr : record->find(wish.attempt);
    if (hold == nullptr) return {};  // T9
    Reply reply;
    if (hold->attempts.size() == 1) {
        reply = take_out(now, wish.key, *record, *hold, wish.node);
        if (reply.status == Status::hold_removed) return reply;
        offer(now, wish.key, wish.node);
    } else {
        hold->attempts.erase(std::ranges::find(hold->attempts, wish.attempt));
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
    if (reply.status == Status::released) offer(now, wish.key, wish.node);
    reply.status = Status::ended;
    return reply;
}

Reply Table::Impl::force(Time now, const Force& wish) {
    KeptRecord* const record = find(now, wish.key);
    if (record == nullptr || (wish.fence && *wish.fence != record->fence)) return {};
    Reply reply = told(Status::ended, wish.key, *record, now, record->fence);
    tell(record->node,
         wish.node,
         {NodeMessage::Kind::forced, wish.key, record->fence, RequestId{}, false});
    erase(wish.key);
    offer(now, wish.key, wish.node);
    return reply;
}

Reply Table::Impl::inspect(Time now, const Inspect& wish) {
    const KeptRecord* const record = find(now, wish.key);
    if (record == nullptr) return {Status::not_held, std::nullopt, {}, 0};
    return told(Status::found, wish.key, *record, now, record->fence);
}

// T2: what was cancelled or undone does not come back with its record.
void Table::Impl::leave_out_barred(Time now, const LockKey& key, KeptRecord& record) const {
    record.holds.erase_if([&](KeptHold& hold) {
        const auto barred = bars_.find({key, hold.request});
        if (barred == bars_.end() || barred->second.until <= now) return false;
        hold.attempts.erase_if([&](const Attempt& a) { return barred->second.stops(a); });
        return hold.attempts.empty();
    });
}

Reply Table::Impl::restore(Time now, const Restore& wish) {
    KeptRecord wanted = keep(wish.record, now, &names_);
    leave_out_barred(now, wish.record.key, wanted);
    if (wanted.holds.empty() || !wanted.is_live(now)) {
        return {Status::not_held, std::nullopt, {}, 0};
    }
    if (KeptRecord* const record = find(now, wish.record.key); record != nullptr) {
        const bool own = std::ranges::any_of(wanted.holds, [&](const KeptHold& hold) {
            return record->find(hold.token) != nullptr;
        });
        if (own) return told(Status::restored, wish.record.key, *record, now);
        if (wanted.fence <= record->fence) return held(*record, now);
        // It had ended when the wanted grant was given: it was carried by mistake.
        tell(record->node,
             wanted.node,
             {NodeMessage::Kind::released, wish.record.key, record->fence, RequestId{}, false});
    }
    if (wish.keep_fence) {
        if (epoch_of(wanted.fence) == epoch_) {
            counter_ = std::max(counter_, counter_of(wanted.fence));
        }
    } else {
        wanted.fence = make_fence(epoch_, ++counter_);
        wanted.version = 1;
    }
    Reply reply = told(Status::restored, wish.record.key, wanted, now);
    put(wish.record.key, std::move(wanted));
    return reply;
}

// Pages go by the order of the keys' hashes, so that a lock that stays is never left out whatever
// comes and goes meanwhile. A page looks at every lock: LOCKS is for people.
OperationReply Table::Impl::list(Time now, const List& wish) {
    std::vector<std::pair<std::uint64_t, const Timer*>> rest;
    const auto consider = [&](const LockKey& key, const Timer& timer) {
        const std::uint64_t hash = std::hash<LockKey>{}(key) >> 1;
        if (hash >= wish.cursor && deadlines_.due_of(timer) > now) rest.emplace_back(hash, &timer);
    };
    for (const Place& place : places_) consider(place.key, place);
    for (const PackedLock* const packed : packed_) consider(packed->key(), *packed);
    std::ranges::sort(rest);
    OperationReply answer;
    answer.reply.status = Status::listed;
    std::size_t taken = 0;
    for (const auto& [hash, timer] : rest) {
        if (taken >= wish.count && hash != rest[taken - 1].first) {
            answer.cursor = hash;
            break;
        }
        ++taken;
        const bool is_packed = timer->kind == of_packed;
        const auto* const packed = is_packed ? static_cast<const PackedLock*>(timer) : nullptr;
        const LockKey key = is_packed ? packed->key() : static_cast<const Place*>(timer)->key;
        const std::string name = key.resource.str() + ":" + key.id.str();
        if (!wish.pattern.empty() && !glob_matches(wish.pattern, name)) continue;
        answer.rows.push_back(to_record(key, place_of(key)->record, now));
    }
    return answer;
}

void Table::Impl::expire(Time now) {
    while (Timer* const timer = deadlines_.pop(now)) {
        if (timer->kind == of_place) {
            Place& place = *static_cast<Place*>(timer);
            line_.remove(place);
            places_.erase(places_.find(place.key));
        } else if (timer->kind == of_packed) {
            packed_.erase(*static_cast<PackedLock*>(timer));
        } else if (timer->kind == of_queue) {
            const LockKey key = *static_cast<Queue*>(timer)->key;
            queues_.erase(key);
        } else {
            const auto key = *static_cast<Bar*>(timer)->key;
            bars_.erase(key);
        }
    }
}

Table::Table(Epoch epoch, std::uint32_t counter, std::size_t unpacked_max)
    : impl_(std::make_unique<Impl>(epoch, counter, unpacked_max)) {}
Table::~Table() = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(Table&&) noexcept = default;

OperationReply Table::apply(Time now, const Operation& operation) {
    impl_->expire(now);
    impl_->pack_some();
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
        OperationReply operator()(const StepOut& o) const {
            return {impl.step_out(now, o), {}, {}, 0};
        }
    };
    return std::visit(Visitor{*impl_, now}, operation);
}

std::vector<Table::Told> Table::take_told() noexcept { return std::exchange(impl_->told_, {}); }
void Table::expire(Time now) { impl_->expire(now); }
std::size_t Table::size() const noexcept { return impl_->size(); }
void Table::begin_epoch(Epoch epoch) noexcept {
    impl_->epoch_ = epoch;
    impl_->counter_ = 0;
}

std::uint32_t Table::counter() const noexcept { return impl_->counter_; }
Epoch Table::epoch() const noexcept { return impl_->epoch_; }

}  // namespace latchd::core
