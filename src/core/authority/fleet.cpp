// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"

#include <algorithm>
#include <utility>

// The machine's frame: calls, time, this node's row, leaving. Every decision is made from the last
// view, what this node sees of the tiers, and its own clock; an answer that was lost is asked for
// again. The rules are in fleet_view.cpp (1, 2, 5, 7), fleet_tiers.cpp (2, 9), fleet_vote.cpp (3),
// fleet_settle.cpp (4, 6) and fleet_serve.cpp (1, 6, 8, 9).
namespace latchd::core::authority {
namespace {

constexpr Duration rest_after_failure = std::chrono::milliseconds(100);
constexpr std::size_t of_leavers_max = 100'000;

}  // namespace

Fleet::Fleet(FleetOptions options, Known known, NameSource& names)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(known), names)) {}

Fleet::~Fleet() = default;

void Fleet::start(Moment at, FleetActions& out) { impl_->start(at, out); }

void Fleet::step(Moment at, FleetEvent&& event, FleetActions& out) {
    impl_->step(at, std::move(event), out);
}

std::optional<Time> Fleet::next_deadline() const noexcept { return impl_->next_deadline(); }

FleetStatus Fleet::status(Time now) const { return impl_->status(now); }

Fleet::Impl::Impl(FleetOptions options, Known known, NameSource& names)
    : options_(std::move(options)), known_(std::move(known)), names_(names) {
    highest_ = known_.epoch;
    tiers_.resize(options_.tiers.size());
}

void Fleet::Impl::start(Moment at, FleetActions& out) {
    at_ = at;
    out_ = &out;
    next_read_ = next_beat_ = now();
    view_sent_ = now();  // nothing was seen before
    go_on();
}

void Fleet::Impl::step(Moment at, FleetEvent&& event, FleetActions& out) {
    at_ = at;
    out_ = &out;
    std::visit([this](auto&& each) { on(std::move(each)); }, std::move(event));
    go_on();
}

// ---- calls -----------------------------------------------------------------------------------

CallId Fleet::Impl::ask(std::optional<Asked>& lane, Purpose purpose, ArbiterCall&& call) {
    Asked asked;
    asked.id = CallId{++calls_};
    asked.purpose = purpose;
    asked.writes_row = purpose == Purpose::beat || (purpose == Purpose::hand_over &&
                                                    settling_->sent == settling_->parts.size());
    lane = asked;
    const bool is_bound = purpose == Purpose::propose || purpose == Purpose::hand_over ||
                          purpose == Purpose::fetch || purpose == Purpose::open;
    act(ArbiterDo{asked.id, std::move(call), is_bound ? view_.arbiter.run_id : std::string()});
    return asked.id;
}

void Fleet::Impl::on(ArbiterAnswered&& event) {
    std::optional<Asked>& lane = loop_ && loop_->id == event.id ? loop_ : work_;
    if (!lane || lane->id != event.id) return;
    const Asked asked = *std::exchange(lane, std::nullopt);
    arbiter_fails_ = 0;
    note_arbiter_error({});
    const bool done = event.reply.done;
    const std::uint64_t use_period = event.reply.use_period;
    // Rule 1: the view lease runs from before the row was sent.
    if (done && asked.writes_row) lease_end_ = std::max(lease_end_, event.sent + lease_of_view());
    std::vector<std::pair<ResourceName, ResourceSettings>> resources;
    const std::uint64_t registry_version = event.reply.view.registry_version;
    if (asked.purpose == Purpose::registry) resources = std::move(event.reply.resources);
    ArbiterReply fetched_reply;
    if (asked.purpose == Purpose::fetch) {
        fetched_reply.claims = std::exchange(event.reply.claims, {});
        fetched_reply = {event.reply.done,
                         event.reply.view,
                         std::move(fetched_reply.claims),
                         event.reply.claims_version,
                         std::move(event.reply.next),
                         {},
                         0};
    }
    see(asked.purpose, std::move(event.reply), event.sent, event.received);
    switch (asked.purpose) {
        case Purpose::hand_over:
            return handed_over(done);
        case Purpose::fetch:
            if (opening_.stage == Opening::Stage::fetching && opening_.id == asked.id) {
                fetched(fetched_reply, event.sent, event.received);
            }
            return;
        case Purpose::open:
            if (opening_.stage == Opening::Stage::opening && opening_.id == asked.id) opened(done);
            return;
        case Purpose::propose:
            if (command_ && command_proposed_) {
                act(Commanded{command_->id,
                              done,
                              done ? "epoch " + std::to_string(highest_) + " begins"
                                   : std::string("another epoch began at the same moment")});
                command_.reset();
            }
            command_proposed_ = false;
            return;
        case Purpose::registry:
            return registry_was_read(std::move(resources), registry_version);
        case Purpose::basis:
            return basis_written(done);
        case Purpose::uses:
            return uses_noted(done, use_period);
        case Purpose::settled:
            of_leavers_.erase(of_leavers_.begin(),
                              of_leavers_.begin() + static_cast<std::ptrdiff_t>(
                                                        std::exchange(settling_of_leavers_, 0)));
            return;
        case Purpose::leave:
            if (done && leaving_ && !leaving_->empty()) leaving_->pop_front();
            return leave_on();
        case Purpose::read:
        case Purpose::beat:
        case Purpose::forget:
            return;
    }
}

