// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions.hpp"

#include "crew_member.hpp"
#include "socket.hpp"

#include <latchd/server/crew.hpp>
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
// A page of another loop's locks that has not come by then won't.
constexpr auto listing_max = std::chrono::milliseconds(1'000);

// LOCKS goes through the loops one after the other: its cursor carries the loop's number in its
// lowest bits, which the cursors of a node, being hashes, can do without.
constexpr std::uint64_t loop_bits = 63;

std::uint64_t next_page(std::uint64_t cursor, std::size_t loop, std::size_t loops) {
    if (cursor != 0) return (cursor & ~loop_bits) | loop;
    return loop + 1 < loops ? loop + 1 : 0;
}

}  // namespace

// Ids are the process's: the loop is what is left of one when divided by their number.
Sessions::Sessions(const SessionLimits& limits,
                   runtime::TcpOptions tcp,
                   NodeShell& shell,
                   Crew& crew,
                   std::size_t loop)
    : limits_(limits),
      tcp_(tcp),
      shell_(shell),
      crew_(crew),
      loop_(loop),
      gatherer_(crew,
                loop,
                [this](const core::Ticket& ticket, Gathered&& result) {
                    gathered(ticket, std::move(result));
                }),
      last_id_(loop + 1) {
    last_id_ -= crew_.size();  // below the first, which is taken by adding
}

Sessions::~Sessions() = default;

std::size_t Sessions::loop_of(ClientId id) const noexcept {
    return (static_cast<std::uint64_t>(id) - 1) % crew_.size();
}

void Sessions::accept(boost::asio::io_context& context, Accepted&& accepted) {
    ++gone_.received;
    if (crew_.clients.fetch_add(1) >= accepted.clients_max) {
        crew_.clients.fetch_sub(1);
        return refuse(std::move(accepted));
    }
    if (accepted.family != AF_UNIX) runtime::set_tcp_options(accepted.descriptor.get(), tcp_);

    command::ClientState state;
    last_id_ += crew_.size();
    state.id = ClientId{last_id_};
    state.loop = static_cast<std::uint32_t>(loop_ + 1);
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
        crew_.clients.fetch_sub(1);
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
    if (const auto* part = std::get_if<core::LockList>(&outcome); part != nullptr && page_) {
        return turn_page(*part);
    }
    if (loop_of(ticket.client) == loop_) {
        if (Session* session = find(ticket.client)) session->complete(ticket.slot, outcome);
        return;
    }
    // Refused, it is as with a loop that hangs: the asker's patience ends.
    (void)crew_.post(loop_of(ticket.client),
                     [ticket, outcome](CrewMember& member) { member.answered(ticket, outcome); });
}

void Sessions::gather(const core::Ticket& ticket, command::Gathering&& gathering) {
    gatherer_.begin(ticket, shell_.now(), std::move(gathering));
}

void Sessions::gathered(const core::Ticket& ticket, Gathered&& result) {
    shell_.later([this, ticket, result = std::move(result)] {
        if (Session* session = find(ticket.client)) session->complete(ticket.slot, result);
    });
}

void Sessions::list(core::ListCommand&& command, std::vector<core::LockView>&& rows) {
    command.cursor &= ~loop_bits;
    page_.emplace(Page{command, std::move(rows)});
    shell_.handle(std::move(command));
    page_.reset();
}

// A page with room left goes on with the next loop's locks.
void Sessions::turn_page(const core::LockList& part) {
    Page page = std::move(*page_);
    page_.reset();
    page.rows.insert(page.rows.end(), part.rows.begin(), part.rows.end());
    const std::size_t next = loop_ + 1;
    const core::Ticket ticket = page.command.ticket;
    core::LockList all{next_page(part.cursor, loop_, crew_.size()), std::move(page.rows)};
    if (part.cursor == 0 && next < crew_.size() && part.rows.size() < page.command.count) {
        page.command.count -= static_cast<std::uint32_t>(part.rows.size());
        page.command.cursor = 0;
        auto go_on = [command = std::move(page.command), rows = all.rows](CrewMember& member) {
            member.list(command, rows);
        };
        if (crew_.post(next, std::move(go_on))) return;
    }
    answered(ticket, std::move(all));
}

