// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "member.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::int64_t wall_start = 1'767'225'600'000;  // 2026-01-01
constexpr std::int64_t wall_2025 = 1'735'689'600'000;

core::NodeOptions options_of(const Plan& plan, const NodeName& name, std::uint64_t incarnation) {
    core::NodeOptions options;
    options.name = name;
    options.incarnation = incarnation;
    options.ttl_max = plan.ttl_max;
    options.wait_max = plan.wait_max;
    options.delay_max = plan.delay_max;
    options.unpacked_max = incarnation % 3;  // mostly packed, though there are few
    options.tiers = {"redis"};
    if (plan.has_mysql()) options.tiers.emplace_back("mysql");
    if (plan.has_local) options.tiers.emplace_back("local");
    return options;
}

authority::FleetOptions fleet_options(const Plan& plan, bool is_turned) {
    authority::FleetOptions options;
    options.tiers.push_back({"redis", "redis", {}, !plan.has_mysql()});
    if (plan.has_mysql()) options.tiers.push_back({"mysql", "mysql", {}, true});
    if (is_turned) std::ranges::reverse(options.tiers);
    options.has_local = plan.has_local;
    options.outlives = plan.has_mysql();
    options.basis.ttl_max = plan.ttl_max;
    options.basis.delay_max = plan.delay_max;
    for (const auto& tier : options.tiers) options.basis.stores.push_back(tier.store);
    options.view_lease = plan.view_lease;
    options.beat_every = plan.beat_every;
    options.read_every = plan.read_every;
    options.settle_grace = plan.settle_grace;
    options.available_max = plan.available_max;
    options.hold_down = plan.hold_down;
    options.hold_down_max = plan.hold_down_max;
    options.vote_kept = plan.vote_kept;
    options.note_every = plan.note_every;
    options.note_fresh = plan.note_fresh;
    return options;
}

}  // namespace

struct Member::Process {
    Process(World& world, Member& member, authority::FleetOptions options)
        : names(member.name_.str() + std::to_string(member.incarnation_) + "-"),
          node(options_of(world.plan, member.name_, member.incarnation_), registry, names),
          fleet(std::move(options), member.known_, names),
          arbiter(world, member, world.plan.arbiter),
          local(0, member.local_floor_) {
        registry.set(ResourceName("r"), {});
        core::ResourceSettings strict;
        strict.safety = core::Safety::strict;
        if (world.plan.has_strict) registry.set(ResourceName("s"), strict);
        core::ResourceSettings to_local;
        to_local.degrade = core::Degrade::local;
        if (world.plan.has_local) registry.set(ResourceName("l"), to_local);
        const std::size_t redis = member.is_turned() ? 1 : 0;
        tiers.push_back(std::make_unique<Tier>(world, member, redis, Site::redis));
        if (world.plan.has_mysql()) {
            tiers.push_back(std::make_unique<Tier>(world, member, 1 - redis, Site::mysql));
        }
        if (redis != 0) std::ranges::reverse(tiers);
    }

    core::Registry registry;
    Names names;
    core::Node node;
    authority::Fleet fleet;
    ArbiterLink arbiter;
    std::vector<std::unique_ptr<Tier>> tiers;
    core::Table local;
    bool is_local = false;
    std::optional<authority::TierIndex> serving;
    std::deque<std::variant<core::Event, authority::FleetEvent>> events;
    bool is_stepping = false;
    bool flushes = false;
    bool is_closed = false;

    // What the node was told last.
    bool is_open = false;
    bool is_confirmed = true;
    Epoch epoch = 0;
    std::string tier;
    std::optional<core::PermitChanged> permit;
};

Member::Member(World& world, std::size_t index, HostClock clock)
    : world_(world),
      index_(index),
      clock_(clock),
      name_(index < 26 ? std::string(1, static_cast<char>('A' + index))
                       : "N" + std::to_string(index)) {}

Member::~Member() = default;

bool Member::is_turned() const noexcept {
    return world_.plan.has_mysql() && world_.plan.turned == static_cast<int>(index_);
}