void Fleet::Impl::on(ArbiterFailed&& event) {
    std::optional<Asked>& lane = loop_ && loop_->id == event.id ? loop_ : work_;
    if (!lane || lane->id != event.id) return;
    const Asked asked = *std::exchange(lane, std::nullopt);
    if (&lane == &work_) work_after_ = now() + rest_after_failure;
    // Before the first answer what is down is told by the tiers.
    const bool is_refused_at_start = !has_view_ && !event.is_down && event.text != arbiter_error_;
    if (arbiter_error_.empty() || is_refused_at_start) {
        notice(Notice::Level::warning, "authority.arbiter", "the arbiter: " + event.text);
    }
    note_arbiter_error(std::move(event.text));
    if (event.is_down) ++arbiter_fails_;
    if (!has_view_ && !open_ && arbiter_fails_ >= options_.fall) {
        const auto arbiter =
            std::ranges::find(options_.tiers, true, &FleetOptions::Tier::is_arbiter);
        const std::string name = arbiter == options_.tiers.end() ? "" : " " + arbiter->store;
        stop("arbiter" + name + " unreachable: " + arbiter_error_, false);
    } else if (!has_view_ && !open_ && !event.is_down) {
        // It is there and says no: that won't end by itself.
        stop("the arbiter refuses: " + arbiter_error_, false);
    }
    next_read_ = now() + options_.read_every / 2;
    if (asked.purpose == Purpose::beat) next_beat_ = next_read_;
    switch (asked.purpose) {
        case Purpose::hand_over:
            handed_over(false);
            break;
        case Purpose::fetch:
        case Purpose::open:
            again_later();
            break;
        case Purpose::propose:
            if (command_ && command_proposed_) {
                act(Commanded{command_->id, false, "the arbiter: " + arbiter_error_});
                command_.reset();
            }
            command_proposed_ = false;
            break;
        case Purpose::basis:
            if (agreed_.wish) {
                basis_answered(false,
                               arbiter_error_ +
                                   "; whether it was written is not known: see "
                                   "LATCHD CLUSTER");
            }
            break;
        case Purpose::uses:
            uses_noted(false, 0);
            break;
        case Purpose::settled:
            settling_of_leavers_ = 0;  // the same again
            break;
        case Purpose::leave:
            leave_by_ = std::min(leave_by_, now());
            break;
        case Purpose::read:
        case Purpose::beat:
        case Purpose::forget:
        case Purpose::registry:
            break;
    }
}

// ---- time ------------------------------------------------------------------------------------

void Fleet::Impl::on(TimeCame&&) {}

void Fleet::Impl::go_on() {
    if (is_gone_) return;
    if (leaving_) return leave_on();
    expire_command();
    consider_basis_wish();
    consider_local();
    consider_kept();
    if (view_.record) {
        hand_over();
        drive();
        try_serve();
    }
    tell_permit();
    leave_note();
    consider_uses();
    settle_leavers();
    if (loop_) return;
    if (is_named_ && now() >= next_beat_) {
        beat();
    } else if (now() >= next_read_) {
        const bool is_uneasy = !open_ || !is_open_ || !has_view_;
        next_read_ = now() + (is_uneasy ? options_.read_settling : options_.read_every);
        (void)ask(loop_, Purpose::read, ReadView{});
    }
}

