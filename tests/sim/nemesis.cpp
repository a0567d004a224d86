// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "nemesis.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <algorithm>
#include <string>

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// Those of a change, and what lasts no longer than a command.
bool is_rare(Phase phase) noexcept {
    return phase >= Phase::settling || phase == Phase::handover_in_flight;
}

}  // namespace

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
        if (aim_ && is_rare(aim_->phase)) return plot();  // it waits
        const Fault fault = world_.plan.faults[random.index(world_.plan.faults.size())];
        const std::size_t node = random.index(world_.size());
        if (random.chance(75)) {
            // Those of a change are short and rare.
            const auto phase = random.chance(40)
                                   ? (random.chance(35) ? Phase::settling : Phase::initialised)
                                   : static_cast<Phase>(random.index(phase_count));
            const Duration patience = is_rare(phase) ? seconds(6) : seconds(2);
            aim_ = Aim{fault, node, phase, world_.now() + patience};
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
    if (phase == Phase::settling) return world_.is_settling(false);
    if (phase == Phase::initialised) return world_.is_settling(true);
    return world_.member(node).has(phase);
}

void Nemesis::count(Fault fault, std::size_t node) {
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
        if (!is_in(node, static_cast<Phase>(phase))) continue;
        ++coverage_[static_cast<std::size_t>(fault)][phase];
    }
}

void Nemesis::strike(Fault fault, std::size_t node) {
    count(fault, node);
    inflict(fault, node);
}

void Nemesis::inflict(Fault fault, std::size_t node) {
    world_.note(nullptr, 1000 + static_cast<std::uint64_t>(fault), [&] {
        return "FAULT " + std::string(name_of(fault)) + " at " + world_.member(node).label();
    });
    if (fault <= Fault::redis_clock_step) return inflict_on_redis(fault, node);
    if (fault <= Fault::mysql_clock_step) return inflict_on_mysql(fault, node);
    inflict_on_node(fault, node);
}

void Nemesis::inflict_on_redis(Fault fault, std::size_t node) {
    Random& random = world_.random;
    RedisServer& redis = world_.redis();
    const Duration away = random.between(milliseconds(1), seconds(3));
    const Duration cut = random.between(milliseconds(50), seconds(6));
    switch (fault) {
        case Fault::redis_slow:
            return world_.slow_way(node, Site::redis, cut);
        case Fault::redis_cut_to:
            return world_.cut_way(node, Site::redis, true, false, cut);
        case Fault::redis_cut_from:
            return world_.cut_way(node, Site::redis, false, true, cut);
        case Fault::redis_cut:
            return world_.cut_way(node, Site::redis, true, true, cut);
        case Fault::redis_break:
        case Fault::redis_lose_replies:
            world_.oracle.troubled(node, Site::redis, world_.now());
            return redis.break_connections(node, fault == Fault::redis_lose_replies);
        case Fault::redis_freeze:
            world_.oracle.troubled(Site::redis, world_.now() + cut);
            return redis.freeze(cut);
        case Fault::redis_restart_empty:
        case Fault::redis_restart_old:
        case Fault::redis_restart_same:
            world_.oracle.troubled(Site::redis, world_.now() + away);
            return redis.restart(fault == Fault::redis_restart_empty ? RedisServer::Data::none
                                 : fault == Fault::redis_restart_old ? RedisServer::Data::snapshot
                                                                     : RedisServer::Data::all,
                                 away);
        case Fault::redis_promote:
            if (!redis.is_up()) return;
            // Often because the master stood still, and it goes on a while later.
            if (random.chance(60)) redis.freeze(random.between(milliseconds(10), seconds(4)));
            world_.oracle.troubled(Site::redis, world_.now());
            return world_.promote_redis(random.between(milliseconds(1), seconds(8)));
        case Fault::redis_flush:
            world_.oracle.store_changed();
            if (redis.is_up()) redis.flush();
            return;
        case Fault::redis_evict:
            if (redis.is_up()) redis.evict();
            return;
        default: {
            const Duration step = random.chance(50)
                                      ? random.between(milliseconds(-1000), milliseconds(1000))
                                      : random.between(seconds(-10), seconds(10));
            world_.oracle.clock_stepped();
            return redis.step_clock(step);
        }
    }
}

