// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::uint64_t steps_max = 3'000'000;
constexpr std::size_t nobody = static_cast<std::size_t>(-1);

HostClock draw_clock(Random& random, std::int64_t ppm_max) {
    return {random.between(hours(1), hours(100)), random.between(-ppm_max, ppm_max)};
}

}  // namespace

World::World(std::uint64_t seed, const RunOptions& options)
    : plan(seed, options.nodes),
      mutant(options.mutant),
      random(seed),
      transcript(options.writes_transcript),
      oracle(*this),
      redis(*this, draw_clock(random, plan.ppm_max)),
      nemesis_(*this),
      transcript_lines_(options.transcript_lines) {
    time.skip_to(Moment(seconds(1)));
    ways_.resize(static_cast<std::size_t>(plan.nodes));
    channels_.resize(ways_.size());
    for (std::size_t i = 0; i < ways_.size(); ++i) {
        members_.push_back(std::make_unique<Member>(*this, i, draw_clock(random, plan.ppm_max)));
    }
    for (int i = 0; i < plan.clients; ++i) {
        actors_.push_back(std::make_unique<Actor>(*this, static_cast<std::size_t>(i)));
    }
}

World::~World() = default;

LockKey World::any_key() {
    const auto id = random.index(static_cast<std::size_t>(plan.locks));
    return {ResourceName("r"), LockId(std::to_string(id))};
}

// ---- the run ---------------------------------------------------------------------------------

Result World::run() {
    for (const auto& member : members_) member->start();
    redis.save_snapshot();
    snapshots();
    for (const auto& actor : actors_) actor->start();
    const int rounds = 6;
    for (int round = 0; round < rounds && !oracle.violation(); ++round) {
        nemesis_.start();
        run_for(plan.faults_last / rounds);
        run_calm();
    }
    if (!oracle.violation()) check_liveness();
    return result();
}

void World::run_for(Duration duration) {
    const Moment until = now() + duration;
    Moment next_look = now() + seconds(1);
    std::uint64_t at_once = 0;
    Moment last = now();
    while (!oracle.violation() && time.step(until)) {
        nemesis_.poll();
        at_once = now() == last ? at_once + 1 : 0;
        last = now();
        if (++steps_ > steps_max || at_once > 100'000) {
            oracle.violate({}, "time stands still: something is done over and over");
        }
        if (now() >= next_look) {
            next_look = now() + seconds(1);
            oracle.check_overdue();
            std::erase_if(exchanges, [this](const auto& entry) {
                const Exchange& exchange = entry.second;
                const Moment kept_until = exchange.is_answered ? exchange.answered_at + seconds(4)
                                                               : exchange.sent + seconds(20);
                return exchange.is_over && kept_until < now();
            });
        }
    }
    if (!oracle.violation()) time.skip_to(until);
}

// Nothing fails any more, clients go on: soon nothing is left of what failed.
void World::run_calm() {
    nemesis_.stop();
    heal();
    run_for(milliseconds(5500));
    if (!oracle.violation()) oracle.check_untold();
}

void World::heal() {
    note(nullptr, 99, [] { return std::string("the faults stop"); });
    // What lasts already lasts for at most five seconds more; the ways are clear at once.
    for (Way& way : ways_) way = {};
}

// Every lock can be had again through every node, and then nothing is left.
void World::check_liveness() {
    run_for(seconds(3));
    for (const auto& actor : actors_) actor->stop();
    note(nullptr, 98, [] { return std::string("the clients stop"); });
    const Duration bound = plan.ttl_max + plan.delay_max + seconds(6);
    for (int id = 0; id < plan.locks && !oracle.violation(); ++id) {
        for (std::size_t node = 0; node < size() && !oracle.violation(); ++node) {
            probe(node, {ResourceName("r"), LockId(std::to_string(id))}, bound);
        }
    }
    if (oracle.violation()) return;
    run_for(plan.ttl_max + plan.delay_max + seconds(10));
    if (!oracle.violation()) oracle.check_empty();
}

void World::probe(std::size_t node, const LockKey& key, Duration bound) {
    const auto client = connect(nobody, node);
    if (!client) return oracle.violate(key, "a node does not come back");
    core::LockCommand lock;
    lock.key = key;
    lock.ttl = plan.ttl_max;
    lock.wait = bound;
    const auto number = send(*client, lock, bound + seconds(5));
    const Moment until = now() + bound + seconds(3);
    while (!oracle.violation() && now() < until && !probe_outcomes_.contains(number)) {
        run_for(milliseconds(5));
    }
    if (oracle.violation()) return;
    const auto outcome = probe_outcomes_.find(number);
    const auto* grant =
        outcome == probe_outcomes_.end() ? nullptr : std::get_if<core::Granted>(&outcome->second);
    if (grant == nullptr) {
        return oracle.violate(
            key,
            "liveness: the lock can't be had through " + member(node).label() + ": " +
                (outcome == probe_outcomes_.end() ? "no answer" : describe(outcome->second)));
    }
    core::UnlockCommand unlock;
    unlock.key = key;
    unlock.token = grant->token;
    const auto released = send(*client, std::move(unlock), seconds(5));
    run_for(milliseconds(2100));
    const auto freed = probe_outcomes_.find(released);
    if (freed == probe_outcomes_.end() || describe(freed->second) != "1") {
        oracle.violate(key, "liveness: UNLOCK is not answered 1");
    }
    close(*client, Duration{});
}

Result World::result() {
    Result result;
    result.seed = plan.seed;
    result.hash = transcript.hash();
    result.steps = steps_;
    result.violation = oracle.violation();
    if (result.violation) {
        const bool is_general = result.violation->key.id.empty();
        result.transcript =
            transcript.tail(is_general ? nullptr : &result.violation->key, transcript_lines_);
    } else {
        result.transcript = transcript.tail(nullptr, transcript_lines_);
    }
    result.tally = oracle.tally();
    result.coverage = nemesis_.coverage();
    for (const auto& member : members_) {
        if (!member->is_alive()) continue;
        const core::NodeCounts counts = member->node().counts();
        result.counts.adopted += counts.adopted;
        result.counts.handovers += counts.handovers;
        result.counts.undone += counts.undone;
        result.counts.uncertain += counts.uncertain;
        result.counts.lost += counts.lost;
    }
    return result;
}

void World::snapshots() {
    time.after(random.between(milliseconds(200), seconds(5)), [this] {
        redis.save_snapshot();
        snapshots();
    });
}

void World::start_later(std::size_t node, Duration delay) {
    time.after(delay, [this, node] {
        if (!member(node).is_alive()) member(node).start();
    });
}

}  // namespace latchd::sim