std::optional<Time> Fleet::Impl::next_deadline() const noexcept {
    if (is_gone_) return std::nullopt;
    if (leaving_) return leave_by_;
    std::optional<Time> due;
    const auto by = [&due](Time at) {
        if (!due || at < *due) due = at;
    };
    if (!loop_) {
        by(next_read_);
        if (is_named_) by(next_beat_);
    }
    const bool may_open = settling_ && settling_->acked && !is_busy() && view_.record &&
                          view_.record->epoch == settling_->epoch &&
                          view_.record->placement.state == RecordState::settling;
    if (may_open) {
        by(std::max(opening_.retry_at,
                    settling_->due_at ? now() + options_.read_settling
                                      : settling_->seen_at + options_.settle_grace));
    }
    if (now() < work_after_) by(work_after_);
    if (settling_ && !settling_->acked && doubt_.awaits_witness(now())) by(*doubt_.waits_until());
    if (now() < lease_end_) by(lease_end_);
    if (command_) by(std::max(command_due_, now()));
    if (agreed_.wish) by(std::max(agreed_.wish_due, now()));
    if (may_note_uses()) by(std::max(uses_.collect_at, now()));
    if (leaves_notes()) by(std::max(next_note_, now()));
    if (open_ && now() < open_->strict_from) by(open_->strict_from);
    if (open_ && open_->accounted_at && now() < *open_->accounted_at) by(*open_->accounted_at);
    return due;
}

void Fleet::Impl::beat() {
    next_beat_ = now() + options_.beat_every;
    next_read_ = std::max(next_read_, now() + options_.read_settling);
    Beat call;
    // Rule 5: a successor that has the journal speaks for its former self.
    if (options_.has_journal) call.replaces = options_.former;
    call.row = make_row();
    (void)ask(loop_, Purpose::beat, std::move(call));
}

NodeRow Fleet::Impl::make_row() {
    NodeRow row;
    row.name = options_.name;
    row.incarnation = options_.incarnation;
    row.former = spoken_for();
    row.beat = ++beat_;
    row.acked = acked_;
    row.asserted = asserted_;
    row.seen_open = open_ ? open_->placement.since_epoch : 0;
    for (TierIndex tier = 0; tier < tiers_.size(); ++tier) row.sights.push_back(sight_of(tier));
    row.strict_all = strict_names_.size() > strict_names_max;
    if (!row.strict_all) row.strict = strict_names_;
    row.ttl_high = ttl_high_;
    row.strict_left = strict_left_;
    row.clock_unsure = settling_ ? settling_->is_unsure : doubt_.is_unsure(now());
    row.clock_vouched = settling_ ? settling_->is_vouched : doubt_.is_vouched(now());
    row.protocol = protocol_listed;
    row.config_hash = options_.config_hash;
    row.started_ms = options_.started_ms;
    row.version = options_.version;
    return row;
}

void Fleet::Impl::notice(Notice::Level level, const char* event, std::string text) {
    act(Notice{level, event, std::move(text)});
}

// ---- what the node wishes --------------------------------------------------------------------

// Rule 5: the row says so before the first such grant.
void Fleet::Impl::on(StrictWanted&& event) {
    const bool is_named = std::ranges::find(strict_names_, event.resource) != strict_names_.end();
    if (is_named && event.ttl_high <= ttl_high_) return;
    if (!is_named) strict_names_.push_back(std::move(event.resource));
    ttl_high_ = std::max(ttl_high_, event.ttl_high);
    next_beat_ = now();
}

void Fleet::Impl::on(Command&& event) {
    if (command_) {
        act(Commanded{event.id, false, "another command is being carried out"});
        return;
    }
    command_ = std::move(event);
    command_due_ = now() + command_max;
    next_read_ = now();
}

