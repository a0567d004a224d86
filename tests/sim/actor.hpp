// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oracle.hpp"
#include "random.hpp"

#include <latchd/core/lock/node.hpp>

#include <map>
#include <optional>

namespace latchd::sim {

// One client program: takes a lock, works, releases it; loses patience, connections and replies;
// sends again what it got no answer for, on any node.
class Actor {
public:
    Actor(World& world, std::size_t index);

    void start();
    // No new wishes; what is held is left to its lease.
    void stop();

    void received(const Exchange& exchange, const core::Outcome& outcome, Moment lease_end);
    // The connection ended, or patience did.
    void failed(const Exchange& exchange);
    void connection_lost(ClientId client);

private:
    enum class State : std::uint8_t { idle, locking, holding, renewing, unlocking, cancelling };

    void begin();
    void draw_wish();
    void send_lock();
    void lock_failed(bool may_have_happened);
    void hold();
    void act();
    void send_unlock();
    void send_renew();
    void send_cancel();
    void finish();
    void later(Duration delay, void (Actor::*what)());
    [[nodiscard]] std::optional<ClientId> connection_to(std::size_t node);
    [[nodiscard]] std::size_t any_node();
    void send(std::size_t node, core::ClientCommand command, Duration patience);

    World& world_;
    std::size_t index_;
    State state_ = State::idle;
    bool is_stopped_ = false;
    std::uint64_t step_ = 0;  // what was scheduled before it counts no more
    std::uint64_t awaited_ = 0;
    std::uint64_t wishes_ = 0;
    core::LockCommand wish_;
    std::size_t home_ = 0;  // where it was granted
    Token token_;
    int sendings_ = 0;
    int acts_ = 0;
    bool listens_ = false;
    std::map<std::size_t, ClientId> connections_;  // by node
};

}  // namespace latchd::sim
