// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions.hpp"

#include "socket.hpp"

#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <poll.h>
#include <sys/socket.h>
#include <utility>
#include <variant>

namespace latchd::server {
namespace {

constexpr std::uint32_t ticks_per_relaxing = 8;

}  // namespace

Sessions::Sessions(const SessionLimits& limits, TcpOptions tcp, NodeShell& shell)
    : limits_(limits), tcp_(tcp), shell_(shell) {}

Sessions::~Sessions() = default;

void Sessions::accept(boost::asio::io_context& context, Accepted&& accepted) {
    ++gone_.received;
    if (sessions_.size() >= accepted.clients_max) return refuse(std::move(accepted));
    if (accepted.family != AF_UNIX) set_tcp_options(accepted.descriptor.get(), tcp_);

    command::ClientState state;
    state.id = ClientId{++last_id_};
    state.peer = std::move(accepted.peer);
    state.local = std::move(accepted.local);
    state.descriptor = accepted.descriptor.get();
    state.created = state.last_command = shell_.now();

    boost::system::error_code error;
    Session::Socket socket(context);
    socket.assign(boost::asio::generic::stream_protocol(accepted.family, 0),
                  accepted.descriptor.get(),
                  error);
    if (error) {
        telemetry::log(telemetry::Level::error, "client.refused", error.message());
        return;
    }
    accepted.descriptor.release();
    if (accepted.idle_timeout > Duration::zero()) {
        idle_limits_.emplace(last_id_, accepted.idle_timeout);
    }
    auto session = std::make_shared<Session>(std::move(socket), std::move(state), limits_, *this);
    sessions_.emplace(last_id_, session);
    session->start();
}

void Sessions::refuse(Accepted&& accepted) {
    ++gone_.rejected;
    std::string reply;
    dispatcher_->write_error("ERR max number of clients reached", reply);
    (void)::send(
        accepted.descriptor.get(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    telemetry::log(telemetry::Level::warning,
                   "client.refused",
                   accepted.peer + ": " + std::to_string(accepted.clients_max) +
                       " clients are connected, listen.max_clients");
}

Session* Sessions::find(ClientId id) noexcept {
    const auto it = sessions_.find(static_cast<std::uint64_t>(id));
    return it == sessions_.end() ? nullptr : it->second.get();
}

void Sessions::visit(const std::function<void(const Session&)>& visit) const {
    std::vector<std::uint64_t> ids;
    ids.reserve(sessions_.size());
    for (const auto& [id, session] : sessions_) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    for (const std::uint64_t id : ids) visit(*sessions_.at(id));
}

SessionCounts Sessions::counts() const {
    SessionCounts counts = gone_;
    for (const auto& [id, session] : sessions_) {
        counts.bytes_in += session->state().bytes_in;
        counts.bytes_out += session->state().bytes_out;
    }
    return counts;
}

void Sessions::answered(const core::Ticket& ticket, const core::Outcome& outcome) {
    if (Session* session = find(ticket.client)) session->complete(ticket.slot, outcome);
}

void Sessions::touch(Session& session) {
    if (std::exchange(session.touched_, true)) return;
    touched_.push_back(&session);
}

void Sessions::flush_turn() {
    // Resuming one may touch others: an UNLOCK hands the lock to a waiter.
    for (std::size_t i = 0; i < touched_.size(); ++i) {
        Session* session = touched_[i];
        session->touched_ = false;
        session->resume();
    }
    touched_.clear();
    closed_.clear();
}

void Sessions::start_command(core::ClientCommand&& command) {
    std::visit([this](auto&& one) { shell_.handle(std::move(one)); }, std::move(command));
}

void Sessions::closed(Session& session) {
    const auto it = sessions_.find(static_cast<std::uint64_t>(session.state().id));
    if (it == sessions_.end()) return;
    closed_.push_back(std::move(it->second));
    sessions_.erase(it);
    const command::ClientState& state = session.state();
    idle_limits_.erase(static_cast<std::uint64_t>(state.id));
    gone_.bytes_in += state.bytes_in;
    gone_.bytes_out += state.bytes_out;
    if (session.was_overrun()) {
        ++gone_.overrun;
        telemetry::log(telemetry::Level::warning,
                       "client.slow",
                       state.peer + " doesn't read its messages: closed, limits.output_buffer");
    }
    dispatcher_->gone(state);
    shell_.handle(core::ClientGone{state.id});
}

void Sessions::on_tick() {
    look_for_ends();
    if (!idle_limits_.empty()) close_idle();
    if (++ticks_ % ticks_per_relaxing != 0) return;
    for (const auto& [id, session] : sessions_) {
        if (shell_.now() - session->state().last_command > std::chrono::seconds(2)) {
            session->relax();
        }
    }
}

// Who pipelined more than we read ahead behind a waiting LOCK is not read, so the end of that
// connection shows only here.
void Sessions::look_for_ends() {
    std::vector<pollfd> polls;
    std::vector<Session*> deaf;
    for (const auto& [id, session] : sessions_) {
        if (!session->is_deaf()) continue;
        polls.push_back({session->state().descriptor, POLLRDHUP, 0});
        deaf.push_back(session.get());
    }
    if (polls.empty() || ::poll(polls.data(), polls.size(), 0) <= 0) return;
    for (std::size_t i = 0; i < polls.size(); ++i) {
        if (polls[i].revents == 0) continue;
        deaf[i]->kill();
        touch(*deaf[i]);
    }
}

void Sessions::close_idle() {
    for (const auto& [id, limit] : idle_limits_) {
        Session& session = *sessions_.at(id);
        const Time since = std::max(session.state().last_command, session.state().created);
        if (!session.is_idle() || shell_.now() - since < limit) continue;
        session.kill();
        touch(session);
    }
}

void Sessions::finish_all() {
    for (const auto& [id, session] : sessions_) session->finish();
}

void Sessions::close_all() {
    std::vector<Entry> all;
    for (const auto& [id, session] : sessions_) all.push_back(session);
    for (const Entry& session : all) session->close();
    touched_.clear();
    closed_.clear();
}

}  // namespace latchd::server
