// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

// What the arbiter shows, and whom this node counts as lost: rules 1, 2, 5 and 7.
namespace latchd::core::authority {

namespace {

// Who looks at a node's beat looks at it so much later than the node set it, at most; and what a
// reading of the clock may be wrong by.
constexpr Duration judge_margin = std::chrono::milliseconds(100);
// Readings of the arbiter's clock that agree count if they are so far apart.
constexpr Duration readings_apart = std::chrono::milliseconds(350);
// Between the kept offset and the first reading: drift since, and half a round trip.
constexpr Duration kept_off_max = std::chrono::milliseconds(50);
// A step, and what the reading that set the offset may be wrong by.
constexpr Duration behind_min = ClockOffset::jump_min + ClockOffset::round_trip_max / 2;

Duration scaled(Duration duration, double by) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(duration.count()) * by));
}

// As LATCHD NODES and INFO write it.
std::string text_of(Incarnation incarnation) {
    std::array<char, 17> text{};
    (void)std::snprintf(text.data(), text.size(), "%016" PRIx64, incarnation);
    return text.data();
}

}  // namespace

Duration Fleet::Impl::lease_of_view() const noexcept {
    return scaled(options_.view_lease, 1.0 - 2 * options_.drift);
}

// By the judge's clock, what a view lease takes at most by the judged one's.
Duration Fleet::Impl::judged_lease() const noexcept {
    return scaled(options_.view_lease, 1.0 + 2 * options_.drift) + judge_margin;
}

bool Fleet::Impl::is_lost(Incarnation incarnation) const {
    const auto it = judged_.find(incarnation);
    return it != judged_.end() && it->second.lost_since.has_value();
}

const NodeRow* Fleet::Impl::own_row() const {
    const auto it = std::ranges::find(view_.nodes, options_.incarnation, &NodeRow::incarnation);
    return it == view_.nodes.end() ? nullptr : &*it;
}

// Rule 2: the arbiter has an identity too.
bool Fleet::Impl::is_another_arbiter() const {
    if (omits(Rule::arbiter_identity) || !view_.record) return false;
    const Identity& recorded = view_.record->arbiter;
    return view_.arbiter.run_id != recorded.run_id ||
           (!view_.arbiter.replid2.empty() && view_.arbiter.replid2 != recorded.replid2);
}

// Rules 2 and 7: what it shows is not what the fleet agreed on last.
bool Fleet::Impl::is_forgetful() const {
    if (!has_view_ || !view_.record) return false;
    const bool is_lower = view_.record->epoch < highest_ && !omits(Rule::epoch_rises);
    return is_lower || is_another_arbiter();
}

void Fleet::Impl::see(Purpose purpose, ArbiterReply&& reply, Time sent, Time received) {
    // Of two lanes the older view may come later.
    if (has_view_ && sent < view_sent_) return;
    // A heartbeat that its node counts its lease from may be among what another arbiter lost.
    if (has_view_ && reply.view.arbiter.run_id != view_.arbiter.run_id) judged_.clear();
    view_ = std::move(reply.view);
    has_view_ = true;
    view_sent_ = sent;
    viewed_at_ = received;
    if (purpose == Purpose::read) follow_clock(sent, received);  // commits wait for disks
    doubt_clock();
    judge(sent);
    preferred_ = preferred_kind();
    const NodeRow* own = own_row();
    recorded_ = own != nullptr ? *own : NodeRow{};
    if (own == nullptr &&
        is_named_) {  // it was lost, or forgotten: nobody would wait for this node
        lease_end_ = Time::min();
        next_beat_ = now();
    }
    if (!is_named_) register_first();
    if (is_local_ && view_.record) leave_local("the arbiter answers again");
    if (!view_.record) {
        had_no_record_ = true;
        if (!open_ && !settling_) stop("the cluster has no record yet", true);
        // What is under way was for a record that an arbiter has lost.
        if (opening_.stage != Opening::Stage::idle) again_later();
        return begin_first();
    }
    follow_uuid();
    if (is_forgetful()) {
        const std::string reason = is_another_arbiter()
                                       ? "another process is the arbiter"
                                       : "the arbiter forgot epoch " + std::to_string(highest_);
        stop("settling: " + reason, true);
        withdraw(reason);  // where it was another server for a moment only, it is served again
        Begin wish;
        wish.reason = reason;
        wish.rows_unsure = true;
        wish.strict_wait = full_wait();
        wish.raise = options_.outlives ? 64 : 1;
        const auto same = index_of(view_.record->placement.store);
        const auto target = same && is_usable(*same) ? same : best_but(std::nullopt);
        if (!target) return;
        wish.tier = *target;
        (void)begin(std::move(wish));
        return;
    }
    follow();
    follow_basis_change();
    consider_promised();
    vote();
    forget_rows();
    if (!is_busy() && (!has_registry_ || view_.registry_version != registry_version_)) {
        (void)ask(work_, Purpose::registry, ReadRegistry{});
    }
}

