// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "nemesis.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <string>

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

void Nemesis::start() {
    is_active_ = true;
    ++round_;
    plot();
}

void Nemesis::stop() {
    is_active_ = false;
    aim_.reset();
}

void Nemesis::plot() {
    if (world_.plan.faults.empty()) return;
    const Duration every = world_.plan.fault_every;
    world_.time.after(world_.random.between(every / 4, every * 2), [this, round = round_] {
        if (!is_active_ || round != round_) return;
        Random& random = world_.random;
        const Fault fault = world_.plan.faults[random.index(world_.plan.faults.size())];
        const std::size_t node = random.index(world_.size());
        if (random.chance(70)) {
            const auto phase = static_cast<Phase>(random.index(phase_count));
            aim_ = Aim{fault, node, phase, world_.now() + seconds(1)};
        } else {
            strike(fault, node);
        }
        plot();
    });
}

void Nemesis::poll() {
    if (!aim_ || !is_active_) return;
    if (!is_in(aim_->node, aim_->phase) && world_.now() < aim_->until) return;
    const Aim aim = *aim_;
    aim_.reset();
    strike(aim.fault, aim.node);
}

bool Nemesis::is_in(std::size_t node, Phase phase) const {
    Member& member = world_.member(node);
    if (!member.is_alive()) return false;
    if (phase == Phase::held) return member.node().counts().held > 0;
    if (phase == Phase::waiting) return member.node().counts().waiting > 0;
    return member.link().has(phase);
}

void Nemesis::count(Fault fault, std::size_t node) {
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
        if (!is_in(node, static_cast<Phase>(phase))) continue;
        ++coverage_[static_cast<std::size_t>(fault)][phase];
    }
}

void Nemesis::strike(Fault fault, std::size_t node) {
    count(fault, node);
    world_.note(nullptr, 1000 + static_cast<std::uint64_t>(fault), [&] {
        return "FAULT " + std::string(name_of(fault)) + " at node " +
               world_.member(node).name().str();
    });
    inflict(fault, node);
}

void Nemesis::inflict(Fault fault, std::size_t node) {
    Random& random = world_.random;
    const Moment now = world_.now();
    const Duration away = random.between(milliseconds(1), milliseconds(1500));
    switch (fault) {
        case Fault::slow:
            return world_.slow_way(node, now + random.between(milliseconds(100), seconds(3)));
        case Fault::stall:
            return world_.stall_way(node, now + random.between(milliseconds(50), seconds(4)));
        case Fault::freeze:
            return world_.redis.freeze(random.between(milliseconds(50), seconds(4)));
        case Fault::break_connection:
            return world_.redis.break_connection(node, false);
        case Fault::lose_replies:
            return world_.redis.break_connection(node, true);
        case Fault::restart_empty:
            return world_.redis.restart(Redis::Data::none, away);
        case Fault::restart_old:
            return world_.redis.restart(Redis::Data::snapshot, away);
        case Fault::restart_same:
            return world_.redis.restart(Redis::Data::all, away);
        case Fault::flush:
            return world_.redis.flush();
        case Fault::messages_cut:
            return world_.cut_messages(node, random.between(milliseconds(10), milliseconds(3500)));
        case Fault::messages_slow:
            return world_.slow_messages(node, random.between(milliseconds(100), seconds(3)));
        case Fault::kill_node:
        case Fault::kill_node_bare:
            world_.member(node).kill(fault == Fault::kill_node);
            return world_.start_later(node, away);
        case Fault::pause_node:
            return world_.member(node).pause(random.between(milliseconds(50), seconds(5)));
    }
}

}  // namespace latchd::sim
