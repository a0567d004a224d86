// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"

#include <algorithm>
#include <utility>

// Without the arbiter (rule 1). `available` resources go on for available_max, since the fleet may
// have moved; for longer while the tier itself shows that nobody can have moved it: a fresh note of
// every known node that it, too, has lost the arbiter. A process that starts meanwhile goes by the
// last record that its node has kept, if the tier's own marker says the same.
namespace latchd::core::authority {

void Fleet::Impl::consider_kept() {
    const auto& kept = options_.kept_record;
    if (has_view_ || open_ || is_local_ || !kept || arbiter_fails_ < options_.fall) return;
    const Placement& placement = kept->placement;
    const auto tier = index_of(placement.store);
    // An arbiter that keeps the locks, too, would have told.
    if (!tier || !has_marker(*tier) || options_.tiers[*tier].is_arbiter) return;
    if (placement.state != RecordState::open || placement.since_epoch < highest_) return;
    const TierView& view = tiers_[*tier];
    const bool is_confirmed = view.is_connected && view.marker && view.marker->uuid == kept->uuid &&
                              !is_other(*tier, placement) && is_marked(*tier, placement);
    if (!is_confirmed) return;
    const Epoch epoch = placement.since_epoch;
    notice(Notice::Level::warning,
           "authority.kept_record",
           "the arbiter is away: this node goes by the record that it kept, epoch " +
               std::to_string(epoch) + " in store " + placement.store);
    view_.record = *kept;
    preferred_ = preferred_kind();
    Open next;
    next.placement = placement;
    next.seen_at = now();
    next.strict_from = next.strict_owed = now() + later_by(placement.strict_wait);
    next.settled_for = options_.settle_grace + options_.redirect_after;
    open_ = std::move(next);
    acked_ = highest_ = epoch;
    act(Changed{epoch, RecordState::open, placement.tier, placement.reason});
}

bool Fleet::Impl::leaves_notes() const noexcept {
    return serving_ && open_ && has_view_ && now() >= lease_end_ && has_marker(*serving_);
}

void Fleet::Impl::leave_note() {
    if (!leaves_notes() || now() < next_note_) return;
    next_note_ = now() + options_.note_every;
    TierNote note{*serving_,
                  open_->placement.since_epoch,
                  open_->placement.nonce,
                  options_.name,
                  options_.note_fresh,
                  {}};
    for (const NodeRow* row : known_nodes()) {
        if (row->name != options_.name) note.others.push_back(row->name);
    }
    act(std::move(note));
}

void Fleet::Impl::on(TierNoted&& event) {
    if (!leaves_notes() || serving_ != event.tier) return;
    const bool is_unanimous = std::ranges::all_of(known_nodes(), [&](const NodeRow* row) {
        return row->name == options_.name ||
               std::ranges::find(event.fresh, row->name) != event.fresh.end();
    });
    if (is_unanimous) noted_until_ = std::max(noted_until_, event.sent + options_.note_fresh);
}

}  // namespace latchd::core::authority