Time Member::now() const {
    if (stands_at_) return *stands_at_;
    shown_ = std::max(shown_, clock_.at(world_.now()));
    return shown_;
}
core::Node& Member::node() noexcept { return process_->node; }
authority::Fleet& Member::fleet() noexcept { return process_->fleet; }
bool Member::is_open() const noexcept { return process_ && process_->is_open; }
bool Member::is_closed() const noexcept { return process_ && process_->is_closed; }
Epoch Member::epoch() const noexcept { return process_ ? process_->epoch : 0; }
bool Member::is_confirmed() const noexcept { return process_ && process_->is_confirmed; }
bool Member::is_local() const noexcept { return process_ && process_->is_local; }
std::uint64_t Member::serving_run() const noexcept {
    if (!process_ || !process_->serving) return 0;
    return process_->tiers[*process_->serving]->run();
}
const std::string& Member::tier_name() const noexcept {
    static const std::string none;
    return process_ ? process_->tier : none;
}

// ---- its life --------------------------------------------------------------------------------

void Member::start() {
    incarnation_ = ++world_.incarnations;
    authority::FleetOptions options = fleet_options(world_.plan, is_turned());
    options.name = name_;
    options.incarnation = incarnation_;
    options.former = former_;
    options.has_journal =
        former_.has_value() && (has_journal_ || world_.mutant == Mutant::journal_unsaid);
    options.started_ms = wall_start + to_ms(world_.now().time_since_epoch());
    options.arbiter_clock = arbiter_clock_;
    options.kept_record = kept_record_;
#ifdef LATCHD_TEST_MUTANTS
    options.omitted = world_.omitted;
#endif
    local_floor_ =
        std::max(local_floor_, static_cast<std::uint32_t>((options.started_ms - wall_2025) / 1000));
    process_ = std::make_unique<Process>(world_, *this, std::move(options));
    is_paused_ = false;
    is_leaving_ = false;
    resumed_at_ = now();
    armed_.reset();
    world_.note(nullptr, index_, [&] {
        return label() + " starts as " + std::to_string(incarnation_) +
               (has_journal_ ? ", with its journal" : "");
    });
    enter([this] {
        restore_journal();
        for (const auto& tier : process_->tiers) tier->start();
        authority::FleetActions actions;
        process_->fleet.start(
            {now(), authority::WallMs{wall_start + to_ms(now().time_since_epoch())}}, actions);
        take(actions);
        drain_events();
    });
}

void Member::restore_journal() {
    core::Restarted restarted;
    for (const auto& [key, kept] : journal_) {
        core::GrantRecord record = kept.record;
        const Duration passed = now() - kept.at;
        record.left -= passed;
        record.age += passed;
        if (record.hard_left) *record.hard_left -= passed;
        for (core::Hold& hold : record.holds) hold.adopt_left -= passed;
        if (record.left + record.delay > Duration::zero()) {
            restarted.records.push_back(std::move(record));
        }
    }
    journal_.clear();
    for (const core::GrantRecord& record : restarted.records) {
        journal_.insert_or_assign(record.key, Kept{record, now()});
    }
    if (!restarted.records.empty()) feed(std::move(restarted));
}

void Member::kill(Left left) {
    if (!is_alive()) return;
    world_.note(nullptr, index_, [&] {
        return label() + " is killed" +
               (left == Left::journal ? ""
                : left == Left::state ? ", its journal is gone"
                                      : ", nothing of it is left");
    });
    world_.oracle.node_killed(*this, left == Left::journal);
    ended();
    has_journal_ = left == Left::journal;
    if (left != Left::journal) journal_.clear();
    if (left == Left::nothing) {
        known_ = {};
        former_.reset();
        arbiter_clock_.reset();
        kept_record_.reset();
    }
}

void Member::ended() {
    former_ = incarnation_;
    process_.reset();
    inbox_.clear();
    is_paused_ = false;
    stands_at_.reset();
    is_leaving_ = false;
    world_.node_gone(index_);
}

