// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// The ways between clients, nodes and the store.
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// ---- nodes and servers -----------------------------------------------------------------------

Duration World::delay(const Way& on) {
    if (now() < on.slow_until) return random.between(milliseconds(25), milliseconds(450));
    const Duration usual = random.between(microseconds(60), microseconds(700));
    return random.chance(2) ? usual + random.between(milliseconds(1), milliseconds(80)) : usual;
}

Duration World::way_to(std::size_t node, Site site) {
    const Way& on = way(node, site);
    return delay(on) + std::max(on.to_until - now(), Duration::zero());
}

Duration World::way_back(std::size_t node, Site site) {
    const Way& on = way(node, site);
    return delay(on) + std::max(on.back_until - now(), Duration::zero());
}

void World::slow_way(std::size_t node, Site site, Duration duration) {
    Moment& until = way(node, site).slow_until;
    until = std::max(until, now() + duration);
    oracle.troubled(node, site, now() + duration, true);
}

void World::cut_way(std::size_t node, Site site, bool to, bool back, Duration duration) {
    Way& on = way(node, site);
    if (to) on.to_until = std::max(on.to_until, now() + duration);
    if (back) on.back_until = std::max(on.back_until, now() + duration);
    oracle.troubled(node, site, now() + duration, true);
}

void World::break_ways(std::size_t node) {
    for (const auto& each : redis_) each->break_connections(node, false);
    if (mysql_) mysql_->break_connections(node, false);
}

void World::server_said(const ConnectionPtr& connection, Said&& said) {
    if (connection->ear == nullptr) return;
    member(connection->node).enter([connection, said = std::move(said)]() mutable {
        if (connection->ear != nullptr) connection->ear->said(connection, std::move(said));
    });
}

void World::server_reset(const ConnectionPtr& connection) {
    if (connection->ear == nullptr) return;
    member(connection->node).enter([connection] {
        if (connection->ear != nullptr) connection->ear->reset(connection);
    });
}

// ---- messages --------------------------------------------------------------------------------

// Redis publishes; on MySQL nodes find out when they poll.
void World::tell(Site by, const NodeName& node, const core::NodeMessage& message) {
    const bool is_offer = message.kind == core::NodeMessage::Kind::offered;
    if (is_offer && mutant == Mutant::offers_unsaid) return;
    for (const auto& each : members_) {
        if (!node.empty() && node != each->name()) continue;
        const Channel& on = channel(each->index(), by);
        if (now() < on.cut_until) continue;
        const bool is_slow = now() < on.slow_until;
        const int copies = is_slow && random.chance(40) ? 2 : 1;
        for (int copy = 0; copy < copies; ++copy) {
            const Duration delay = is_slow ? random.between(milliseconds(1), seconds(1))
                                   : by == Site::mysql
                                       ? random.between(milliseconds(1), milliseconds(250))
                                       : random.between(microseconds(80), milliseconds(1));
            time.after(delay, [to = each.get(), incarnation = each->incarnation(), message] {
                if (to->incarnation() != incarnation) return;
                to->enter([to, message] { to->feed(core::NodeMessage(message)); });
            });
        }
    }
}

// The node finds out when it hears nothing, listens anew, and knows that it may have missed some.
void World::cut_messages(Site by, std::size_t node, Duration duration) {
    Channel& on = channel(node, by);
    on.cut_until = std::max(on.cut_until, now() + duration);
    on.impaired_at = on.cut_until;
    time.after(seconds(3), [this, by, node] {
        if (now() >= channel(node, by).cut_until) return;
        Member& to = member(node);
        to.enter([&to] { to.feed(core::MessagesLost{}); });
    });
    time.at(on.cut_until, [this, by, node] {
        if (now() < channel(node, by).cut_until) return;
        Member& to = member(node);
        to.enter([&to] { to.feed(core::MessagesResumed{}); });
    });
}

void World::cut_messages(Site by, Duration duration) {
    for (std::size_t node = 0; node < size(); ++node) {
        cut_messages(by, node, duration + random.between(milliseconds(1), milliseconds(500)));
    }
}

void World::slow_messages(Site by, std::size_t node, Duration duration) {
    Channel& on = channel(node, by);
    on.slow_until = std::max(on.slow_until, now() + duration);
    on.impaired_at = on.slow_until + seconds(1);
}