void Sessions::list_elsewhere(std::size_t loop, core::ListCommand&& command) {
    if (loop >= crew_.size()) return answered(command.ticket, core::LockList{});
    (void)crew_.post(
        loop, [command = std::move(command)](CrewMember& member) { member.list(command, {}); });
}

void Sessions::end_lists() {
    while (!listings_.empty() && listings_.front().answer_by <= shell_.now()) {
        const core::Ticket ticket = listings_.front().ticket;
        listings_.pop_front();
        // Of one that is answered nothing is left to complete.
        answered(ticket,
                 core::Error{core::ErrorWord::nostore,
                             "another event loop of this process does not answer"});
    }
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
    auto* const page = std::get_if<core::ListCommand>(&command);
    if (page != nullptr && !page->fleet && crew_.size() > 1) {
        const std::size_t loop = page->cursor & loop_bits;
        listings_.push_back({page->ticket, shell_.now() + listing_max});
        return loop == loop_ ? list(std::move(*page), {}) : list_elsewhere(loop, std::move(*page));
    }
    std::visit([this](auto&& one) { shell_.handle(std::move(one)); }, std::move(command));
}

// The word that a refusal begins with; what is done is told by the text, or OK.
store::FleetDesk::Answered Sessions::answer_to(const core::Ticket& ticket, std::string word) {
    return [this, ticket, word = std::move(word)](bool done, const std::string& text) {
        const bool has_word = done || text.starts_with("ERR ");
        command::FleetAnswer answer{done, has_word ? text : word + " " + text};
        if (answer.text.empty()) answer.text = "OK";
        shell_.later([this, ticket, answer = std::move(answer)] {
            if (Session* session = find(ticket.client)) session->complete(ticket.slot, answer);
        });
    };
}

void Sessions::ask_fleet(const core::Ticket& ticket, command::Asked&& asked) {
    store::FleetDesk* const desk = shell_.store() == nullptr ? nullptr : shell_.store()->fleet();
    if (desk == nullptr) return answer_to(ticket, "ERR")(false, "this node belongs to no fleet");
    if (auto* move = std::get_if<command::FleetMove>(&asked.wish)) {
        return desk->move(
            std::move(move->store), move->back, std::move(move->reason), answer_to(ticket, "ERR"));
    }
    if (const auto* change = std::get_if<core::authority::BasisWanted>(&asked.wish)) {
        return desk->change(*change, answer_to(ticket, "NOSTORE arbiter:"));
    }
    auto& wish = std::get<core::authority::WriteResource>(asked.wish);
    // The other loops would read of it in the fleet's registry, a little later.
    auto told = [this, wish, answered = answer_to(ticket, "NOSTORE arbiter:")](
                    bool done, const std::string& text) {
        if (done) tell_loops(wish);
        answered(done, text);
    };
    desk->write(std::move(wish), std::move(told));
}

void Sessions::tell_loops(const core::authority::WriteResource& resource) {
    crew_.post_to_others(loop_, [resource](CrewMember& member) { member.set_resource(resource); });
}

void Sessions::closed(Session& session) {
    const auto it = sessions_.find(static_cast<std::uint64_t>(session.state().id));
    if (it == sessions_.end()) return;
    closed_.push_back(std::move(it->second));
    sessions_.erase(it);
    crew_.clients.fetch_sub(1);
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
    gatherer_.on_tick(shell_.now());
    end_lists();
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

// Not who waits, listens, or has a lock kept: to these silence is their work.
void Sessions::close_idle() {
    for (const auto& [id, limit] : idle_limits_) {
        Session& session = *sessions_.at(id);
        const Time since = std::max(session.state().last_command, session.state().created);
        if (!session.is_idle() || shell_.now() - since < limit) continue;
        if (shell_.node().keeps_for(session.state().id)) continue;
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
