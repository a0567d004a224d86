// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "client_line.hpp"
#include "context.hpp"
#include "report.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

// CLIENT: what a connection says of itself, and what operators see and end.
namespace latchd::command {
namespace {

constexpr std::string_view bad_name =
    "ERR Client names cannot contain spaces, newlines or special characters.";

void run_setname(Context& context) {
    if (!is_client_name(context.args[2])) return context.error(bad_name);
    context.client.name = std::string(context.args[2]);
    context.ok();
}

void run_getname(Context& context) {
    if (context.client.name.empty()) return context.reply().null();
    context.reply().bulk(context.client.name);
}

void run_setinfo(Context& context) {
    const std::string_view option = context.args[2];
    const std::string_view value = context.args[3];
    const bool is_name = equals_ignoring_case(option, "LIB-NAME");
    if (!is_name && !equals_ignoring_case(option, "LIB-VER")) {
        return context.error("ERR Unrecognized option " + quoted(option));
    }
    if (!is_client_name(value)) {
        return context.error("ERR CLIENT SETINFO " + lower(option) +
                             " cannot contain spaces, newlines or special characters.");
    }
    (is_name ? context.client.lib_name : context.client.lib_version) = std::string(value);
    context.ok();
}

void run_id(Context& context) {
    context.reply().integer(static_cast<std::int64_t>(context.client.id));
}

void run_info(Context& context) {
    context.reply().verbatim(client_line(context.client, context.host().now()));
}

bool is_client_type(std::string_view type) noexcept {
    for (const std::string_view known : {"normal", "pubsub", "master", "replica", "slave"}) {
        if (equals_ignoring_case(type, known)) return true;
    }
    return false;
}

// CLIENT LIST [TYPE type] [ID id...]
void run_list(Context& context) {
    const Arguments options = context.args.subspan(2);
    std::string_view type;
    std::vector<ClientId> ids;
    if (options.size() == 2 && equals_ignoring_case(options[0], "TYPE")) {
        type = options[1];
        if (!is_client_type(type)) {
            return context.error("ERR Unknown client type " + quoted(type));
        }
    } else if (options.size() > 1 && equals_ignoring_case(options[0], "ID")) {
        for (const std::string_view id : options.subspan(1)) {
            const auto number = parse_integer(id);
            if (!number) return context.error("ERR Invalid client ID");
            ids.push_back(static_cast<ClientId>(*number));
        }
    } else if (!options.empty()) {
        return context.syntax_error();
    }
    std::string lines;
    const Time now = context.host().now();
    visit_clients_of_all(context, [&](const ClientState& client) {
        const bool listed =
            ids.empty() || std::find(ids.begin(), ids.end(), client.id) != ids.end();
        if (listed && (type.empty() || equals_ignoring_case(type_of(client), type))) {
            lines += client_line(client, now);
        }
    });
    context.reply().verbatim(lines);
}

struct KillFilter {
    std::optional<std::int64_t> id;
    std::string_view type;
    std::string_view user;
    std::string_view peer;
    std::string_view local;
    bool skips_me = true;
};

bool fits(const KillFilter& filter, const ClientState& client, ClientId me) {
    if (filter.skips_me && client.id == me) return false;
    if (filter.id && client.id != static_cast<ClientId>(*filter.id)) return false;
    if (!filter.type.empty() && !equals_ignoring_case(filter.type, type_of(client))) return false;
    if (!filter.peer.empty() && filter.peer != client.peer) return false;
    return filter.local.empty() || filter.local == client.local;
}

// One option and its value; false: an error was written.
bool read_filter(Context& context, std::string_view name, std::string_view value, KillFilter& to) {
    if (equals_ignoring_case(name, "ID")) {
        to.id = parse_integer(value);
        if (to.id && *to.id > 0) return true;
        context.error("ERR client-id should be greater than 0");
    } else if (equals_ignoring_case(name, "TYPE")) {
        to.type = value;
        if (is_client_type(value)) return true;
        context.error("ERR Unknown client type '" + std::string(value.substr(0, 64)) + "'");
    } else if (equals_ignoring_case(name, "USER")) {
        to.user = value;
        if (value == "default") return true;
        context.error("ERR No such user '" + std::string(value.substr(0, 64)) + "'");
    } else if (equals_ignoring_case(name, "ADDR")) {
        to.peer = value;
        return true;
    } else if (equals_ignoring_case(name, "LADDR")) {
        to.local = value;
        return true;
    } else if (equals_ignoring_case(name, "SKIPME") && equals_ignoring_case(value, "YES")) {
        to.skips_me = true;
        return true;
    } else if (equals_ignoring_case(name, "SKIPME") && equals_ignoring_case(value, "NO")) {
        to.skips_me = false;
        return true;
    } else {
        context.syntax_error();
    }
    return false;
}

std::int64_t kill(Context& context, const KillFilter& filter) {
    std::vector<ClientId> victims;
    visit_clients_of_all(context, [&](const ClientState& client) {
        if (fits(filter, client, context.client.id)) victims.push_back(client.id);
    });
    for (const ClientId victim : victims) {
        if (victim == context.client.id) {
            context.close_after_reply();
        } else {
            context.host().kill_client(victim);
        }
    }
    if (!victims.empty()) {
        std::string text = "CLIENT KILL by " + context.client.peer + " ended ";
        append_number(text, victims.size());
        context.host().note(
            {core::Notice::Level::info, "audit.client_killed", text + " connections"});
    }
    return static_cast<std::int64_t>(victims.size());
}

// CLIENT KILL address:port | CLIENT KILL option value ...
void run_kill(Context& context) {
    const Arguments options = context.args.subspan(2);
    KillFilter filter;
    if (options.size() == 1) {
        filter.peer = options[0];
        filter.skips_me = false;
        if (options[0].empty() || kill(context, filter) == 0) {
            return context.error("ERR No such client");
        }
        return context.ok();
    }
    if (options.size() % 2 != 0) return context.syntax_error();
    for (std::size_t at = 0; at < options.size(); at += 2) {
        if (!read_filter(context, options[at], options[at + 1], filter)) return;
    }
    context.reply().integer(kill(context, filter));
}

// For CLIENT NO-EVICT, NO-TOUCH and LATCHD EVENTS. False: an error was written.
bool read_switch(Context& context, bool& value) {
    const bool on = equals_ignoring_case(context.args[2], "ON");
    if (!on && !equals_ignoring_case(context.args[2], "OFF")) {
        context.syntax_error();
        return false;
    }
    value = on;
    return true;
}

void run_no_evict(Context& context) {
    if (read_switch(context, context.client.no_evict)) context.ok();
}

void run_no_touch(Context& context) {
    if (read_switch(context, context.client.no_touch)) context.ok();
}

void run_reply(Context& context) {
    const std::string_view mode = context.args[2];
    if (equals_ignoring_case(mode, "ON")) {
        context.client.reply_mode = ReplyMode::on;
        context.ok();
    } else if (equals_ignoring_case(mode, "OFF")) {
        context.client.reply_mode = ReplyMode::off;
    } else if (equals_ignoring_case(mode, "SKIP")) {
        if (context.client.reply_mode != ReplyMode::off) {
            context.client.reply_mode = ReplyMode::skip_next;
        }
    } else {
        context.syntax_error();
    }
}

void run_tracking(Context& context) {
    bool on = false;
    if (!read_switch(context, on)) return;
    if (!on) return context.ok();
    context.error(
        "ERR CLIENT TRACKING is not supported: latchd has no keys to cache; "
        "LATCHD EVENTS ON tells about locks");
}

void run_tracking_info(Context& context) {
    resp::Writer reply = context.reply();
    reply.map(3);
    reply.bulk("flags");
    reply.set(1);
    reply.bulk("off");
    reply.bulk("redirect");
    reply.integer(-1);
    reply.bulk("prefixes");
    reply.array(0);
}

void run_getredir(Context& context) { context.reply().integer(-1); }

void run_caching(Context& context) {
    context.error(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with "
        "OPTIN or OPTOUT mode enabled");
}

void run_pause(Context& context) {
    context.error(
        "ERR CLIENT PAUSE is not supported: locks must be renewed and released in time; "
        "LATCHD DRAIN takes the node out of service");
}

void run_unpause(Context& context) { context.ok(); }

void run_unblock(Context& context) {
    context.error(
        "ERR CLIENT UNBLOCK is not supported: CANCEL resource id request-id ends a "
        "waiting LOCK, CLIENT KILL ID ends the connection");
}

void run_help(Context& context) { write_help(context); }

constexpr std::uint32_t usual = flag_noscript | flag_loading | flag_stale;
constexpr std::uint32_t operating = usual | flag_admin;
constexpr std::uint32_t talk = category_slow | category_connection;
constexpr std::uint32_t power = talk | category_admin | category_dangerous;

constexpr std::array subcommands = {
    Command{"client|caching",
            3,
            usual,
            talk,
            "6.0.0",
            "connection",
            "Refused: tracking is not supported",
            "YES|NO",
            run_caching},
    Command{"client|getname",
            2,
            usual,
            talk,
            "2.6.9",
            "connection",
            "Returns the name of the connection",
            "",
            run_getname},
    Command{"client|getredir",
            2,
            usual,
            talk,
            "6.0.0",
            "connection",
            "Returns -1: tracking is never on",
            "",
            run_getredir},
    Command{"client|help",
            2,
            flag_loading | flag_stale,
            talk,
            "5.0.0",
            "connection",
            "Shows this help",
            "",
            run_help},
    Command{"client|id",
            2,
            usual,
            talk,
            "5.0.0",
            "connection",
            "Returns the connection's id",
            "",
            run_id},
    Command{"client|info",
            2,
            usual,
            talk,
            "6.2.0",
            "connection",
            "Returns the line of this connection in CLIENT LIST",
            "",
            run_info},
    Command{"client|kill",
            -3,
            operating | flag_gather | flag_gather_clients,
            power,
            "2.4.0",
            "connection",
            "Ends connections by address, or all that fit the options",
            "[ip:port] [ID client-id] [TYPE NORMAL|PUBSUB] [USER username] [ADDR ip:port] "
            "[LADDR ip:port] [SKIPME YES|NO]",
            run_kill},
    Command{"client|list",
            -2,
            operating | flag_gather | flag_gather_clients,
            power,
            "2.4.0",
            "connection",
            "Lists the connections of this process",
            "[TYPE NORMAL|PUBSUB] [ID client-id...]",
            run_list},
    Command{"client|no-evict",
            3,
            operating,
            power,
            "7.0.0",
            "connection",
            "Accepted; latchd evicts no connection",
            "ON|OFF",
            run_no_evict},
    Command{"client|no-touch",
            3,
            usual,
            talk,
            "7.2.0",
            "connection",
            "Accepted; there are no keys to touch",
            "ON|OFF",
            run_no_touch},
    Command{"client|pause",
            -3,
            operating,
            power,
            "3.0.0",
            "connection",
            "Refused: locks must be renewed in time",
            "ms [WRITE|ALL]",
            run_pause},
    Command{"client|reply",
            3,
            usual,
            talk,
            "3.2.0",
            "connection",
            "Turns replies off and on, or skips the next one",
            "ON|OFF|SKIP",
            run_reply},
    Command{"client|setinfo",
            4,
            usual,
            talk,
            "7.2.0",
            "connection",
            "Names the client library and its version, for CLIENT LIST",
            "LIB-NAME|LIB-VER value",
            run_setinfo},
    Command{"client|setname",
            3,
            usual,
            talk,
            "2.6.9",
            "connection",
            "Names the connection, for CLIENT LIST and records of its locks",
            "connection-name",
            run_setname},
    Command{"client|tracking",
            -3,
            usual,
            talk,
            "6.0.0",
            "connection",
            "Refused but for OFF: there are no keys to cache",
            "ON|OFF",
            run_tracking},
    Command{"client|trackinginfo",
            2,
            usual,
            talk,
            "6.2.0",
            "connection",
            "Says that tracking is off",
            "",
            run_tracking_info},
    Command{"client|unblock",
            -3,
            operating,
            power,
            "5.0.0",
            "connection",
            "Refused: CANCEL ends a waiting LOCK",
            "client-id [TIMEOUT|ERROR]",
            run_unblock},
    Command{"client|unpause",
            2,
            operating,
            power,
            "6.2.0",
            "connection",
            "Accepted; nothing is ever paused",
            "",
            run_unpause},
};

constexpr std::array rows = {
    Command{"client",
            -2,
            0,
            category_slow,
            "2.4.0",
            "connection",
            "Commands about connections",
            "",
            nullptr,
            subcommands},
};

}  // namespace

std::span<const Command> client_commands() noexcept { return rows; }

}  // namespace latchd::command