void Member::pause(Duration duration, bool with_clock) {
    if (!is_alive() || is_paused_) return;
    is_paused_ = true;
    world_.note(nullptr, index_, [&] {
        return label() + (with_clock ? "'s host is paused" : " is paused");
    });
    // What is under way to a virtual machine that is away is lost with its connections.
    if (with_clock) {
        world_.break_ways(index_);
        stands_at_ = now();
    }
    world_.time.after(duration, [this, incarnation = incarnation_, duration] {
        if (stands_at_) {
            clock_.step(clock_.at(world_.now() - duration) - clock_.at(world_.now()));
            stands_at_.reset();
        }
        if (incarnation == incarnation_ && is_alive()) goes_on();
    });
}

void Member::goes_on() {
    world_.note(nullptr, index_, [&] { return label() + " goes on"; });
    is_paused_ = false;
    resumed_at_ = now();
    armed_.reset();
    const std::uint64_t incarnation = incarnation_;
    // Timers and sockets are ready at once.
    if (world_.random.chance(50)) woken(incarnation, world_.now());
    while (!inbox_.empty() && is_alive() && incarnation == incarnation_) {
        std::function<void()> what = std::move(inbox_.front());
        inbox_.pop_front();
        run(what);
    }
    if (is_alive() && incarnation == incarnation_) woken(incarnation, world_.now());
}

void Member::leave() {
    if (!is_alive() || is_leaving_) return;
    is_leaving_ = true;
    world_.note(nullptr, index_, [&] { return label() + " is asked to leave"; });
    enter([this] { feed(core::DrainStarted{}); });
}

void Member::command(authority::Command command) {
    enter([this, command] { tell(command); });
}

void Member::change(authority::BasisWanted wish) {
    enter([this, wish] { tell(wish); });
}

void Member::stall_arbiter(Duration duration) {
    if (is_alive()) process_->arbiter.stall(duration);
}

bool Member::has_unsent() const noexcept {
    return process_ && std::ranges::any_of(process_->tiers,
                                           [](const auto& tier) { return tier->has_unsent(); });
}

void Member::enter(std::function<void()> what) {
    if (!is_alive()) return;
    if (is_paused_) {
        inbox_.push_back(std::move(what));
        return;
    }
    run(what);
}

void Member::run(std::function<void()>& what) {
    what();
    arm();
}

// ---- events ----------------------------------------------------------------------------------

void Member::feed(core::Event event) {
    process_->events.emplace_back(std::move(event));
    drain_events();
}

void Member::tell(authority::FleetEvent event) {
    process_->events.emplace_back(std::move(event));
    drain_events();
}

void Member::drain_events() {
    Process& process = *process_;
    if (process.is_stepping) return;
    process.is_stepping = true;
    while (!process.events.empty()) {
        auto next = std::move(process.events.front());
        process.events.pop_front();
        if (auto* const event = std::get_if<core::Event>(&next)) {
            step_node(std::move(*event));
        } else {
            step_fleet(std::move(std::get<authority::FleetEvent>(next)));
        }
    }
    process.is_stepping = false;
}

void Member::step_node(core::Event&& event) {
    world_.transcript.mix(event.index() + 31 * index_);
    note_told(event);
    core::Actions actions;
    process_->node.step(now(), std::move(event), actions);
    for (core::Action& action : actions) carry_out(action);
}

void Member::step_fleet(authority::FleetEvent&& event) {
    world_.transcript.mix(event.index() + 1009 * index_);
    const bool is_view = std::holds_alternative<authority::ArbiterAnswered>(event);
    authority::FleetActions actions;
    const authority::WallMs wall{wall_start + to_ms(world_.now().time_since_epoch())};
    process_->fleet.step({now(), wall}, std::move(event), actions);
    take(actions);
    if (is_view) world_.oracle.judged(*this);
}

