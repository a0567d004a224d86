// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "uuid.hpp"

#include <latchd/core/authority/machine.hpp>

#include <algorithm>
#include <utility>

// A store lost its right to grant when it is another process, took another's data over, lost its
// marker or its record, let its counter fall, or had its clock stepped: all are one event and get
// one answer, a new epoch. Nothing is inferred from what went before on another connection: each
// decision is made from (identity, record, marker, what is known), so an answer that was lost is
// simply looked up again.
//
// The record lives in the very store it speaks of. So a settling record may be an old copy of one
// that was opened later (restart from an old snapshot): a settling epoch is opened only by the
// process that it was settled on, else the next epoch is settled.
namespace latchd::core::authority {

Machine::Machine(MachineOptions options, Known known, NameSource& names)
    : options_(options), known_(std::move(known)), highest_(known_.epoch), names_(names) {}

void Machine::step(Moment at, AuthorityEvent&& event, AuthorityActions& out) {
    std::visit([&](auto&& e) { on(at, std::move(e), out); }, std::move(event));
}

std::optional<Time> Machine::next_deadline() const noexcept {
    if (state_ == State::waiting) return std::min(next_look_, settling_->open_from);
    if (state_ == State::pausing) return next_look_;
    return std::nullopt;
}

// ---- events ----------------------------------------------------------------------------------

void Machine::on(Moment, Identified&& event, AuthorityActions& out) {
    identity_ = std::move(event.identity);
    if (identity_.role == Role::replica) {
        const std::string reason = "the server is a replica";
        stop(reason, false, out);
        state_ = State::away;
        out.emplace_back(DropConnection{reason});
        return;
    }
    switch (state_) {
        case State::away:
        case State::pausing:
            look(false, out);
            return;
        case State::serving:
            // With each probe: still the recorded process. Else the record decides what follows.
            if (!is_same_store(served_->store)) {
                stop("the server is another process", true, out);
                look(false, out);
            }
            return;
        case State::looking:  // the answer that is under way decides with this identity
        case State::waiting:  // the next look decides with it
            return;
    }
}

void Machine::on(Moment, ConnectionLost&& event, AuthorityActions& out) {
    stop(std::move(event.reason), false, out);
    state_ = State::away;
}

void Machine::on(Moment at, Seen&& event, AuthorityActions& out) {
    switch (state_) {
        case State::away:     // ignored because it is of a connection that is lost
        case State::serving:  // ignored because nobody asked
        case State::waiting:  // ignored because nobody asked
        case State::pausing:  // ignored because nobody asked
            return;
        case State::looking:
            decide(at, event.sight, out);
            return;
    }
}

void Machine::on(Moment at, AttemptFailed&& event, AuthorityActions& out) {
    // In any other state ignored because nothing is outstanding.
    if (state_ == State::looking) pause(at, std::move(event.text), out);
}

void Machine::on(Moment, Doubted&& event, AuthorityActions& out) {
    // In any other state ignored because the truth is being looked up already, or comes with the
    // next connection.
    if (state_ != State::serving) return;
    // The identity may have changed for both kinds. Serving ends only if the look says so: a
    // flushed script cache is no reason.
    (void)event;
    look(true, out);
}

void Machine::on(Moment, ClockJumped&& event, AuthorityActions& out) {
    // In any other state ignored because offsets are measured anew for whatever is served next.
    if (state_ == State::serving) ask_for_epoch("clock: " + event.text, out);
}

void Machine::on(Moment, CounterSeen&& event, AuthorityActions& out) {
    // In any other state ignored because it is of an epoch that is not served any more.
    if (state_ != State::serving) return;
    counter_seen_ = std::max(counter_seen_, event.counter);
    if (counter_seen_ >= counter_full) ask_for_epoch("the fence counter is nearly full", out);
}

void Machine::on(Moment at, TimeCame&&, AuthorityActions& out) {
    switch (state_) {
        case State::away:     // ignored because there is nobody to ask
        case State::looking:  // ignored because the answer is under way
        case State::serving:  // ignored because no deadline runs
            return;
        case State::waiting:
            if (at.now >= std::min(next_look_, settling_->open_from)) look(false, out);
            return;
        case State::pausing:
            // The identity again: what was refused may have been refused by a replica.
            if (at.now >= next_look_) look(true, out);
            return;
    }
}

// ---- decisions -------------------------------------------------------------------------------

void Machine::decide(Moment at, const Sight& sight, AuthorityActions& out) {
    if (auto text = foreign_marker(sight); !text.empty()) return pause(at, std::move(text), out);
    if (!sight.record) {
        return begin(at, sight, sight.marker ? "the record is missing" : "no record", out);
    }
    const Record& record = *sight.record;
    if (record.epoch == 0 || record.epoch > epoch_max) {
        return pause(
            at, "the authority record is damaged: epoch " + std::to_string(record.epoch), out);
    }
    take_over_uuid(record, out);
    const bool is_open = record.state == RecordState::open;
    std::string reason = is_open ? why_not_serve(sight) : why_not_settling(record);
    if (!reason.empty()) return begin(at, sight, std::move(reason), out);
    highest_ = std::max(highest_, record.epoch);
    if (is_open) return serve(sight, out);
    wait_or_open(at, sight, out);
}

std::string Machine::foreign_marker(const Sight& sight) const {
    if (!sight.marker) return {};
    const ClusterUuid& ours = sight.record ? sight.record->uuid : known_.uuid;
    if (ours.empty() || sight.marker->uuid == ours) return {};
    return "the store's marker belongs to cluster " + sight.marker->uuid.str() + ", ours is " +
           ours.str() + ": give each cluster its own name or database";
}

std::string Machine::why_not_settling(const Record& record) const {
    if (!is_same_store(record.store)) return "another process since it was settled";
    if (record.epoch <= known_.epoch) {
        // By a node that does not know it: its fences would be given a second time.
        return "epoch " + std::to_string(record.epoch) + " was open before";
    }
    if (record.epoch < highest_)
        return "the record is older than epoch " + std::to_string(highest_);
    return {};
}

std::string Machine::why_not_serve(const Sight& sight) const {
    const Record& record = *sight.record;
    if (record.store.run_id != identity_.run_id) return "another process";
    if (!is_same_store(record.store)) return "the server took another's data over";
    if (record.epoch < highest_)
        return "the record is older than epoch " + std::to_string(highest_);
    if (!sight.marker) return "the marker is missing";
    const Marker& marker = *sight.marker;
    if (marker.epoch != record.epoch || marker.nonce != record.nonce ||
        marker.run_id != record.store.run_id) {
        return "the marker is of another opening";
    }
    const bool was_served = last_served_ && last_served_->epoch == record.epoch;
    if (was_served && last_served_->nonce != record.nonce) {
        return "the epoch was opened a second time";
    }
    if (was_served && marker.counter < counter_seen_) return "the fence counter went back";
    if (wish_ && wish_->after == record.epoch) return wish_->reason;
    return {};
}

// Settles the next epoch.
void Machine::begin(Moment at, const Sight& sight, std::string reason, AuthorityActions& out) {
    const Epoch recorded =
        std::max(sight.record ? sight.record->epoch : 0, sight.marker ? sight.marker->epoch : 0);
    const EpochChoice choice = choose_epoch(
        {.recorded = recorded, .has_record = sight.record.has_value(), .known = highest_}, at.wall);
    if (choice.epoch == 0) return pause(at, choice.refusal, out);
    Record next{.uuid = uuid_for(sight),
                .epoch = choice.epoch,
                .state = RecordState::settling,
                .nonce = Nonce(names_.draw()),
                .store = identity_,
                .reason = std::move(reason)};
    // Nobody here knows this cluster, so no lock of it can be lost.
    first_settle_.reset();
    if (recorded == 0 && highest_ == 0) first_settle_ = next.nonce;
    stop("settling epoch " + std::to_string(next.epoch) + ": " + next.reason, true, out);
    out.emplace_back(Notice{Notice::Level::info,
                            "authority.settling",
                            "epoch " + std::to_string(next.epoch) + ": " + next.reason});
    out.emplace_back(Settle{sight.record, std::move(next)});
    state_ = State::looking;
}

void Machine::wait_or_open(Moment at, const Sight& sight, AuthorityActions& out) {
    const Record& record = *sight.record;
    stop("settling epoch " + std::to_string(record.epoch) + ": " + record.reason, true, out);
    if (!settling_ || settling_->epoch != record.epoch || settling_->nonce != record.nonce) {
        const bool at_once = first_settle_ == record.nonce;
        settling_ =
            Settling{record.epoch, record.nonce, at_once ? at.now : at.now + options_.settle_grace};
    }
    if (at.now < settling_->open_from) {
        next_look_ = at.now + options_.settling_read;
        state_ = State::waiting;
        return;
    }
    // Should the compare-and-set fail because the marker moved, the next one is no sooner than a
    // read of the settling record would be.
    settling_->open_from = at.now + options_.settling_read;
    Record next = record;
    next.state = RecordState::open;
    next.nonce = Nonce(names_.draw());
    next.store = identity_;
    own_open_ = next.nonce;
    const std::uint32_t counter = counter_start(record.epoch, at.wall);
    out.emplace_back(Open{record, sight.marker, std::move(next), counter});
    state_ = State::looking;
}

void Machine::serve(const Sight& sight, AuthorityActions& out) {
    const Record& record = *sight.record;
    const bool same =
        last_served_ && last_served_->epoch == record.epoch && last_served_->nonce == record.nonce;
    // Opened by another node before this one saw it settling.
    if (served_ && !same) stop("epoch " + std::to_string(record.epoch) + " was opened", true, out);
    if (!same) counter_seen_ = 0;
    counter_seen_ = std::max(counter_seen_, sight.marker->counter);
    served_ = record;
    last_served_ = record;
    settling_.reset();
    wish_.reset();
    stopped_for_.clear();
    state_ = State::serving;
    const Known known{record.uuid, record.epoch};
    if (!(known == known_)) {
        known_ = known;
        out.emplace_back(SaveKnown{known});
    }
    out.emplace_back(Serve{.record = record,
                           .counter = counter_seen_,
                           .won = !same && own_open_ == record.nonce,
                           .same_epoch = same});
}

void Machine::take_over_uuid(const Record& record, AuthorityActions& out) {
    if (known_.uuid.empty() || known_.uuid == record.uuid) return;
    out.emplace_back(Notice{Notice::Level::error,
                            "authority.uuid_changed",
                            "the store's record is of cluster " + record.uuid.str() +
                                ", this node knew " + known_.uuid.str() +
                                "; the store's is taken over"});
    known_.uuid = record.uuid;
    out.emplace_back(SaveKnown{known_});
}

bool Machine::is_same_store(const Identity& recorded) const {
    // A changed replid alone is a replica that came or a backlog that went: nothing is lost.
    return identity_.run_id == recorded.run_id &&
           (identity_.replid2.empty() || identity_.replid2 == recorded.replid2);
}

ClusterUuid Machine::uuid_for(const Sight& sight) {
    if (sight.record) return sight.record->uuid;
    if (!known_.uuid.empty()) return known_.uuid;
    if (sight.marker) return sight.marker->uuid;
    return ClusterUuid(uuid_from(names_.draw()));
}

// ---- what several of them do -----------------------------------------------------------------

void Machine::stop(std::string reason, bool settling, AuthorityActions& out) {
    if (!served_ && reason == stopped_for_) return;
    served_.reset();
    stopped_for_ = reason;
    out.emplace_back(StopServing{std::move(reason), settling});
}

void Machine::pause(Moment at, std::string reason, AuthorityActions& out) {
    if (served_ || reason != stopped_for_) {
        out.emplace_back(Notice{Notice::Level::error, "authority.refused", reason});
    }
    stop(std::move(reason), false, out);
    next_look_ = at.now + options_.retry;
    state_ = State::pausing;
}

void Machine::look(bool with_identity, AuthorityActions& out) {
    out.emplace_back(LookUp{with_identity});
    state_ = State::looking;
}

void Machine::ask_for_epoch(std::string reason, AuthorityActions& out) {
    wish_ = Wish{served_->epoch, std::move(reason)};
    look(true, out);
}

}  // namespace latchd::core::authority