// Rule 9. The offset that the last process of this node kept takes the place of two readings, if
// the first one agrees with it; if not, one of the clocks was stepped meanwhile, and it says
// nothing.
void Fleet::Impl::follow_clock(Time sent, Time received) {
    using Verdict = ClockOffset::Verdict;
    const bool is_first = !arbiter_clock_.offset();
    const Verdict verdict = arbiter_clock_.add(sent, received, view_.shown);
    const bool is_quick = received - sent <= ClockOffset::round_trip_max;
    if (verdict != Verdict::steady) {
        arbiter_readings_ = 0;
        arbiter_steady_since_.reset();
    } else if (is_quick) {
        doubt_.agrees(sent);
        if (!arbiter_steady_since_) arbiter_steady_since_ = received;
        if (arbiter_readings_ == 0 || received - counted_at_ >= readings_apart) {
            ++arbiter_readings_;
            counted_at_ = received;
        }
        if (is_first && options_.arbiter_clock && arbiter_clock_.offset()) {
            const Duration off = *arbiter_clock_.offset() - *options_.arbiter_clock;
            if (std::chrono::abs(off) <= kept_off_max) arbiter_readings_ = readings_needed;
            if (off > behind_min) doubt_.inherits(long_after());  // of the journal
        }
    }
    if (verdict == Verdict::strayed && !options_.outlives) {
        // Nothing but the second reading tells whether it was stepped, and until then a node that
        // starts takes the clock as it is. Where there is another store, it is to be asked, too.
        next_read_ = std::min(next_read_, received + options_.read_settling);
    }
    if (verdict == Verdict::jumped) arbiter_jumped_ = true;
    if (verdict == Verdict::jumped && omits(Rule::rebase_only_settling)) {
        arbiter_clock_.rebase();
        arbiter_jumped_ = false;
    }
    const auto offset = arbiter_clock_.offset();
    if (!offset || arbiter_readings_ < readings_needed) return;
    const bool is_known =
        offset_told_ && std::chrono::abs(*offset_told_ - *offset) < std::chrono::milliseconds(10);
    if (is_known) return;
    offset_told_ = offset;
    act(KeepOffsets{offset});
}

// Rule 9. The arbiter's clock is further than it can be by this node's: either it was stepped, or
// this host stood still, its boot-time clock too. Of any answer, since a commit may take long, but
// shows a time before its answer came. Until offsets are measured anew each view says it.
void Fleet::Impl::doubt_clock() {
    const auto expected = arbiter_clock_.expected(viewed_at_);
    const bool is_ahead = expected && from_ms(static_cast<std::int64_t>(view_.shown) -
                                              static_cast<std::int64_t>(*expected)) > behind_min;
    if (!is_ahead) return;
    std::vector<ClockDoubt::Witness> witnesses;
    for (TierIndex tier = 0; tier < tiers_.size(); ++tier) {
        const bool may_tell =
            !options_.tiers[tier].is_arbiter && tiers_[tier].is_connected && tiers_[tier].bad == 0;
        witnesses.push_back(may_tell
                                ? ClockDoubt::Witness{tiers_[tier].clock, tiers_[tier].clock_since}
                                : ClockDoubt::Witness{});
    }
    doubt_.is_ahead(viewed_at_, witnesses);
}