void Member::note_told(const core::Event& event) {
    if (const auto* closed = std::get_if<core::StoreClosed>(&event)) {
        process_->is_open = false;
        world_.note(nullptr, 1, [&] { return label() + ": store closed: " + closed->reason; });
    } else if (const auto* opened = std::get_if<core::StoreOpened>(&event)) {
        process_->is_open = true;
        process_->epoch = opened->epoch;
        process_->tier = opened->tier;
        world_.note(nullptr, 2, [&] {
            return label() + ": store open, " + opened->tier + " epoch " +
                   std::to_string(opened->epoch) + (opened->carried ? ", carried" : "");
        });
    } else if (const auto* failed = std::get_if<core::StoreFailed>(&event)) {
        world_.transcript.mix(static_cast<std::uint64_t>(failed->id));
    } else if (const auto* permit = std::get_if<core::PermitChanged>(&event)) {
        process_->is_confirmed = permit->is_confirmed;
        world_.note(nullptr, 6, [&] {
            const auto left = [this](Time until) {
                if (until == Time::max()) return std::string("ever");
                return std::to_string(until > now() ? to_ms(until - now()) : 0) + "ms";
            };
            return label() + ": may grant for " + left(permit->available_until) + ", strict for " +
                   left(permit->strict_until) + (permit->is_confirmed ? "" : ", unconfirmed") +
                   (permit->strict_carried ? "" : ", none carried") +
                   (permit->strict_fresh ? "" : ", none fresh") + " " + permit->reason;
        });
    }
}

void Member::carry_out(core::Action& action) {
    if (auto* const answer = std::get_if<core::Answer>(&action)) {
        world_.answered(*this, answer->ticket, answer->outcome);
    } else if (auto* const submitted = std::get_if<core::Submit>(&action)) {
        submit(submitted->id, std::move(submitted->operation));
    } else if (auto* const put = std::get_if<core::JournalPut>(&action)) {
        world_.oracle.journal_put(*this, put->record);
        journal_.insert_or_assign(put->record.key, Kept{put->record, now()});
    } else if (auto* const drop = std::get_if<core::JournalDrop>(&action)) {
        const auto it = journal_.find(drop->key);
        if (it != journal_.end() && it->second.record.fence == drop->fence) journal_.erase(it);
    } else if (auto* const happened = std::get_if<core::Happened>(&action)) {
        world_.note(&happened->key, 5, [&] {
            return label() + ": event " + std::to_string(static_cast<int>(happened->kind)) + " " +
                   happened->reason;
        });
        world_.oracle.happened(*this, *happened);
    } else if (auto* const given = std::get_if<core::ClaimsGiven>(&action)) {
        claims_given(std::move(*given));
    } else if (auto* const uses = std::get_if<core::UsesGiven>(&action)) {
        process_->events.emplace_back(
            authority::FleetEvent{authority::UsesCollected{std::move(uses->used)}});
    } else if (auto* const ended = std::get_if<core::GrantEnded>(&action)) {
        process_->events.emplace_back(authority::FleetEvent{std::move(*ended)});
    } else if (auto* const what = std::get_if<core::Asserted>(&action)) {
        process_->events.emplace_back(authority::FleetEvent{*what});
    } else if (auto* const asked = std::get_if<core::StrictAsked>(&action)) {
        process_->events.emplace_back(
            authority::FleetEvent{authority::StrictWanted{asked->resource, asked->ttl_high}});
    } else if (std::holds_alternative<core::Drained>(action)) {
        if (!is_leaving_) return;
        if (!std::exchange(process_->is_closed, true)) {
            world_.node_closes(*this);
            process_->events.emplace_back(core::Event{core::DrainStarted{}});
        } else {
            // What it keeps goes to the arbiter.
            process_->events.emplace_back(core::Event{core::ClaimsWanted{0}});
        }
    }
}

