// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "actor.hpp"

#include "world.hpp"

#include <utility>

namespace latchd::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr int sendings_max = 11;

Duration patience(Random& random, Duration wait) {
    // Some give up before the node has to answer.
    return wait + (random.chance(30) ? random.between(milliseconds(20), seconds(2))
                                     : random.between(seconds(2), seconds(3)));
}

}  // namespace

Actor::Actor(World& world, std::size_t index) : world_(world), index_(index) {}

void Actor::start() {
    later(world_.random.between(milliseconds(1), milliseconds(300)), &Actor::begin);
}

void Actor::later(Duration delay, void (Actor::*what)()) {
    const std::uint64_t step = ++step_;
    world_.time.after(delay, [this, step, what] {
        if (step == step_) (this->*what)();
    });
}

void Actor::stop() {
    is_stopped_ = true;
    ++step_;
    awaited_ = 0;
    state_ = State::idle;
    for (const auto& [node, client] : std::map(connections_)) world_.close(client, Duration{});
    connections_.clear();
}

std::size_t Actor::any_node() { return world_.random.index(world_.size()); }

std::optional<ClientId> Actor::connection_to(std::size_t node) {
    const auto it = connections_.find(node);
    if (it != connections_.end() && world_.is_open(it->second)) return it->second;
    const auto client = world_.connect(index_, node);
    if (client) connections_[node] = *client;
    return client;
}

void Actor::send(std::size_t node, core::ClientCommand command, Duration how_long) {
    const auto client = connection_to(node);
    if (!client) {
        // Nobody listens there just now.
        const std::uint64_t step = ++step_;
        world_.time.after(milliseconds(1), [this, step, command] {
            if (step != step_) return;
            Exchange exchange;
            exchange.number = awaited_ = 0;
            exchange.command = command;
            failed(exchange);
        });
        return;
    }
    awaited_ = world_.send(*client, std::move(command), how_long);
    ++step_;
}

// ---- locking ---------------------------------------------------------------------------------

void Actor::begin() {
    if (is_stopped_) return;
    Random& random = world_.random;
    const std::size_t node = any_node();
    if (random.chance(2)) {
        core::ForceCommand force;
        force.key = world_.any_key();
        state_ = State::cancelling;
        return send(node, std::move(force), seconds(3));
    }
    if (random.chance(3)) {
        core::InfoCommand info;
        info.key = world_.any_key();
        state_ = State::cancelling;
        return send(node, std::move(info), seconds(3));
    }
    draw_wish();
    home_ = node;
    send_lock();
}

void Actor::draw_wish() {
    Random& random = world_.random;
    const Plan& plan = world_.plan;
    ++wishes_;
    wish_ = {};
    wish_.key = world_.any_key();
    const bool is_strict = wish_.key.resource == ResourceName("s");
    wish_.ttl = random.between(is_strict ? milliseconds(2000) : milliseconds(300), plan.ttl_max);
    if (random.chance(60)) wish_.wait = random.between(milliseconds(10), plan.wait_max / 2);
    if (random.chance(15)) wish_.owner = OwnerName("o" + std::to_string(random.index(2)));
    if (random.chance(75)) {
        wish_.request = RequestId("q" + std::to_string(index_) + "-" + std::to_string(wishes_));
    }
    wish_.keep = random.chance(35);
    wish_.release_on_close = wish_.keep && !is_strict && random.chance(30);
    if (random.chance(10)) wish_.require = core::Require::shared;
    if (random.chance(15)) wish_.hold_max = random.between(milliseconds(500), 2 * plan.ttl_max);
    if (random.chance(10)) wish_.delay = random.between(milliseconds(100), plan.delay_max);
    wish_.client = ClientName("c" + std::to_string(index_));
    listens_ = random.chance(30);
    sendings_ = 0;
    acts_ = 0;
}

void Actor::send_lock() {
    state_ = State::locking;
    ++sendings_;
    send(home_, wish_, patience(world_.random, wish_.wait));
}

void Actor::lock_failed(bool may_have_happened) {
    Random& random = world_.random;
    if (may_have_happened && wish_.request && sendings_ < sendings_max && random.chance(85)) {
        if (random.chance(12)) return send_cancel();
        home_ = random.chance(50) ? home_ : any_node();
        return later(random.between(milliseconds(1), milliseconds(200)), &Actor::send_lock);
    }
    finish();
}