bool World::missed_messages(std::size_t node) const {
    return std::ranges::any_of(channels_[node], [this](const Channel& on) {
        return on.impaired_at && now() < *on.impaired_at + plan.ttl_max + seconds(1);
    });
}

// ---- clients ---------------------------------------------------------------------------------

Duration World::way_to_client() {
    return random.chance(2) ? random.between(milliseconds(1), milliseconds(60))
                            : random.between(microseconds(20), microseconds(300));
}

std::optional<ClientId> World::connect(std::size_t actor, std::size_t node) {
    Member& to = member(node);
    if (!to.is_alive() || to.is_closed()) return std::nullopt;
    const ClientId client{++clients_};
    sessions_[client] = Session{actor, node, to.incarnation(), true, true, now()};
    return client;
}

std::uint64_t World::send(ClientId client, core::ClientCommand command, Duration patience) {
    Session& session = sessions_.at(client);
    const std::uint64_t number = ++sent_;
    Exchange exchange;
    exchange.number = number;
    exchange.sent = now();
    exchange.actor = session.actor;
    exchange.node = session.node;
    exchange.incarnation = session.incarnation;
    exchange.ticket = {client, number};
    std::visit([&](auto& c) { c.ticket = exchange.ticket; }, command);
    exchange.command = std::move(command);
    exchanges.emplace(number, std::move(exchange));
    time.after(patience, [this, number] { give_up(number); });
    const bool is_probe = session.actor >= actors_.size();
    if (!is_probe && random.chance(1)) return number;  // lost on its way
    session.arrives = std::max(session.arrives, now() + way_to_client());
    time.at(session.arrives, [this, number] { arrive(number); });
    return number;
}

void World::arrive(std::uint64_t number) {
    const auto it = exchanges.find(number);
    if (it == exchanges.end()) return;
    Member& to = member(it->second.node);
    if (!to.is_alive() || to.incarnation() != it->second.incarnation) return;
    to.enter([this, &to, number] {
        const auto found = exchanges.find(number);
        if (found == exchanges.end()) return;
        Exchange& exchange = found->second;
        if (was_closed(exchange)) return;  // by the node, which leaves
        exchange.arrived = now();
        exchange.arrived_local = to.now();
        oracle.arrived(exchange);
        note(std::holds_alternative<core::LockCommand>(exchange.command)
                 ? &std::get<core::LockCommand>(exchange.command).key
                 : nullptr,
             number,
             [&] {
                 return to.label() + " <- client " +
                        std::to_string(static_cast<std::uint64_t>(exchange.ticket.client)) + " #" +
                        std::to_string(number) + ": " + describe(exchange.command);
             });
        std::visit([&to](auto& c) { to.feed(c); }, exchange.command);
    });
}

void World::answered(Member& from, const core::Ticket& ticket, core::Outcome& outcome) {
    const std::uint64_t number = ticket.slot;
    const auto it = exchanges.find(number);
    note(nullptr, number, [&] {
        return from.label() + " -> client " +
               std::to_string(static_cast<std::uint64_t>(ticket.client)) + " #" +
               std::to_string(number) + ": " + describe(outcome);
    });
    if (ticket.client == ClientId{~0ull}) return;
    if (it == exchanges.end()) {
        return oracle.violate(
            {}, "a command was answered again, long after: #" + std::to_string(number));
    }
    oracle.answered(from, it->second, outcome);
    Moment end{};
    if (const auto* grant = std::get_if<core::Granted>(&outcome)) {
        end = from.clock().when(from.now() + grant->left);
    } else if (const auto* left = std::get_if<core::Number>(&outcome)) {
        end = from.clock().when(from.now() + from_ms(left->value));
    }
    const bool is_probe = it->second.actor >= actors_.size();
    if (is_probe) {
        probe_outcomes_[number] = outcome;
        it->second.is_over = true;
        const Exchange exchange = it->second;
        if (const auto* grant = std::get_if<core::Granted>(&outcome)) {
            oracle.received_grant(exchange, *grant, end, false);
        } else if (std::holds_alternative<core::RenewCommand>(exchange.command) && end > now()) {
            oracle.received_renewal(exchange, end);
        }
        return;
    }
    if (random.chance(1)) return;  // lost on its way: its client gives up
    time.after(way_to_client(), [this, number, outcome, end] {
        const auto found = exchanges.find(number);
        if (found == exchanges.end() || found->second.is_over) return;
        found->second.is_over = true;
        const Exchange exchange = found->second;
        if (is_open(exchange.ticket.client)) {
            actors_[exchange.actor]->received(exchange, outcome, end);
        }
    });
}

