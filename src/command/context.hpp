// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "latency_log.hpp"
#include "slow_log.hpp"
#include "statistics.hpp"
#include "subscriptions.hpp"
#include "table.hpp"

#include <latchd/command/dispatcher.hpp>
#include <latchd/resp/writer.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace latchd::command {

[[nodiscard]] inline resp::Protocol protocol_of(int proto) noexcept {
    return proto == 3 ? resp::Protocol::resp3 : resp::Protocol::resp2;
}

// What lives as long as the dispatcher.
struct Services {
    Options options;
    Host& host;
    Table table;
    Statistics statistics;
    SlowLog slow_log;
    LatencyLog latency_log;
    Subscriptions subscriptions;
};

// One request on its way through its handler. A handler writes exactly one reply, or calls
// start().
struct Context {
    Services& services;
    ClientState& client;
    const Command& command;
    Arguments args;  // with the command's name
    std::uint64_t slot;
    std::string& out;
    Disposition& disposition;
    bool failed = false;
    std::span<const std::shared_ptr<const Report>> others = {};  // of a gathering command
    std::size_t silent = 0;                                      // loops that did not report

    [[nodiscard]] Host& host() const noexcept { return services.host; }
    [[nodiscard]] const Options& options() const noexcept { return services.options; }
    // Those of the configuration, or what the fleet agreed on instead.
    [[nodiscard]] Limits limits() const;
    // In the protocol of this moment: HELLO and RESET change it before they reply.
    [[nodiscard]] resp::Writer reply() noexcept { return {out, protocol_of(client.proto)}; }

    void ok() { reply().simple_string("OK"); }
    void error(std::string_view text) {
        failed = true;
        services.statistics.count_error(text);
        reply().error(text);
    }
    void syntax_error() { error("ERR syntax error"); }

    [[nodiscard]] core::Ticket ticket() const noexcept { return {client.id, slot}; }
    template <class CommandOfCore>
    void start(CommandOfCore&& command_of_core, LockKey&& subject, bool may_overlap = true) {
        static_assert(std::is_rvalue_reference_v<CommandOfCore&&>);
        disposition.started.emplace(std::move(command_of_core));
        set_pending(std::move(subject), may_overlap);
    }
    // Of a fleet: answered later; `number`: done is told as 1.
    void ask(Asked::Wish wish, bool number = false);
    // To be run once the other loops have reported.
    void gather();
    void set_pending(LockKey&& subject, bool may_overlap);  // for start()
    void close_after_reply() noexcept { disposition.kind = Disposition::Kind::close_after_flush; }
};

// Printable ASCII without blanks; empty is allowed and takes a name away.
[[nodiscard]] bool is_client_name(std::string_view name) noexcept;

// Of RESET: silently ends all subscriptions of the connection.
void drop_subscriptions(Context& context);

// The reply of HELP: the first line as Redis writes it, then a line per subcommand of the table
// and its summary.
void write_help(Context& context);

}  // namespace latchd::command
