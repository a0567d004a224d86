// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "accepted.hpp"
#include "gatherer.hpp"
#include "node_shell.hpp"
#include "session.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace latchd::server {

struct SessionCounts {
    std::uint64_t received = 0;  // connections accepted
    std::uint64_t rejected = 0;  // over a limit
    std::uint64_t overrun = 0;   // closed because their messages didn't fit
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
};

// The connections of one loop, and which of them have something to do before the turn ends.
// Loop thread only.
class Sessions final : public SessionHome {
public:
    // `loop` counts from 0, of the crew's.
    Sessions(const SessionLimits& limits,
             runtime::TcpOptions tcp,
             NodeShell& shell,
             Crew& crew,
             std::size_t loop);
    ~Sessions() override;

    void attach(command::Dispatcher& dispatcher) noexcept { dispatcher_ = &dispatcher; }

    // Takes over an accepted connection, or refuses it as Redis does.
    void accept(boost::asio::io_context& context, Accepted&& accepted);

    [[nodiscard]] Session* find(ClientId id) noexcept;
    void visit(const std::function<void(const Session&)>& visit) const;  // in the order of ids
    [[nodiscard]] std::size_t size() const noexcept { return sessions_.size(); }
    [[nodiscard]] SessionCounts counts() const;

    // Also for a client of another loop, to which it is sent.
    void answered(const core::Ticket& ticket, const core::Outcome& outcome);
    void gathered(const core::Ticket& ticket, Gathered&& gathered);
    [[nodiscard]] Gatherer& gatherer() noexcept { return gatherer_; }
    // A page of LOCKS, which goes on with this loop's.
    void list(core::ListCommand&& command, std::vector<core::LockView>&& rows);
    // What was registered here, or (without settings) is no more, is so on all loops.
    void tell_loops(const core::authority::WriteResource& resource);
    // Where the connection of this id lives, now or formerly.
    [[nodiscard]] std::size_t loop_of(ClientId id) const noexcept;
    void flush_turn();
    void on_tick();  // a few times a second

    void finish_all();
    void close_all();

    [[nodiscard]] command::Dispatcher& dispatcher() override { return *dispatcher_; }
    [[nodiscard]] Time now() const override { return shell_.now(); }
    void refresh_now() override { shell_.refresh_now(); }
    void begin_turn() override { shell_.begin_turn(); }
    void end_turn() override { shell_.end_turn(); }
    void touch(Session& session) override;
    void start_command(core::ClientCommand&& command) override;
    void ask_fleet(const core::Ticket& ticket, command::Asked&& asked) override;
    void gather(const core::Ticket& ticket, command::Gathering&& gathering) override;
    void closed(Session& session) override;

private:
    using Entry = std::shared_ptr<Session>;

    void refuse(Accepted&& accepted);
    [[nodiscard]] store::FleetDesk::Answered answer_to(const core::Ticket& ticket,
                                                       std::string word);
    void list_elsewhere(std::size_t loop, core::ListCommand&& command);
    void end_lists();
    void turn_page(const core::LockList& part);
    void look_for_ends();
    void close_idle();

    SessionLimits limits_;
    runtime::TcpOptions tcp_;
    NodeShell& shell_;
    command::Dispatcher* dispatcher_ = nullptr;
    std::unordered_map<std::uint64_t, Entry> sessions_;
    std::unordered_map<std::uint64_t, Duration> idle_limits_;  // of those that have one
    std::vector<Session*> touched_;
    std::vector<Entry> closed_;  // until the turn ends
    Crew& crew_;
    std::size_t loop_;
    Gatherer gatherer_;
    struct Listing {
        core::Ticket ticket;
        Time answer_by;
    };
    std::deque<Listing> listings_;  // asked of other loops
    struct Page {
        core::ListCommand command;
        std::vector<core::LockView> rows;
    };
    std::optional<Page> page_;  // while the node is asked for it, which answers from within
    std::uint64_t last_id_;
    std::uint32_t ticks_ = 0;
    SessionCounts gone_;  // counts of connections that are closed
};

}  // namespace latchd::server