void Nemesis::inflict_on_mysql(Fault fault, std::size_t node) {
    Random& random = world_.random;
    MysqlServer& mysql = world_.mysql();
    const Duration cut = random.between(milliseconds(50), seconds(8));
    switch (fault) {
        case Fault::mysql_slow:
            return world_.slow_way(node, Site::mysql, cut);
        case Fault::mysql_cut_to:
            return world_.cut_way(node, Site::mysql, true, false, cut);
        case Fault::mysql_cut_from:
            return world_.cut_way(node, Site::mysql, false, true, cut);
        case Fault::mysql_cut:
            return world_.cut_way(node, Site::mysql, true, true, cut);
        case Fault::mysql_break:
        case Fault::mysql_lose_replies:
            world_.oracle.troubled(node, Site::mysql, world_.now());
            return mysql.break_connections(node, fault == Fault::mysql_lose_replies);
        case Fault::mysql_freeze:
            world_.oracle.troubled(Site::mysql, world_.now() + cut);
            return mysql.freeze(cut);
        case Fault::mysql_outage:
            world_.oracle.troubled(Site::mysql, world_.now() + cut);
            return mysql.restart(cut);
        case Fault::mysql_promote:
            world_.oracle.troubled(Site::mysql, world_.now());
            return mysql.promote(random.between(Duration{}, milliseconds(400)));
        default: {
            const Duration step = random.chance(50)
                                      ? random.between(milliseconds(-1000), milliseconds(1000))
                                      : random.between(seconds(-10), seconds(10));
            world_.oracle.clock_stepped();
            return mysql.step_clock(step);
        }
    }
}

// The next node that has the arbiter's word, as an operator would look for one; if none has, this.
Member& Nemesis::well_from(std::size_t node) {
    for (std::size_t i = 0; i < world_.size(); ++i) {
        Member& member = world_.member((node + i) % world_.size());
        if (member.is_open() && member.is_confirmed()) return member;
    }
    return world_.member(node);
}

// Somebody's lock that is in its DELAY, or soon will be, as an operator changes delay_max.
void Nemesis::take_delayed(std::size_t node, Random& apart) {
    const auto client = world_.connect_script(node);
    if (!client) return;
    core::LockCommand lock;
    lock.key = {ResourceName(world_.plan.has_strict && apart.chance(50) ? "s" : "r"), LockId("0")};
    lock.ttl = apart.between(milliseconds(300), seconds(1));
    lock.delay = world_.plan.delay_max;
    lock.wait = apart.between(milliseconds(1), seconds(2));
    (void)world_.send(*client, std::move(lock), seconds(5));
}

void Nemesis::inflict_on_node(Fault fault, std::size_t node) {
    Random& random = world_.random;
    Member& member = world_.member(node);
    const Duration away = random.between(milliseconds(1), seconds(3));
    const Duration pause = random.between(milliseconds(50), seconds(8));
    switch (fault) {
        case Fault::messages_cut:
            for (const Site by : {Site::redis, Site::mysql}) {
                world_.cut_messages(by, node, random.between(milliseconds(10), milliseconds(3500)));
            }
            return;
        case Fault::messages_slow:
            for (const Site by : {Site::redis, Site::mysql}) {
                world_.slow_messages(by, node, random.between(milliseconds(100), seconds(3)));
            }
            return;
        case Fault::kill_node:
            member.kill(Member::Left::journal);
            return world_.start_later(node, away);
        case Fault::kill_node_bare:
            member.kill(random.chance(50) ? Member::Left::state : Member::Left::nothing);
            return world_.start_later(node, away);
        case Fault::pause_node:
        case Fault::pause_host:
            world_.oracle.paused(node, world_.now() + pause, fault == Fault::pause_host);
            return member.pause(pause, fault == Fault::pause_host);
        case Fault::leave_node:
            return member.leave();
        default: {
            authority::Command command;
            command.id = ++commands_;
            command.back = random.chance(50);
            command.reason = "nemesis";
            // Drawn apart: where none comes a seed is what it was before there were such changes.
            Random apart(world_.plan.seed ^ (commands_ << 32));
            if (world_.plan.has_mysql() && apart.chance(15)) {
                authority::BasisWanted wish;
                wish.id = commands_;
                wish.stores = {"redis", "mysql"};
                if (apart.chance(50)) std::ranges::reverse(*wish.stores);
                if (apart.chance(30)) wish.stores = {"mysql"};
                return well_from(node).change(std::move(wish));
            }
            if (apart.chance(40)) {
                authority::BasisWanted wish{commands_};
                wish.ttl_max = apart.between(seconds(2), world_.plan.ttl_max);
                if (apart.chance(60)) {
                    wish.delay_max = apart.between(milliseconds(1), world_.plan.delay_max);
                    if (apart.chance(60)) wish.ttl_max.reset();
                    take_delayed(node, apart);
                }
                return well_from(node).change(std::move(wish));
            }
            world_.oracle.commanded();
            return member.command(std::move(command));
        }
    }
}

}  // namespace latchd::sim
