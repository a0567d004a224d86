// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>

// The handshake and the small talk of a connection, with Redis's own wording: client libraries
// compare some of these texts word for word.
namespace latchd::command {
namespace {

constexpr std::string_view wrongpass =
    "WRONGPASS invalid username-password pair or user is disabled.";
constexpr std::string_view no_password =
    "ERR AUTH <password> called without any password configured for the default user. Are you "
    "sure your configuration is correct?";
constexpr std::string_view hello_noauth =
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
    "AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol "
    "version at the same time";
constexpr std::string_view bad_name =
    "ERR Client names cannot contain spaces, newlines or special characters.";
constexpr std::string_view no_cluster = "ERR This instance has cluster support disabled";

// Takes the same time wherever the first difference is.
bool same_secret(std::string_view a, std::string_view b) noexcept {
    unsigned difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const char other = b.empty() ? '\0' : b[i % b.size()];
        difference |= static_cast<unsigned char>(a[i] ^ other);
    }
    return difference == 0;
}

bool may_log_in(const Options& options, std::string_view user, std::string_view password) noexcept {
    if (user != "default") return false;
    return options.password.empty() || same_secret(password, options.password);
}

// AUTH password | AUTH user password
void run_auth(Context& context) {
    if (context.args.size() > 3) return context.syntax_error();
    const bool with_user = context.args.size() == 3;
    if (!with_user && context.options().password.empty()) return context.error(no_password);
    const std::string_view user = with_user ? context.args[1] : "default";
    if (!may_log_in(context.options(), user, context.args.back())) return context.error(wrongpass);
    context.client.authenticated = true;
    context.ok();
}

struct Hello {
    int proto = 0;  // 0: stays
    bool logs_in = false;
    std::string_view user;
    std::string_view password;
    bool names = false;
    std::string_view name;
};

// False: an error was written.
bool read_hello(Context& context, Hello& hello) {
    const Arguments args = context.args;
    if (args.size() < 2) return true;
    const auto version = parse_integer(args[1]);
    if (!version) {
        context.error("ERR Protocol version is not an integer or out of range");
        return false;
    }
    if (*version < 2 || *version > 3) {
        context.error("NOPROTO unsupported protocol version");
        return false;
    }
    hello.proto = static_cast<int>(*version);
    for (std::size_t at = 2; at < args.size(); ++at) {
        const std::size_t left = args.size() - at - 1;
        if (equals_ignoring_case(args[at], "AUTH") && left >= 2) {
            hello.logs_in = true;
            hello.user = args[at + 1];
            hello.password = args[at + 2];
            at += 2;
        } else if (equals_ignoring_case(args[at], "SETNAME") && left >= 1) {
            hello.names = true;
            hello.name = args[++at];
        } else {
            context.error("ERR Syntax error in HELLO option '" +
                          std::string(args[at].substr(0, 128)) + "'");
            return false;
        }
    }
    return true;
}

void write_hello(Context& context) {
    resp::Writer reply = context.reply();
    reply.map(7);
    const auto text = [&](std::string_view name, std::string_view value) {
        reply.bulk(name);
        reply.bulk(value);
    };
    text("server", "redis");
    text("version", context.options().redis_version);
    reply.bulk("proto");
    reply.integer(context.client.proto);
    reply.bulk("id");
    reply.integer(static_cast<std::int64_t>(context.client.id));
    text("mode", "standalone");
    text("role", "master");
    reply.bulk("modules");
    reply.array(0);
}

// HELLO [protocol [AUTH user password] [SETNAME name]]: all of it, or nothing.
void run_hello(Context& context) {
    Hello hello;
    if (!read_hello(context, hello)) return;
    if (hello.logs_in && !may_log_in(context.options(), hello.user, hello.password)) {
        return context.error(wrongpass);
    }
    if (hello.names && !is_client_name(hello.name)) return context.error(bad_name);
    if (!hello.logs_in && !is_trusted(context.client, context.options())) {
        return context.error(hello_noauth);
    }
    if (hello.logs_in) context.client.authenticated = true;
    if (hello.names) context.client.name = std::string(hello.name);
    if (hello.proto != 0) context.client.proto = hello.proto;
    if (context.client.proto == 2) context.client.events_push = false;
    write_hello(context);
}

// RESET: as a new connection, but for CLIENT ID and counters.
void run_reset(Context& context) {
    ClientState& client = context.client;
    drop_subscriptions(context);
    client.proto = 2;
    client.authenticated = false;
    client.name.clear();
    client.db = 0;
    client.no_evict = false;
    client.no_touch = false;
    client.events_push = false;
    client.reply_mode = ReplyMode::on;
    context.reply().simple_string("RESET");
}

void run_select(Context& context) {
    const auto index = parse_integer(context.args[1]);
    if (!index) return context.error("ERR value is not an integer or out of range");
    if (*index < 0 || *index > 15) return context.error("ERR DB index is out of range");
    // Locks know no databases: whichever is selected, they are the same.
    context.client.db = static_cast<int>(*index);
    context.ok();
}

void run_ping(Context& context) {
    if (context.args.size() > 2) {
        return context.error("ERR wrong number of arguments for 'ping' command");
    }
    const bool with_text = context.args.size() == 2;
    resp::Writer reply = context.reply();
    if (context.client.subscribe_mode()) {
        reply.array(2);
        reply.bulk("pong");
        reply.bulk(with_text ? context.args[1] : std::string_view{});
    } else if (with_text) {
        reply.bulk(context.args[1]);
    } else {
        reply.simple_string("PONG");
    }
}

void run_echo(Context& context) { context.reply().bulk(context.args[1]); }

void run_quit(Context& context) {
    context.ok();
    context.close_after_reply();
}

void run_no_cluster(Context& context) { context.error(no_cluster); }

void run_cluster_help(Context& context) { write_help(context); }

constexpr std::uint32_t talk = flag_noscript | flag_loading | flag_stale | flag_fast;
constexpr std::uint32_t fast_talk = category_fast | category_connection;
constexpr std::uint32_t plain = flag_loading | flag_stale;
constexpr std::uint32_t slow = category_slow;

constexpr std::array cluster_rows = {
    Command{"cluster|info",
            2,
            plain,
            slow,
            "3.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "",
            run_no_cluster},
    Command{"cluster|myid",
            2,
            plain,
            slow,
            "3.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "",
            run_no_cluster},
    Command{"cluster|nodes",
            2,
            plain,
            slow,
            "3.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "",
            run_no_cluster},
    Command{"cluster|shards",
            2,
            plain,
            slow,
            "7.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "",
            run_no_cluster},
    Command{"cluster|slots",
            2,
            plain,
            slow,
            "3.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "",
            run_no_cluster},
    Command{"cluster|keyslot",
            3,
            plain,
            slow,
            "3.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "key",
            run_no_cluster},
    Command{"cluster|help",
            2,
            plain,
            slow,
            "5.0.0",
            "cluster",
            "Shows this help",
            "",
            run_cluster_help},
};

constexpr std::array rows = {
    Command{"auth",
            -2,
            talk | flag_no_auth | flag_secret,
            fast_talk,
            "1.0.0",
            "connection",
            "Authenticates the connection",
            "[username] password",
            run_auth},
    Command{"hello",
            -1,
            talk | flag_no_auth | flag_secret | flag_alone,
            fast_talk,
            "6.0.0",
            "connection",
            "Chooses RESP2 or RESP3, and may authenticate and name the connection",
            "[protover [AUTH username password] [SETNAME clientname]]",
            run_hello},
    Command{"reset",
            1,
            talk | flag_no_auth | flag_in_subscribe | flag_alone,
            fast_talk,
            "6.2.0",
            "connection",
            "Makes the connection as it was when it began",
            "",
            run_reset},
    Command{"select",
            2,
            flag_loading | flag_stale | flag_fast,
            fast_talk,
            "1.0.0",
            "connection",
            "Accepts the databases 0 to 15; locks are the same in all",
            "index",
            run_select},
    Command{"ping",
            -1,
            flag_fast | flag_in_subscribe,
            fast_talk,
            "1.0.0",
            "connection",
            "Answers PONG, or the message",
            "[message]",
            run_ping},
    Command{"echo",
            2,
            flag_loading | flag_stale | flag_fast,
            fast_talk,
            "1.0.0",
            "connection",
            "Answers the message",
            "message",
            run_echo},
    Command{"quit",
            -1,
            talk | flag_no_auth | flag_in_subscribe,
            fast_talk,
            "1.0.0",
            "connection",
            "Closes the connection after the reply",
            "",
            run_quit},
    Command{"cluster",
            -2,
            0,
            slow,
            "3.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "",
            nullptr,
            cluster_rows},
    Command{"readonly",
            1,
            flag_loading | flag_stale | flag_fast,
            fast_talk,
            "3.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "",
            run_no_cluster},
    Command{"readwrite",
            1,
            flag_loading | flag_stale | flag_fast,
            fast_talk,
            "3.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "",
            run_no_cluster},
    Command{"asking",
            1,
            flag_fast,
            fast_talk,
            "3.0.0",
            "cluster",
            "Refused: latchd is no cluster",
            "",
            run_no_cluster},
};

}  // namespace

bool is_client_name(std::string_view name) noexcept {
    return std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

std::span<const Command> connection_commands() noexcept { return rows; }

}  // namespace latchd::command
