// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/command/client_state.hpp>
#include <latchd/command/host.hpp>
#include <latchd/command/options.hpp>
#include <latchd/core/authority/arbiter.hpp>
#include <latchd/core/lock/command.hpp>
#include <latchd/core/lock/node.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace latchd::command {

using Arguments = std::span<const std::string_view>;

struct Command;  // a row of the command table; private to the module

// What the answer of a started command needs besides the outcome. The server keeps it with the
// command's slot. It holds the protocol of the moment: a HELLO behind the command must not change
// the form of the command's own reply.
struct Pending {
    const Command* command = nullptr;
    int proto = 2;
    bool silent = false;   // CLIENT REPLY OFF or SKIP: nothing is written
    bool explain = false;  // LOCKINFO … EXPLAIN
    bool waits = false;    // LOCK with WAIT: its time is not the store's
    bool number = false;   // of the authority: done is told as 1
    Time started{};
    LockKey subject;  // for SLOWLOG
};

// A command that needs the core. The ticket is (state.id, slot).
struct Started {
    Started() = default;
    template <class CommandOfCore>
    explicit Started(CommandOfCore&& of)
        : command(std::in_place_type<CommandOfCore>, std::forward<CommandOfCore>(of)) {}

    core::ClientCommand command;
    Pending pending;
    // Later commands of the same connection may be run before this one is answered; their
    // replies still leave behind its reply. False for LOCK with WAIT and for LOCKS.
    bool may_overlap = true;
};

// LATCHD FAILOVER (to `store`, or to the next one that is healthy) and FAILBACK.
struct FleetMove {
    std::string store;
    bool back = false;
    std::string reason;  // who asked
};
// A command that only the fleet's authority can carry out.
struct Asked {
    using Wish =
        std::variant<FleetMove, core::authority::WriteResource, core::authority::BasisWanted>;
    Wish wish;
    Pending pending;
};
struct FleetAnswer {
    bool done = false;
    std::string text;  // the reply; not done: why
};

// A command about all loops of the process: what each other loop's dispatcher reports of it is
// wanted before it is run.
struct Gathering {
    Pending pending;
    std::vector<std::string> arguments;  // as sent, with the name
};
struct Report;  // private to the module
using Reports = std::vector<std::shared_ptr<const Report>>;

struct Disposition {
    enum class Kind : std::uint8_t {
        done,               // the reply (perhaps none: CLIENT REPLY) is in `out`
        asked,              // give `asked->wish` to the authority, later call finish()
        gathering,          // collect report(*gathering) of all other loops, then call finish()
        started,            // give `started->command` to the core, later call finish()
        postponed,          // nothing was done: run it again once everything before is answered
        close_after_flush,  // as done, and close when all replies up to this one have left
    };

    // Not the compiler's: that would zero what most dispositions never use.
    Disposition() noexcept {}

    Kind kind = Kind::done;
    std::optional<Started> started;
    std::optional<Asked> asked;
    std::optional<Gathering> gathering;
};

// Turns requests into replies, or into commands of the core, and the core's outcomes into
// replies. The only place that knows RESP replies and error words. One per node; not thread-safe.
//
// Invariants: exactly one of run() == done, run() == close_after_flush or finish() happens for
// each request; nothing but `out` and Host::push() carries bytes to clients.
class Dispatcher {
public:
    Dispatcher(Options options, Host& host);
    ~Dispatcher();
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    // Runs one request; args[0] is the command's name, args is never empty. The views need to
    // live only for the call. Appends the reply to `out`.
    [[nodiscard]] Disposition run(ClientState& state,
                                  Arguments args,
                                  std::uint64_t slot,
                                  std::string& out);

    // Appends the reply of a started command. Call it once for each, also (with a scratch `out`)
    // when the client is about to be closed; not after gone().
    void finish(ClientState& state,
                const Pending& pending,
                const core::Outcome& outcome,
                std::string& out);

    void finish(ClientState& state,
                const Pending& pending,
                const FleetAnswer& answer,
                std::string& out);

    // `silent`: so many other loops did not report in time. True: the connection is to be closed
    // when its replies have left.
    [[nodiscard]] bool finish(ClientState& state,
                              const Gathering& gathering,
                              const Reports& reports,
                              std::size_t silent,
                              std::string& out);

    // This loop's part of a command that a client of another loop sent: what it does here, and what
    // is to be told. To be read by any thread.
    [[nodiscard]] std::shared_ptr<const Report> report(const Gathering& gathering);

    // The connection is closed: forgets its subscriptions.
    void gone(const ClientState& state);

    // Tells subscribers of latchd:events:<resource>, and the holder's connection if it asked by
    // LATCHD EVENTS ON, by Host::push().
    void publish(const core::Happened& happened);

    // Tells everybody who subscribed to events of resources that the fleet's locks move.
    void publish(const core::authority::Changed& change);

    // An error outside any command, "-ERR …" with the line end: protocol errors, the client
    // limit. Counted in errorstats. `text` begins with the error's word.
    void write_error(std::string_view text, std::string& out);

    // For LATENCY: event is one of store-check, failover, event-loop, dns.
    void note_latency(std::string_view event, Duration took);

    // For metrics and tests.
    [[nodiscard]] std::uint64_t commands_processed() const noexcept;
    [[nodiscard]] std::uint64_t error_replies() const noexcept;

    [[nodiscard]] const Options& options() const noexcept;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

// What an unauthenticated client may send is smaller: the server gives the decoder these limits
// until state.authenticated (or always, when no password is set, the full ones).
[[nodiscard]] bool is_trusted(const ClientState& state, const Options& options) noexcept;

}  // namespace latchd::command
