// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "member.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <utility>

namespace latchd::sim {
namespace {

core::NodeOptions options_of(const Plan& plan, const NodeName& name, std::uint64_t incarnation) {
    core::NodeOptions options;
    options.name = name;
    options.incarnation = incarnation;
    options.ttl_max = plan.ttl_max;
    options.wait_max = plan.wait_max;
    return options;
}

}  // namespace

struct Member::Process {
    Process(World& world, Member& member, const authority::Known& known)
        : names(member.name_.str() + std::to_string(member.incarnation_) + "-"),
          node(options_of(world.plan, member.name_, member.incarnation_), registry, names),
          link(world, member, known, names) {}

    core::Registry registry;
    Names names;
    core::Node node;
    Link link;
    std::deque<core::Event> events;
    bool is_stepping = false;
};

Member::Member(World& world, std::size_t index, HostClock clock)
    : world_(world),
      index_(index),
      clock_(clock),
      name_(std::string(1, static_cast<char>('A' + index))) {}

Member::~Member() = default;

Time Member::now() const { return clock_.at(world_.now()); }
core::Node& Member::node() noexcept { return process_->node; }
Link& Member::link() noexcept { return process_->link; }

bool Member::would_object(Epoch epoch) const {
    if (!is_alive() || is_paused_ || known_.epoch < epoch) return false;
    // An answer while it was settling: settle_grace is a second.
    const auto heard = process_->link.heard_at();
    return heard && now() - *heard < std::chrono::milliseconds(700);
}

void Member::start() {
    incarnation_ = ++world_.incarnations;
    process_ = std::make_unique<Process>(world_, *this, known_);
    is_paused_ = false;
    resumed_at_ = now();
    armed_.reset();
    world_.note(nullptr, index_, [&] { return label() + " starts"; });
    enter([this] {
        restore_journal();
        process_->link.start();
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

void Member::kill(bool with_journal) {
    if (!is_alive()) return;
    world_.note(nullptr, index_, [&] { return label() + " is killed"; });
    world_.oracle.node_killed(*this, with_journal);
    process_.reset();
    inbox_.clear();
    if (!with_journal) journal_.clear();
    world_.node_gone(index_);
}

void Member::pause(Duration duration) {
    if (!is_alive() || is_paused_) return;
    is_paused_ = true;
    world_.note(nullptr, index_, [&] { return label() + " is paused"; });
    world_.time.after(duration, [this, incarnation = incarnation_] {
        if (incarnation != incarnation_ || !is_alive()) return;
        world_.note(nullptr, index_, [&] { return label() + " goes on"; });
        is_paused_ = false;
        resumed_at_ = now();
        armed_.reset();
        // Timers and sockets are ready at once.
        if (world_.random.chance(50)) woken(incarnation, world_.now());
        while (!inbox_.empty() && is_alive()) {
            std::function<void()> what = std::move(inbox_.front());
            inbox_.pop_front();
            run(what);
        }
        if (is_alive()) woken(incarnation, world_.now());
    });
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

void Member::feed(core::Event event) {
    Process& process = *process_;
    process.events.push_back(std::move(event));
    if (process.is_stepping) return;
    process.is_stepping = true;
    while (!process.events.empty()) {
        core::Event next = std::move(process.events.front());
        process.events.pop_front();
        world_.transcript.mix(next.index() + 31 * index_);
        if (const auto* closed = std::get_if<core::StoreClosed>(&next)) {
            world_.note(nullptr, 1, [&] { return label() + ": store closed: " + closed->reason; });
        } else if (const auto* opened = std::get_if<core::StoreOpened>(&next)) {
            world_.note(nullptr, 2, [&] {
                return label() + ": store open, epoch " + std::to_string(opened->epoch);
            });
        } else if (const auto* failed = std::get_if<core::StoreFailed>(&next)) {
            world_.transcript.mix(static_cast<std::uint64_t>(failed->id));
        }
        core::Actions actions;
        process.node.step(now(), std::move(next), actions);
        for (core::Action& action : actions) carry_out(action);
    }
    process.is_stepping = false;
}

void Member::carry_out(core::Action& action) {
    if (auto* const answer = std::get_if<core::Answer>(&action)) {
        world_.answered(*this, answer->ticket, answer->outcome);
    } else if (auto* const submit = std::get_if<core::Submit>(&action)) {
        process_->link.submit(submit->id, std::move(submit->operation));
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
    }
}

void Member::arm() {
    if (!is_alive() || is_paused_) return;
    std::optional<Time> due = process_->node.next_deadline();
    if (const auto other = process_->link.next_deadline(); other && (!due || *other < *due)) {
        due = other;
    }
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
        process_->link.on_time();
        const auto due = process_->node.next_deadline();
        if (due && *due <= now()) feed(core::TimePassed{});
    };
    run(what);
}

}  // namespace latchd::sim
