// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gatherer.hpp"
#include "slots.hpp"

#include <latchd/command/client_state.hpp>
#include <latchd/command/dispatcher.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/resp/decoder.hpp>
#include <latchd/server/options.hpp>

#include <boost/asio/generic/stream_protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::server {

class Session;

// What a session needs of its loop.
class SessionHome {
public:
    virtual ~SessionHome() = default;
    [[nodiscard]] virtual command::Dispatcher& dispatcher() = 0;
    [[nodiscard]] virtual Time now() const = 0;
    virtual void refresh_now() = 0;
    virtual void begin_turn() = 0;
    virtual void end_turn() = 0;
    // resume() is called before the turn ends. Outside of a turn one is begun soon.
    virtual void touch(Session& session) = 0;
    // May come back by Session::complete() before it returns.
    virtual void start_command(core::ClientCommand&& command) = 0;
    // Answered by Session::complete(), not before it returns.
    virtual void ask_fleet(const core::Ticket& ticket, command::Asked&& asked) = 0;
    // Answered by Session::complete(), not before it returns.
    virtual void gather(const core::Ticket& ticket, command::Gathering&& gathering) = 0;
    // The connection is over, told once. The session lives until the turn ends.
    virtual void closed(Session& session) = 0;
};

// One client connection: bytes to commands, answers to bytes, in strict order.
//
// Reads by one outstanding async_read_some; everything that arrived is run and its replies leave
// in one send() when the turn ends. A client that doesn't read its replies isn't read either. While
// a LOCK waits the commands behind it wait too, up to a limit of bytes; beyond it only the end of
// the connection is looked for, by the loop's slow tick.
//
// End of the input: commands that have arrived are finished and answered, unless a LOCK is on its
// way. Then the client counts as gone at once: a half-closed and a dead client look alike, and a
// lock that nobody learns of is worse than a reply that nobody gets.
//
// Invariants: (1) a command's reply leaves after those of all earlier commands; (2) closed() is
// told exactly once; (3) neither buffered input nor unsent output grows beyond its limit by more
// than one read, or one reply; (4) nothing is sent before the turn's end, when the journal has it.
// Loop thread only.
class Session final : public std::enable_shared_from_this<Session> {
public:
    using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                    boost::asio::io_context::executor_type>;

    Session(Socket socket,
            command::ClientState state,
            const SessionLimits& limits,
            SessionHome& home);

    void start();

    [[nodiscard]] command::ClientState& state() noexcept { return state_; }
    [[nodiscard]] const command::ClientState& state() const noexcept { return state_; }

    // What the loop asks of it.
    void resume();
    template <class Answer>  // core::Outcome, command::FleetAnswer, Gathered
    void complete(std::uint64_t slot, const Answer& answer);
    void push(std::string_view bytes);
    void kill() noexcept;  // closed at the end of the turn, whatever is unsent
    void finish();         // no further command; closed when all replies have left
    void close();

    // A LOCK is on its way and the socket isn't being read: the loop's slow tick has to look for
    // the end of the connection.
    [[nodiscard]] bool is_deaf() const noexcept;
    // On the slow tick, for clients that have been quiet: gives memory back.
    void relax();

    [[nodiscard]] bool is_idle() const noexcept;
    [[nodiscard]] std::size_t memory_bytes() const noexcept;
    [[nodiscard]] bool was_overrun() const noexcept { return overrun_; }

private:
    // session.cpp: commands and replies
    void process();
    [[nodiscard]] bool may_run() const noexcept;
    void run(command::Arguments args);
    void start_command(command::Started&& started);
    void ask_fleet(command::Asked&& asked);
    void gather(command::Gathering&& gathering);
    void finish_command(const command::Pending& pending,
                        const core::Outcome& outcome,
                        std::string& out);
    void finish_command(const command::Pending& pending,
                        const command::FleetAnswer& answer,
                        std::string& out);
    void finish_command(const command::Pending& pending,
                        const Gathered& gathered,
                        std::string& out);
    void take_reply(std::string&& reply);
    void postpone(command::Arguments args);
    void run_postponed();
    void emit_ready();
    void note_sizes() noexcept;
    [[nodiscard]] bool is_finished() const noexcept;
    [[nodiscard]] std::size_t unsent() const noexcept;

    // session_io.cpp: the socket
    void read();
    void on_read(boost::system::error_code error, std::size_t count);
    void fit_read_buffer(std::size_t count);
    [[nodiscard]] bool wants_input() const noexcept;
    void flush();
    void wait_writable();
    void yield();
    void enter();

    Socket socket_;
    command::ClientState state_;
    SessionLimits limits_;
    SessionHome& home_;
    resp::Decoder decoder_;

    Slots slots_;
    std::size_t in_flight_ = 0;
    std::size_t locks_in_flight_ = 0;
    std::size_t reply_bytes_ = 0;           // in slots
    std::optional<std::uint64_t> blocker_;  // the slot behind which nothing may run
    std::vector<std::string> postponed_;    // a command to run once nothing is open
    std::string scratch_;

    std::vector<char> read_buffer_;
    std::string output_;  // whole replies only
    std::size_t sent_ = 0;

    bool reading_ = false;
    bool relaxing_ = false;  // the read was cancelled to give its buffer back
    bool write_waiting_ = false;
    bool starved_ = true;       // no whole command is in the decoder
    bool input_ended_ = false;  // end of file was read
    bool ending_ = false;       // nothing more is run; close when all replies have left
    bool killed_ = false;
    bool broken_ = false;
    bool overrun_ = false;  // killed because pushes didn't fit
    bool closed_ = false;
    bool yielded_ = false;

    friend class Sessions;
    bool touched_ = false;  // on the loop's list of sessions to resume
};

}  // namespace latchd::server