void Actor::received(const Exchange& exchange, const core::Outcome& outcome, Moment lease_end) {
    if (exchange.number != awaited_) return;
    awaited_ = 0;
    const auto* error = std::get_if<core::Error>(&outcome);
    const auto* number = std::get_if<core::Number>(&outcome);
    switch (state_) {
        case State::locking:
            if (const auto* grant = std::get_if<core::Granted>(&outcome)) {
                token_ = grant->token;
                world_.oracle.received_grant(exchange, *grant, lease_end, listens_);
                return hold();
            }
            if (error != nullptr) return lock_failed(!error->text.starts_with("cancelled"));
            return finish();
        case State::renewing:
            if (number != nullptr && number->value > 0) {
                world_.oracle.received_renewal(exchange, lease_end);
            } else if (number != nullptr) {
                world_.oracle.let_go(token_);
                return finish();
            }
            return hold();
        case State::unlocking:
            if (error != nullptr && ++acts_ < 4) {
                return later(world_.random.between(milliseconds(1), milliseconds(300)),
                             &Actor::send_unlock);
            }
            return finish();
        case State::cancelling:
            return finish();
        case State::idle:
        case State::holding:
            return;
    }
}

void Actor::failed(const Exchange& exchange) {
    if (exchange.number != awaited_) return;
    awaited_ = 0;
    const Duration pause = world_.random.between(milliseconds(1), milliseconds(200));
    switch (state_) {
        case State::locking:
            return lock_failed(true);
        case State::renewing:
            return hold();
        case State::unlocking:
            if (++acts_ < 4) return later(pause, &Actor::send_unlock);
            return finish();
        case State::cancelling:
            return finish();
        case State::idle:
        case State::holding:
            return;
    }
}

void Actor::connection_lost(ClientId client) {
    std::erase_if(connections_, [client](const auto& entry) { return entry.second == client; });
}

// ---- holding ---------------------------------------------------------------------------------

void Actor::hold() {
    state_ = State::holding;
    Random& random = world_.random;
    const Duration ttl = *wish_.ttl;
    // Some work shorter than a round trip, some longer than their lease.
    const Duration work = random.chance(40)   ? random.between(microseconds(10), milliseconds(5))
                          : random.chance(90) ? random.between(milliseconds(5), ttl / 2)
                                              : random.between(ttl / 2, ttl * 3 / 2);
    later(work, &Actor::act);
}

void Actor::act() {
    Random& random = world_.random;
    if (acts_ < 8 && random.chance(35)) {
        ++acts_;
        return send_renew();
    }
    acts_ = 0;
    if (random.chance(8)) {  // dies
        for (const auto& [node, client] : std::map(connections_)) {
            world_.close(client,
                         random.chance(70) ? Duration{} : random.between(Duration{}, seconds(3)));
        }
        connections_.clear();
        return finish();
    }
    if (wish_.request && random.chance(4)) return send_cancel();
    send_unlock();
}

void Actor::send_unlock() {
    state_ = State::unlocking;
    world_.oracle.let_go(token_);
    core::UnlockCommand unlock;
    unlock.key = wish_.key;
    unlock.token = token_;
    send(world_.random.chance(75) ? home_ : any_node(),
         std::move(unlock),
         patience(world_.random, {}));
}

void Actor::send_renew() {
    state_ = State::renewing;
    core::RenewCommand renew;
    renew.key = wish_.key;
    renew.token = token_;
    if (world_.random.chance(50)) {
        renew.ttl = world_.random.between(milliseconds(200), world_.plan.ttl_max);
    }
    renew.keep = world_.random.chance(25);
    send(world_.random.chance(60) ? home_ : any_node(),
         std::move(renew),
         patience(world_.random, {}));
}

void Actor::send_cancel() {
    state_ = State::cancelling;
    world_.oracle.let_go(*wish_.request);
    if (!token_.empty()) world_.oracle.let_go(token_);
    core::CancelCommand cancel;
    cancel.key = wish_.key;
    cancel.request = *wish_.request;
    send(world_.random.chance(50) ? home_ : any_node(), std::move(cancel), seconds(3));
}

void Actor::finish() {
    state_ = State::idle;
    token_ = {};
    const Duration pause = world_.random.chance(50)
                               ? world_.random.between(microseconds(100), milliseconds(20))
                               : world_.random.between(milliseconds(20), milliseconds(600));
    later(pause, &Actor::begin);
}

}  // namespace latchd::sim