// When nothing that was granted by now looks live any more by this node's clock.
Time Fleet::Impl::long_after() const {
    const LeaseLimits limits = this->limits();
    return now() + limits.ttl_longest + limits.delay_longest;
}

// Rule 5: lost is whose heartbeat has not moved for view_lease by this node's own clock. The view
// is as old as its call; the beat was seen to move when its answer was there.
void Fleet::Impl::judge(Time sent) {
    std::map<Incarnation, Judged> next;
    for (const NodeRow& row : view_.nodes) {
        const auto it = judged_.find(row.incarnation);
        Judged judged = it != judged_.end() ? it->second : Judged{row.beat, viewed_at_, {}};
        if (judged.beat != row.beat) judged = {row.beat, viewed_at_, {}};
        if (row.incarnation == options_.incarnation) judged.moved_at = viewed_at_;
        const bool is_silent = sent >= judged.moved_at + judged_lease();
        if (is_silent && !judged.lost_since) {
            judged.lost_since = now();
            notice(Notice::Level::warning,
                   "authority.node_lost",
                   "node " + row.name.str() + " (" + std::to_string(row.incarnation) +
                       ") has not been heard of for " + std::to_string(to_ms(judged_lease())) +
                       " ms");
        }
        next.emplace(row.incarnation, judged);
    }
    judged_ = std::move(next);
}

// A second process of a name whose heartbeat still moves is refused. One that was killed a moment
// ago looks the same for a while, unless its folders say that it is dead.
void Fleet::Impl::register_first() {
    const NodeRow* rival = nullptr;
    for (const NodeRow& row : view_.nodes) {
        if (row.name != options_.name || row.incarnation == options_.incarnation) continue;
        if (options_.former == row.incarnation) continue;
        if (!is_lost(row.incarnation)) rival = &row;
    }
    if (rival != nullptr) {
        const Time moved = judged_.at(rival->incarnation).moved_at;
        if (now() - moved <= 2 * options_.beat_every + judge_margin) {
            const std::string reason = "name in use: node " + options_.name.str() +
                                       " runs already as " + text_of(rival->incarnation) +
                                       "; give each node its own --node";
            if (std::exchange(rival_told_, rival->incarnation) != rival->incarnation) {
                notice(Notice::Level::error, "authority.name_in_use", reason);
            }
            stop(reason, false);
            withdraw(reason);
            next_read_ = std::min(next_read_, now() + options_.read_every);
            return;
        }
    }
    is_named_ = true;
    // Who registers while an epoch is open acknowledges it by that; else by handing over.
    next_beat_ = now();
}

void Fleet::Impl::follow_uuid() {
    const FleetRecord& record = *view_.record;
    if (!known_.uuid.empty() && known_.uuid != record.uuid) {
        notice(Notice::Level::error,
               "authority.uuid_changed",
               "the arbiter's record is of cluster " + record.uuid.str() + ", this node knew " +
                   known_.uuid.str() + "; the arbiter's is taken over");
    }
    const Known known{record.uuid, std::max(known_.epoch, record.epoch)};
    if (!(known == known_)) {
        known_ = known;
        act(SaveKnown{known_});
    }
    highest_ = omits(Rule::epoch_rises) ? record.epoch : std::max(highest_, record.epoch);
    had_no_record_ = false;
}

void Fleet::Impl::follow() {
    if (view_.record->placement.state == RecordState::settling) {
        follow_settling();
    } else {
        follow_open();
    }
}

// Rule 5: a row goes only when what its process may have granted is over.
void Fleet::Impl::forget_rows() {
    if (is_busy()) return;
    for (const NodeRow& row : view_.nodes) {
        const auto it = judged_.find(row.incarnation);
        if (it == judged_.end() || !it->second.lost_since) continue;
        const Duration kept = std::max(options_.vote_kept, row.ttl_high + judge_margin);
        if (now() - *it->second.lost_since < kept) continue;
        (void)ask(work_, Purpose::forget, Forget{row.incarnation});
        return;
    }
}

}  // namespace latchd::core::authority
