// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

#include "transcript.hpp"
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {

Server::Server(World& world, Site site, HostClock clock)
    : world_(world), clock_(clock), site_(site), run_(++world.runs) {}

Time Server::local_now() const { return clock_.at(world_.now()); }

authority::StoreMs Server::shown() const {
    return authority::StoreMs{to_ms(local_now().time_since_epoch())};
}

bool Server::is_frozen() const { return world_.now() < frozen_until_; }

// ---- connections -----------------------------------------------------------------------------

ConnectionPtr Server::connect(std::size_t node, Ear& ear) {
    auto connection = std::make_shared<Connection>();
    connection->id = ++connection_count_;
    connection->run = run_;
    connection->server = this;
    connection->node = node;
    connection->ear = &ear;
    std::erase_if(connections_, [this](const ConnectionPtr& c) {
        const Moment last = std::max(c->arrives, c->held_up_until);
        return c->ear == nullptr && (!c->is_open || (c->inbox.empty() && last < world_.now()));
    });
    connections_.push_back(connection);
    if (!is_up_) {
        connection->is_open = false;
        reset(connection);
    }
    return connection;
}

void Server::reset(const ConnectionPtr& connection) {
    world_.time.after(world_.way_back(connection->node, site_),
                      [this, connection] { world_.server_reset(connection); });
}

void Server::send(const ConnectionPtr& connection, Call call) {
    Server& server = *connection->server;
    World& world = server.world_;
    connection->arrives =
        std::max(connection->arrives, world.now() + world.way_to(connection->node, server.site_));
    world.time.at(connection->arrives, [&server, connection, call = std::move(call)]() mutable {
        server.arrived(connection, std::move(call));
    });
}

void Server::arrived(const ConnectionPtr& connection, Call&& call) {
    if (world_.now() < connection->held_up_until) {
        return world_.time.at(connection->held_up_until,
                              [this, connection, call = std::move(call)]() mutable {
                                  arrived(connection, std::move(call));
                              });
    }
    if (!is_up_ || !connection->is_open || connection->run != run_) return;
    if (is_frozen()) {
        connection->inbox.push_back(std::move(call));
        return;
    }
    execute(connection, std::move(call));
}

void Server::execute(const ConnectionPtr& connection, Call&& call) {
    Said said = carry_out(*connection, call);
    if (connection->loses_replies) return;
    connection->returns =
        std::max(connection->returns, world_.now() + world_.way_back(connection->node, site_));
    world_.time.at(connection->returns, [this, connection, said = std::move(said)]() mutable {
        if (!connection->loses_replies) world_.server_said(connection, std::move(said));
    });
}

void Server::abandon(const ConnectionPtr& connection) {
    connection->ear = nullptr;
    if (connection->server->world_.random.chance(40)) connection->is_open = false;
}

void Server::break_connections(std::size_t node, bool answers_only) {
    for (const ConnectionPtr& connection : connections_) {
        if (connection->node != node || connection->ear == nullptr) continue;
        connection->loses_replies = true;
        if (world_.random.chance(50)) {
            connection->held_up_until =
                world_.now() + world_.random.between(Duration(1), std::chrono::seconds(3));
        }
        if (!answers_only) reset(connection);  // else the node finds out by its own time-out
    }
}

// ---- calls -----------------------------------------------------------------------------------

Said Server::carry_out(const Connection& from, Call& call) {
    return std::visit([&](auto& c) { return on(from, c); }, call);
}

Said Server::on(const Connection&, KillFormer& call) {
    if (!world_.plan.kill_works || world_.mutant == Mutant::no_kill) return std::monostate{};
    for (const ConnectionPtr& connection : connections_) {
        if (std::ranges::find(call.connections, connection->id) != call.connections.end()) {
            connection->is_open = false;
        }
    }
    return std::monostate{};
}

Said Server::on(const Connection& from, authority::ArbiterCall& call) {
    return world_.arbitrate(from.node, arbiter_, shown(), call);
}

bool Server::is_clock_off(const Guard& guard) const {
    if (!guard.expected || world_.mutant == Mutant::clock_unchecked) return false;
    const Duration off = from_ms(static_cast<std::int64_t>(shown())) -
                         from_ms(static_cast<std::int64_t>(*guard.expected));
    return off > guard.window || off < -guard.window;
}

Said Server::refuse(const Connection& from, const Guarded& call, Said why) {
    world_.note(key_of(call.operation), why.index(), [&] {
        return label() + " refuses " + world_.member(from.node).label() + "'s " +
               describe(call.operation) +
               (std::holds_alternative<Stale>(why) ? ": stale" : ": clock");
    });
    return why;
}

// ---- faults ----------------------------------------------------------------------------------

void Server::freeze(Duration duration) {
    if (!is_up_) return;
    frozen_until_ = std::max(frozen_until_, world_.now() + duration);
    world_.time.at(frozen_until_, [this] { thaw(); });
}

// Which connection is served first is anybody's guess.
void Server::thaw() {
    if (is_frozen()) return;
    std::vector<ConnectionPtr> waiting;
    for (const ConnectionPtr& connection : connections_) {
        if (!connection->inbox.empty()) waiting.push_back(connection);
    }
    while (!waiting.empty()) {
        const std::size_t pick = world_.random.index(waiting.size());
        const ConnectionPtr connection = waiting[pick];
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(pick));
        while (!connection->inbox.empty() && connection->is_open) {
            Call call = std::move(connection->inbox.front());
            connection->inbox.pop_front();
            execute(connection, std::move(call));
        }
        connection->inbox.clear();
    }
}

void Server::go_down() {
    is_up_ = false;
    frozen_until_ = {};
    for (const ConnectionPtr& connection : connections_) {
        if (!connection->is_open && connection->ear == nullptr) continue;
        connection->is_open = false;
        connection->inbox.clear();
        reset(connection);
    }
}

void Server::come_up(bool as_another_process) {
    is_up_ = true;
    if (as_another_process) run_ = ++world_.runs;
}

}  // namespace latchd::sim