void World::give_up(std::uint64_t number) {
    const auto it = exchanges.find(number);
    if (it == exchanges.end() || it->second.is_over) return;
    it->second.is_over = true;
    const Exchange exchange = it->second;
    const bool is_noticed = random.chance(80);
    close(exchange.ticket.client,
          is_noticed ? Duration{} : random.between(milliseconds(1), seconds(3)));
    if (exchange.actor >= actors_.size()) return;
    actors_[exchange.actor]->failed(exchange);
}

void World::close(ClientId client, Duration unnoticed) {
    Session& session = sessions_.at(client);
    if (!session.is_open) return;
    session.is_open = false;
    note(nullptr, 4, [&] {
        return "client " + std::to_string(static_cast<std::uint64_t>(client)) + " closes";
    });
    oracle.client_closed(client);
    if (session.actor < actors_.size()) actors_[session.actor]->connection_lost(client);
    session.arrives = std::max(session.arrives, now() + way_to_client() + unnoticed);
    time.at(session.arrives, [this, client] {
        Session& closed = sessions_.at(client);
        Member& to = member(closed.node);
        if (!to.is_alive() || to.incarnation() != closed.incarnation) return;
        to.enter([this, &to, client] {
            if (std::exchange(sessions_.at(client).is_known, false)) client_gone(to, client);
        });
    });
}

void World::client_gone(Member& to, ClientId client) {
    note(nullptr, 3, [&] {
        return to.label() + ": client " + std::to_string(static_cast<std::uint64_t>(client)) +
               " is gone";
    });
    if (mutant == Mutant::keep_released_at_close) {
        for (auto& [key, token] : oracle.kept_by(client)) {
            core::UnlockCommand unlock;
            unlock.ticket = {ClientId{~0ull}, ++sent_};
            unlock.key = key;
            unlock.token = token;
            to.feed(std::move(unlock));
        }
    }
    to.feed(core::ClientGone{client});
}

bool World::is_open(ClientId client) const {
    const auto it = sessions_.find(client);
    return it != sessions_.end() && it->second.is_open;
}

bool World::is_connected(ClientId client, const Member& to) const {
    const auto it = sessions_.find(client);
    return it != sessions_.end() && it->second.is_open && it->second.node == to.index() &&
           it->second.incarnation == to.incarnation();
}

bool World::was_closed(const Exchange& exchange) const {
    const auto it = sessions_.find(exchange.ticket.client);
    return it == sessions_.end() || !it->second.is_known;
}

// It closes its clients' connections: to it they are gone at once.
void World::node_closes(Member& leaver) {
    node_gone(leaver.index());
    for (auto& [client, session] : sessions_) {
        if (session.node != leaver.index() || session.incarnation != leaver.incarnation() ||
            !std::exchange(session.is_known, false)) {
            continue;
        }
        client_gone(leaver, client);
    }
}

// Its clients see their connections end.
void World::node_gone(std::size_t node) {
    std::vector<ClientId> ended;
    for (auto& [client, session] : sessions_) {
        if (session.node != node || !session.is_open) continue;
        session.is_open = false;
        ended.push_back(client);
    }
    for (const ClientId client : ended) oracle.client_closed(client);
    time.after(way_to_client(), [this, ended] {
        for (const ClientId client : ended) {
            const std::size_t actor = sessions_.at(client).actor;
            if (actor >= actors_.size()) continue;
            actors_[actor]->connection_lost(client);
            for (auto& [number, exchange] : exchanges) {
                if (exchange.ticket.client != client || exchange.is_over) continue;
                exchange.is_over = true;
                // Nobody is left to answer it; or only for nothing, by a node that leaves.
                exchange.is_answered |= member_of(exchange.incarnation) == nullptr;
                const Exchange failed = exchange;
                actors_[actor]->failed(failed);
            }
        }
    });
}

}  // namespace latchd::sim