void Member::claims_given(core::ClaimsGiven&& given) {
    world_.note(nullptr, given.claims.size(), [&] {
        std::string text = label() + " claims for epoch " + std::to_string(given.epoch) + ":";
        for (const auto& record : given.claims.records) {
            text += " " + record.key.resource.str() + ":" + record.key.id.str() + " fence " +
                    std::to_string(counter_of(record.fence)) + " v" +
                    std::to_string(record.version) + " " + std::to_string(to_ms(record.left)) +
                    "ms";
        }
        for (const auto& gone : given.claims.gone) {
            text += " gone " + gone.key.resource.str() + ":" + gone.key.id.str() + " fence " +
                    std::to_string(counter_of(gone.fence));
        }
        return text;
    });
    if (world_.mutant == Mutant::foreign_not_carried) {
        std::erase_if(given.claims.records, [this](const core::GrantRecord& record) {
            return std::ranges::none_of(record.holds, [this](const core::Hold& hold) {
                return std::ranges::any_of(hold.attempts, [this](const Attempt& attempt) {
                    return attempt.incarnation == incarnation_;
                });
            });
        });
    }
    if (given.epoch == 0) {
        process_->events.emplace_back(
            authority::FleetEvent{authority::LeaveWanted{std::move(given.claims)}});
    } else {
        process_->events.emplace_back(authority::FleetEvent{
            authority::ClaimsCollected{given.epoch, std::move(given.claims)}});
    }
}

// ---- what the authority asks for -------------------------------------------------------------

void Member::take(authority::FleetActions& actions) {
    Process& process = *process_;
    const auto put = [&process](core::Event&& event) {
        process.events.emplace_back(std::move(event));
    };
    for (authority::FleetAction& each : actions) {
        std::visit(
            [&](auto& action) {
                using T = std::decay_t<decltype(action)>;
                if constexpr (std::is_same_v<T, authority::ArbiterDo>) {
                    process.arbiter.act(std::move(action));
                } else if constexpr (std::is_same_v<T, authority::TierServe>) {
                    process.serving = action.tier;
                    process.tiers[action.tier]->act(std::move(action));
                } else if constexpr (std::is_same_v<T, authority::TierWithdraw>) {
                    if (process.serving == action.tier) process.serving.reset();
                    process.tiers[action.tier]->act(std::move(action));
                } else if constexpr (std::is_same_v<T, authority::TierLook> ||
                                     std::is_same_v<T, authority::TierInitialise> ||
                                     std::is_same_v<T, authority::TierLoad> ||
                                     std::is_same_v<T, authority::TierNote> ||
                                     std::is_same_v<T, authority::TierCloseAndRead>) {
                    process.tiers[action.tier]->act(std::move(action));
                } else if constexpr (std::is_same_v<T, authority::LocalServe>) {
                    process.is_local = true;
                } else if constexpr (std::is_same_v<T, authority::LocalWithdraw>) {
                    process.is_local = false;
                } else if constexpr (std::is_same_v<T, authority::ToNode>) {
                    if (auto* const told = std::get_if<core::PermitChanged>(&action.event)) {
                        return permit(std::move(*told));
                    }
                    put(std::move(action.event));
                } else if constexpr (std::is_same_v<T, authority::CollectClaims>) {
                    put(core::ClaimsWanted{action.epoch});
                } else if constexpr (std::is_same_v<T, authority::CollectUses>) {
                    put(core::UsesWanted{});
                } else if constexpr (std::is_same_v<T, authority::SaveKnown>) {
                    world_.oracle.known(*this, known_, action.known);
                    known_ = action.known;
                } else if constexpr (std::is_same_v<T, authority::KeepOffsets>) {
                    arbiter_clock_ = action.arbiter;
                } else if constexpr (std::is_same_v<T, authority::KeepRecord>) {
                    kept_record_ = action.record;
                } else if constexpr (std::is_same_v<T, authority::Gone>) {
                    world_.left_later(index_);
                } else if constexpr (std::is_same_v<T, core::Notice>) {
                    world_.note(nullptr, 7, [&] { return label() + ": " + action.text; });
                } else if constexpr (std::is_same_v<T, authority::Commanded>) {
                    world_.note(nullptr, 8, [&] { return label() + ": command: " + action.text; });
                }
            },
            each);
    }
}

