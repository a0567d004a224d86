// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"

#include <algorithm>
#include <span>
#include <utility>

// Hand over, then open (rules 4 and 6). Every node hands over; one opens, normally the one that
// proposed: claims are fetched, the former tier is read where it can be, the new one initialised
// and loaded, the record opened. Each step can be taken again, by any node; one compare-and-set of
// the record decides.
namespace latchd::core::authority {

namespace {

constexpr Duration retry_after = std::chrono::milliseconds(100);
// One after the other, so that they don't initialise over each other: what one has to carry takes
// its time, see carrying_time().
constexpr Duration turn = std::chrono::milliseconds(300);
constexpr Duration first_turn = std::chrono::milliseconds(500);
// For a probe that tells the clock of the store that is opened.
constexpr Duration measure_max = std::chrono::milliseconds(1500);
// For a step of the opening; adapters answer sooner.
constexpr Duration step_max = std::chrono::seconds(5);
constexpr std::size_t loaded_per_second = 5'000;  // by the slowest store, at least
// What readings of the arbiter's clock at two times may be wrong by.
constexpr Duration clock_doubt = std::chrono::milliseconds(250);

template <class Item>
void spread(std::vector<Item>& items, std::vector<Item> Claims::*list, std::vector<Claims>& parts) {
    for (Item& item : items) {
        if (parts.back().size() == claims_per_call_max) parts.emplace_back();
        (parts.back().*list).push_back(std::move(item));
    }
}

}  // namespace

// ---- hand over -------------------------------------------------------------------------------

void Fleet::Impl::follow_settling() {
    const Placement& placement = view_.record->placement;
    const Epoch epoch = placement.since_epoch;
    if (settling_ && settling_->epoch == epoch && settling_->nonce == placement.nonce) return;
    stop(settling_text(), true);
    withdraw("epoch " + std::to_string(epoch) + " settles");
    if (open_) {
        last_open_ = open_->placement;
        left_open_ = now();
        const auto tier = index_of(last_open_->store);
        // One probe that strayed is enough not to read it: the next would say whether it jumped.
        last_clock_jumped_ = arbiter_jumped_ || arbiter_clock_.has_strayed() ||
                             (tier && (tiers_[*tier].jumped || tiers_[*tier].clock.has_strayed()));
        strict_left_ = std::max(open_->strict_from - now(), Duration::zero());
    }
    open_.reset();
    wish_.reset();
    opening_ = {};
    won_ = false;
    settling_.emplace();
    settling_->epoch = epoch;
    settling_->nonce = placement.nonce;
    settling_->seen_at = now();
    doubt_.settles(now(), long_after());
    settling_->is_unsure = doubt_.is_unsure(now());
    // Rule 9: only now may offsets be measured anew; all of them, since it may have been this
    // node's own clock that stood still, and a difference of two is told with the opening.
    const auto is_off = [](const TierView& tier) {
        return tier.jumped || tier.clock.has_strayed();
    };
    const bool is_any_off =
        arbiter_jumped_ || arbiter_clock_.has_strayed() || std::ranges::any_of(tiers_, is_off);
    if (is_any_off) {
        arbiter_clock_.rebase();
        arbiter_readings_ = 0;
        arbiter_steady_since_.reset();
    }
    arbiter_jumped_ = false;
    for (TierView& tier : tiers_) {
        if (is_any_off) tier.clock.rebase();
        tier.jumped = false;
        tier.mismatches = 0;
        tier.counter = 0;
    }
    next_read_ = std::min(next_read_, now() + options_.read_settling);
    act(Changed{epoch, RecordState::settling, placement.tier, placement.reason});
    act(CollectClaims{epoch});
}

void Fleet::Impl::on(ClaimsCollected&& event) {
    if (!settling_ || settling_->epoch != event.epoch || settling_->is_collected) return;
    settling_->is_collected = true;
    Claims& claims = event.claims;
    if (omits(Rule::hand_over)) claims = {};
    if (omits(Rule::gone_handed_over)) claims.gone.clear();
    if (omits(Rule::cancels_handed_over)) claims.cancelled.clear();
    settling_->handed_over = claims.size();
    settling_->parts = in_parts(std::move(claims));
}

std::vector<Claims> Fleet::Impl::in_parts(Claims&& claims) {
    std::vector<Claims> parts(1);
    spread(claims.records, &Claims::records, parts);
    spread(claims.gone, &Claims::gone, parts);
    spread(claims.cancelled, &Claims::cancelled, parts);
    return parts;
}

// In transactions of claims_per_call_max, the acknowledgement in the last.
void Fleet::Impl::hand_over() {
    const bool is_wanted = settling_ && settling_->is_collected && !settling_->acked;
    const bool may_ask = !work_ && now() >= work_after_ && is_named_;
    if (!is_wanted || !may_ask || view_.record->epoch != settling_->epoch) return;
    if (doubt_.awaits_witness(now())) return;
    doubt_.conclude(now());
    settling_->is_vouched = settling_->is_unsure && doubt_.is_vouched(now());
    HandOver call;
    call.epoch = settling_->epoch;
    call.claims = settling_->parts[settling_->sent];
    call.is_first = settling_->sent == 0;
    call.is_last = ++settling_->sent == settling_->parts.size();
    call.row = make_row();
    if (call.is_last) call.row.acked = settling_->epoch;
    (void)ask(work_, Purpose::hand_over, std::move(call));
}

void Fleet::Impl::handed_over(bool done) {
    if (!settling_ || settling_->acked) return;
    if (!done) {
        settling_->sent = 0;  // all of it again; the first part drops what is there
        return;
    }
    if (settling_->sent < settling_->parts.size()) return;
    settling_->acked = true;
    settling_->parts.clear();
    acked_ = settling_->epoch;
}

// ---- open ------------------------------------------------------------------------------------

// Every incarnation that has a row and has not acknowledged.
std::vector<Incarnation> Fleet::Impl::not_acked(const View& view, Epoch epoch) const {
    std::vector<Incarnation> missing;
    for (const NodeRow& row : view.nodes) {
        if (row.acked >= epoch) continue;
        const bool is_named_twice = omits(Rule::by_incarnation) &&
                                    std::ranges::any_of(view.nodes, [&](const NodeRow& other) {
                                        return other.name == row.name && other.acked >= epoch;
                                    });
        if (!is_named_twice) missing.push_back(row.incarnation);
    }
    return missing;
}

bool Fleet::Impl::is_due() const {
    if (omits(Rule::ack_or_grace)) return true;
    const bool is_whole = !view_.record->placement.rows_unsure;
    if (is_whole && not_acked(view_, settling_->epoch).empty()) return true;
    return now() >= settling_->seen_at + options_.settle_grace;
}

// What whoever opens is left alone for, by the claims that there are: as far as they are known. A
// node that hasn't fetched them takes its own for the average.
Duration Fleet::Impl::carrying_time() const {
    const std::size_t guessed = settling_->handed_over * view_.nodes.size();
    const std::size_t claims = settling_->fetched != 0 ? settling_->fetched : guessed;
    return std::chrono::milliseconds(claims * 1000 / loaded_per_second);
}

bool Fleet::Impl::is_my_turn() {
    if (own_proposal_ == settling_->nonce) return true;
    std::size_t rank = 0;
    for (const NodeRow& row : view_.nodes) {
        if (row.incarnation == options_.incarnation) break;
        if (!is_lost(row.incarnation)) ++rank;
    }
    const int turns = static_cast<int>(std::min<std::size_t>(rank, 20));
    return now() >= *settling_->due_at + first_turn + turn * turns + carrying_time() * (turns + 1);
}

void Fleet::Impl::drive() {
    if (opening_.stage != Opening::Stage::idle && now() >= opening_.give_up_at) again_later();
    const bool may_open = settling_ && settling_->acked && !is_busy() &&
                          now() >= opening_.retry_at && view_.record->epoch == settling_->epoch &&
                          view_.record->placement.state == RecordState::settling;
    if (!may_open || !is_due()) return;
    if (!settling_->due_at) settling_->due_at = now();
    if (!is_my_turn()) return;
    const auto target = index_of(view_.record->placement.store);
    if (!target || !is_usable(*target)) return redirect();
    if (is_refused() && best_but(target)) return redirect();
    // The difference of the clocks is told with the opening; a probe will measure it.
    const bool is_measured = tiers_[*target].clock.offset() && arbiter_clock_.offset();
    if (!is_measured && now() < *settling_->due_at + measure_max) return;
    opening_ = {};
    opening_.stage = Opening::Stage::fetching;
    opening_.tier = *target;
    fetch({});
}

void Fleet::Impl::fetch(std::string after) {
    opening_.give_up_at = now() + step_max;
    opening_.next = after;
    opening_.id = ask(work_, Purpose::fetch, FetchClaims{settling_->epoch, std::move(after)});
}

// Healthy by its checks, and yet it has taken nothing of what this node tried, for so long.
bool Fleet::Impl::is_refused() const {
    return settling_->refused_since && now() >= *settling_->refused_since + options_.redirect_after;
}

// The target can't be opened: the epoch is redirected to another one.
void Fleet::Impl::redirect() {
    if (now() < *settling_->due_at + options_.redirect_after) return;
    const Placement& placement = view_.record->placement;
    const auto current = index_of(placement.store);
    const auto target = best_but(current);
    if (!target) return;
    Begin wish;
    wish.tier = *target;
    const std::string failed = " could not be opened";
    wish.reason = placement.store + failed;
    if (is_refused()) wish.reason += ": " + settling_->refusal;
    // Where two stores refuse in turn, the text must not grow for ever.
    if (placement.reason.find(failed) == std::string::npos) wish.reason += "; " + placement.reason;
    wish.is_failure = current && is_worse(*target, *current);
    wish.rows_unsure = placement.rows_unsure;
    wish.strict_wait = placement.strict_wait;
    (void)begin(std::move(wish));
}

void Fleet::Impl::fetched(ArbiterReply& reply, Time sent, Time received) {
    const bool is_first = opening_.next.empty();
    const bool is_same = reply.done && reply.view.record && settling_ &&
                         reply.view.record->epoch == settling_->epoch &&
                         reply.view.record->placement.nonce == settling_->nonce &&
                         (is_first || reply.claims_version == opening_.claims_version);
    if (!is_same) return again_later();
    opening_.claims_version = reply.claims_version;
    gather(std::move(reply.claims), reply.view.shown, sent, received);
    if (!reply.next.empty()) return fetch(std::move(reply.next));
    fetched_all(reply.view);
}

// Of what is left, that goes which has certainly passed since it was handed over. The arbiter dates
// by its own clock: that counts as far as this node has watched it. Of a leaver it counts whole,
// unless that clock was just ahead of what it can be: its locks must not come back long after they
// ended, under a fence that later ones have passed; nor end by a step.
void Fleet::Impl::gather(std::vector<HandedOver>&& all, StoreMs shown, Time sent, Time received) {
    const Time middle = sent + (received - sent) / 2;
    const auto expected = arbiter_clock_.expected(middle);
    const Duration off =
        expected ? from_ms(static_cast<std::int64_t>(shown) - static_cast<std::int64_t>(*expected))
                 : Duration::zero();
    const bool is_sure = arbiter_steady_since_ && expected && off < clock_doubt &&
                         off > -clock_doubt && received - sent <= ClockOffset::round_trip_max;
    for (HandedOver& given : all) {
        Duration passed{};
        if (is_sure) {
            const bool is_dated = given.epoch == 0 && !doubt_.is_unsure(now());
            const Duration watched = now() - *arbiter_steady_since_;
            passed = is_dated ? given.age : std::min(given.age, watched);
            if (given.epoch == 0 && !is_dated) opening_.unsure.push_back(given.from);
            passed = std::max(passed - passed / 256 - clock_doubt, Duration::zero());
        }
        age(given.claims, passed);
        opening_.claims.push_back({now(), std::move(given.claims), given.from, given.epoch == 0});
    }
}

void Fleet::Impl::fetched_all(const View& view) {
    settling_->fetched = 0;
    for (const Gathered& gathered : opening_.claims) settling_->fetched += gathered.claims.size();
    if (!is_my_turn()) return again_later();  // there is more to carry than it seemed
    opening_.missing = not_acked(view, settling_->epoch);
    Duration carried = view.record->placement.strict_wait;
    Duration granted{};
    for (const NodeRow& row : view.nodes) {
        const bool is_missing =
            std::ranges::find(opening_.missing, row.incarnation) != opening_.missing.end();
        if (is_missing) {
            granted = std::max(granted, row.ttl_high);
        } else if (!omits(Rule::strict_wait_carried)) {
            carried = std::max(carried, row.strict_left);
        }
    }
    opening_.wait = opening_.wait_carried = carried;
    note_unsure(view);
    // Its own rows tell what the missing granted, and what those left behind who are gone.
    if (settling_->read) {
        take_read();
    } else {
        if (read_former()) return;
        if (!opening_.missing.empty()) wait_out(granted);
    }
    initialise();
}

// Rule 9: who may have stood still. Not where every process saw the arbiter's clock go ahead, and
// another store's clock speaks for its own: it was the arbiter's that was stepped. A process that
// is gone may have granted what those who stood still don't know of.
void Fleet::Impl::note_unsure(const View& view) {
    const auto has_row = [&view](const Gathered& gathered) {
        return std::ranges::find(view.nodes, gathered.from, &NodeRow::incarnation) !=
               view.nodes.end();
    };
    const bool is_step = opening_.missing.empty() &&
                         std::ranges::all_of(view.nodes, &NodeRow::clock_unsure) &&
                         std::ranges::all_of(opening_.claims, has_row);
    for (const NodeRow& row : view.nodes) {
        const bool is_excused = is_step && row.clock_vouched;
        if (row.clock_unsure && !is_excused) opening_.unsure.push_back(row.incarnation);
    }
}

// The former tier's own rows tell what the missing granted, where it can be read.
bool Fleet::Impl::read_former() {
    if (!last_open_) return false;
    for (TierIndex tier = 0; tier < tiers_.size(); ++tier) {
        if (options_.tiers[tier].store != last_open_->store || !is_readable(tier)) continue;
        opening_.stage = Opening::Stage::reading;
        opening_.give_up_at = now() + step_max + carrying_time();
        opening_.id = CallId{++calls_};
        Marker expected = tiers_[tier].marker.value_or(Marker{});
        expected.epoch = last_open_->since_epoch;
        expected.nonce = last_open_->nonce;
        act(TierCloseAndRead{
            tier, opening_.id, std::move(expected), settling_->epoch, Nonce(names_.draw())});
        return true;
    }
    return false;
}

// Only the very process that was recorded, its marker and its clock in place.
bool Fleet::Impl::is_readable(TierIndex tier) const {
    const TierView& view = tiers_[tier];
    if (!view.is_connected || view.state == TierSight::State::failing || last_clock_jumped_) {
        return false;
    }
    if (omits(Rule::read_only_recorded)) return true;
    return !is_other(tier, *last_open_) && is_marked(tier, *last_open_);
}

// All that lives is in what was read: nobody is missing, and what a leaver handed over and is not
// there was released since, by whom nobody may remember any more.
void Fleet::Impl::take_read() {
    for (Gathered& gathered : opening_.claims) {
        if (gathered.has_left) gathered.claims.records.clear();
    }
    opening_.claims.push_back(*settling_->read);
    opening_.missing.clear();
}

void Fleet::Impl::on(TierRead&& event) {
    const bool is_awaited =
        opening_.stage == Opening::Stage::reading && opening_.id == event.id && settling_;
    if (!is_awaited) return;
    // Leases that were counted by a clock that moved are worth nothing, in either direction.
    const bool is_in_time = !last_clock_jumped_ && !tiers_[event.tier].clock.has_strayed();
    if (event.done && is_in_time) {
        const Duration longest = limits().ttl_longest;
        for (GrantRecord& record : event.claims.records) {
            record.left = std::min(record.left, longest);
        }
        settling_->read = Gathered{now(), std::move(event.claims), 0};
        take_read();
        act(TierLook{event.tier});
    } else {
        Duration granted{};
        for (const NodeRow& row : view_.nodes) {
            if (row.acked < settling_->epoch) granted = std::max(granted, row.ttl_high);
        }
        wait_out(granted);
    }
    initialise();
}

// Rule 5. A row says what its process may grant before it does: 0 is nothing strict.
void Fleet::Impl::wait_out(Duration granted) {
    if (granted == Duration::zero() || omits(Rule::strict_wait)) return;
    opening_.wait = std::max(opening_.wait, judged_lease() + granted);
}

void Fleet::Impl::initialise() {
    TierView& target = tiers_[opening_.tier];
    opening_.stage = Opening::Stage::initialising;
    opening_.give_up_at = now() + step_max;
    opening_.id = CallId{++calls_};
    opening_.nonce = omits(Rule::fresh_nonce) ? settling_->nonce : Nonce(names_.draw());
    Marker next;
    next.uuid = view_.record->uuid;
    next.epoch = settling_->epoch;
    next.nonce = opening_.nonce;
    next.run_id = target.identity.run_id;
    next.counter = counter_start(settling_->epoch, at_.wall);
    if (!opening_.unsure.empty()) {
        opening_.fence = make_fence(settling_->epoch, ++next.counter);
    }
    act(TierInitialise{opening_.tier, opening_.id, target.marker, std::move(next)});
}

// What counts of all that was gathered, as it is now.
Claims Fleet::Impl::gathered_claims() {
    // The sure ones first.
    // Not of std::ranges: clang 14 and libstdc++ 12 don't agree about its subrange.
    std::stable_partition(
        opening_.claims.begin(), opening_.claims.end(), [this](const Gathered& gathered) {
            return std::ranges::find(opening_.unsure, gathered.from) == opening_.unsure.end();
        });
    std::vector<Claims> all;
    std::size_t sure = 0;
    for (Gathered& gathered : opening_.claims) {
        const Duration passed = now() - gathered.at;
        age(gathered.claims, std::max(passed - passed / 256, Duration::zero()));
        const auto from = std::ranges::find(opening_.unsure, gathered.from);
        if (from == opening_.unsure.end()) ++sure;
        all.push_back(std::move(gathered.claims));
    }
    opening_.claims.clear();
    Claims merged = merge(all);
    merged.gone.clear();
    if (sure < all.size() && !omits(Rule::unsure_refenced)) {
        refence(merged, std::span(all).first(sure), opening_.fence);
    }
    return merged;
}

void Fleet::Impl::on(TierDone&& event) {
    using Stage = Opening::Stage;
    if (opening_.id != event.id || !settling_) return;
    if (opening_.stage != Stage::initialising && opening_.stage != Stage::loading) return;
    if (!event.done) {
        notice(Notice::Level::warning,
               "authority.opening",
               options_.tiers[event.tier].store + ": " + event.text);
        act(TierLook{event.tier});  // the marker that was expected may be another one
        if (!event.is_overtaken) refused(options_.tiers[event.tier].store, event.text);
        return again_later();
    }
    opening_.give_up_at = now() + step_max;
    if (opening_.stage == Stage::initialising) {
        opening_.stage = Stage::loading;
        opening_.id = CallId{++calls_};
        Claims all = gathered_claims();
        opening_.give_up_at += std::chrono::seconds(all.size() / loaded_per_second);
        act(TierLoad{opening_.tier, opening_.id, settling_->epoch, opening_.nonce, std::move(all)});
        return;
    }
    const TierView& target = tiers_[opening_.tier];
    opening_.stage = Stage::opening;
    OpenEpoch call;
    call.epoch = settling_->epoch;
    call.settling = settling_->nonce;
    call.next = view_.record->placement;
    call.next.state = RecordState::open;
    call.next.identity = target.identity;
    call.next.nonce = opening_.nonce;
    const auto store_offset = target.clock.offset();
    const auto arbiter_offset = arbiter_clock_.offset();
    if (store_offset && arbiter_offset) {
        call.next.clock_difference = *store_offset - *arbiter_offset;
    }
    call.next.strict_wait = opening_.wait;
    call.next.strict_wait_carried = opening_.wait_carried;
    call.next.missing = opening_.missing;
    call.next.rows_unsure = false;
    call.claims_version = opening_.claims_version;
    call.next.since_ms = static_cast<std::int64_t>(view_.shown);
    opening_.id = ask(work_, Purpose::open, std::move(call));
}

void Fleet::Impl::refused(const std::string& store, const std::string& text) {
    if (!settling_->refused_since) settling_->refused_since = now();
    settling_->refusal = text;
    stop(settling_text() + "; " + store + ": " + text, true);
}

// Where it was done, the view that came with it has been followed already. Else somebody handed
// over meanwhile (then at once again, with that), or it is open.
void Fleet::Impl::opened(bool done) {
    if (done) return;
    again_later();
    opening_.retry_at = now();
}

void Fleet::Impl::again_later() {
    const Nonce nonce = opening_.nonce;
    opening_ = {};
    opening_.nonce = nonce;  // the answer that was lost may have been yes
    opening_.retry_at = now() + retry_after;
}

}  // namespace latchd::core::authority