// Whoever asked is not kept waiting, and what they were told did not happen does not happen later.
void Fleet::Impl::expire_command() {
    if (!command_ || now() < command_due_) return;
    const std::string why =
        !arbiter_error_.empty() ? "the arbiter: " + arbiter_error_ : "the arbiter does not answer";
    act(Commanded{command_->id,
                  false,
                  command_proposed_
                      ? why + "; whether the epoch begins is not known: see LATCHD STATUS"
                  : open_ ? "nothing was done: " + why
                          : "nothing was done: " + closed_for_});
    command_.reset();
}

void Fleet::Impl::on(LeaveWanted&& event) {
    if (leaving_) return;
    leave_by_ = now() + options_.leave_max;
    leaving_.emplace();
    for (Claims& part : in_parts(std::move(event.claims))) leaving_->push_back(std::move(part));
    withdraw("leaving");
}

void Fleet::Impl::leave_on() {
    const bool is_over = leaving_->empty() && !work_;
    if (is_over || recorded_.acked == 0 || now() >= leave_by_) {
        is_gone_ = true;
        act(Gone{is_over});
        return;
    }
    if (work_ || leaving_->empty()) return;
    Leave call;
    call.incarnation = options_.incarnation;
    call.claims = leaving_->front();  // it goes once it has arrived
    call.is_last = leaving_->size() == 1;
    (void)ask(work_, Purpose::leave, std::move(call));
}

// A8. A process that is not among the rows handed the grant over as it left, and nobody but this
// node may know that it ended. One that is hears it by message, or is lost.
void Fleet::Impl::on(GrantEnded&& event) {
    const bool has_row =
        std::ranges::find(view_.nodes, event.by, &NodeRow::incarnation) != view_.nodes.end();
    if (!has_view_ || has_row || of_leavers_.size() >= of_leavers_max) return;
    of_leavers_.push_back(std::move(event.grant));
}

void Fleet::Impl::settle_leavers() {
    if (of_leavers_.empty() || settling_of_leavers_ != 0 || is_busy() || !has_view_) return;
    settling_of_leavers_ = std::min(of_leavers_.size(), claims_per_call_max);
    Settled call;
    call.locks.assign(of_leavers_.begin(),
                      of_leavers_.begin() + static_cast<std::ptrdiff_t>(settling_of_leavers_));
    (void)ask(work_, Purpose::settled, std::move(call));
}

// ---- for people ------------------------------------------------------------------------------

std::string Fleet::Impl::settling_text() const {
    const Placement& placement = view_.record->placement;
    std::string text =
        "settling epoch " + std::to_string(placement.since_epoch) + ": " + placement.reason;
    if (!arbiter_error_.empty()) text += "; the arbiter: " + arbiter_error_;
    return text;
}

// What an epoch that settles waits for is told at once.
void Fleet::Impl::note_arbiter_error(std::string text) {
    if (std::exchange(arbiter_error_, std::move(text)) == arbiter_error_) return;
    if (settling_ && view_.record && closed_settling_ && !is_open_) stop(settling_text(), true);
}

FleetStatus Fleet::Impl::status(Time at) const {
    using Mode = FleetStatus::Mode;
    FleetStatus status;
    status.mode = is_local_          ? Mode::local
                  : is_open_         ? Mode::serving
                  : closed_settling_ ? Mode::settling
                  : has_view_        ? Mode::unreachable
                                     : Mode::starting;
    status.reason = is_open_ && open_ && !is_local_ ? open_->placement.reason : closed_for_;
    if (has_view_) {
        status.record = view_.record;
        status.nodes = view_.nodes;
        for (const NodeRow& row : view_.nodes) {
            if (is_lost(row.incarnation)) status.lost.push_back(row.incarnation);
        }
    }
    for (TierIndex tier = 0; tier < tiers_.size(); ++tier) status.sights.push_back(sight_of(tier));
    status.is_confirmed = at < lease_end_;
    status.arbiter_reached = arbiter_error_.empty();
    status.arbiter_error = arbiter_error_;
    if (at < lease_end_) status.view_left = lease_end_ - at;
    if (open_ && at < open_->strict_from) status.strict_left = open_->strict_from - at;
    status.basis = status_of_basis(at);
    return status;
}

}  // namespace latchd::core::authority