void Member::permit(core::PermitChanged&& permit) {
    const Mutant mutant = world_.mutant;
    if (mutant == Mutant::permit_ignored)
        permit.available_until = permit.strict_until = Time::max();
    if (mutant == Mutant::strict_early) permit.strict_carried = true;
    if (mutant == Mutant::renew_past_permit && permit.strict_until != Time::max()) {
        // Fresh grants end with the permit, renewals don't.
        const Time until = std::exchange(permit.strict_until, Time::max());
        const bool is_over = now() >= until;
        if (is_over) permit.strict_fresh = false;
        if (!is_over) {
            core::PermitChanged later = permit;
            later.strict_fresh = false;
            process_->permit = permit;
            world_.time.at(clock_.when(until), [this, incarnation = incarnation_, permit, later] {
                if (!is_alive() || incarnation != incarnation_) return;
                enter([this, permit, later] {
                    if (process_->permit == permit) feed(core::PermitChanged(later));
                });
            });
        }
    }
    process_->events.emplace_back(core::Event{std::move(permit)});
}

void Member::submit(core::OperationId id, core::Operation&& operation) {
    if (process_->is_local) return serve_locally(id, operation);
    if (!process_->serving) {
        process_->events.emplace_back(
            core::Event{core::StoreFailed{id, core::Failure::unsent, "nothing serves"}});
        return;
    }
    process_->tiers[*process_->serving]->submit(id, std::move(operation));
}

void Member::serve_locally(core::OperationId id, const core::Operation& operation) {
    core::Table& table = process_->local;
    core::OperationReply reply = table.apply(now(), operation);
    if (const LockKey* const key = key_of(operation)) {
        const auto seen = table.apply(now(), core::Inspect{*key}).reply.record;
        local_truth_.observe(world_.now(), clock_, *key, seen ? &*seen : nullptr);
    }
    local_floor_ = std::max(local_floor_, process_->local.counter());
    (void)process_->local.take_told();
    process_->events.emplace_back(core::Event{core::StoreReplied{id, std::move(reply)}});
}

// What a turn submitted leaves at its end; the process may be paused before that.
void Member::flush_later() {
    if (std::exchange(process_->flushes, true)) return;
    world_.time.after(Duration(1), [this, incarnation = incarnation_] {
        if (!is_alive() || incarnation != incarnation_) return;
        enter([this] {
            process_->flushes = false;
            for (const auto& tier : process_->tiers) tier->flush();
        });
    });
}

bool Member::has(Phase phase) noexcept {
    if (!is_alive()) return false;
    if (phase == Phase::held) return process_->node.counts().held > 0;
    if (phase == Phase::waiting) return process_->node.counts().waiting > 0;
    const bool is_busy = std::ranges::any_of(
        process_->tiers, [phase](const auto& tier) { return tier->has(phase); });
    if (phase == Phase::idle) return !is_busy && process_->node.counts().held == 0;
    return is_busy;
}

// ---- time ------------------------------------------------------------------------------------

void Member::arm() {
    if (!is_alive() || is_paused_) return;
    std::optional<Time> due = process_->node.next_deadline();
    const auto by = [&due](std::optional<Time> at) {
        if (at && (!due || *at < *due)) due = at;
    };
    by(process_->fleet.next_deadline());
    by(process_->arbiter.next_deadline());
    for (const auto& tier : process_->tiers) by(tier->next_deadline());
    if (!due) return;
    const Moment at = *due <= now() ? world_.now() : clock_.when(*due);
    if (armed_ && *armed_ <= at) return;
    armed_ = at;
    world_.time.at(at, [this, incarnation = incarnation_, at] { woken(incarnation, at); });
}

void Member::woken(std::uint64_t incarnation, Moment armed) {
    if (incarnation != incarnation_ || !is_alive() || is_paused_) return;
    if (armed_ && *armed_ != armed) return;
    armed_.reset();
    std::function<void()> what = [this] {
        process_->arbiter.on_time();
        for (const auto& tier : process_->tiers) tier->on_time();
        const auto fleet_due = process_->fleet.next_deadline();
        if (fleet_due && *fleet_due <= now()) tell(authority::TimeCame{});
        const auto due = process_->node.next_deadline();
        if (due && *due <= now()) feed(core::TimePassed{});
    };
    run(what);
}

}  // namespace latchd::sim
