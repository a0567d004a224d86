// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "info.hpp"
#include "report.hpp"
#include "text.hpp"

#include <latchd/base/glob.hpp>

#include <array>
#include <map>

// INFO, CONFIG, and what else tools ask of a server.
namespace latchd::command {
namespace {

void run_info(Context& context) { context.reply().verbatim(info_text(context)); }

void run_time(Context& context) {
    const std::int64_t usec = context.host().wall_usec();
    resp::Writer reply = context.reply();
    reply.array(2);
    for (const std::int64_t part : {usec / 1'000'000, usec % 1'000'000}) {
        std::string digits;
        append_number(digits, part);
        reply.bulk(digits);
    }
}

void run_role(Context& context) {
    resp::Writer reply = context.reply();
    reply.array(3);
    reply.bulk("master");
    reply.integer(0);
    reply.array(0);
}

void run_dbsize(Context& context) {
    context.reply().integer(static_cast<std::int64_t>(counts_of_all(context).held));
}

// What Redis's tools and clients ask for by Redis's names; the rest of CONFIG GET are latchd's
// own settings by their dotted paths.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> redis_settings = {{
    {"save", ""},
    {"appendonly", "no"},
    {"timeout", "0"},
    {"databases", "16"},
    {"maxmemory", "0"},
    {"maxmemory-policy", "noeviction"},
    {"slave-read-only", "yes"},
    {"replica-read-only", "yes"},
}};

void run_config_get(Context& context) {
    const Arguments patterns = context.args.subspan(2);
    std::map<std::string, std::string> found;
    const auto offer = [&](std::string_view name, std::string_view value) {
        for (const std::string_view pattern : patterns) {
            if (glob_matches(lower(pattern), name)) found.emplace(name, value);
        }
    };
    for (const auto& [name, value] : redis_settings) offer(name, value);
    for (const Setting& setting : context.host().settings()) offer(setting.name, setting.value);
    resp::Writer reply = context.reply();
    reply.map(found.size());
    for (const auto& [name, value] : found) {
        reply.bulk(name);
        reply.bulk(value);
    }
}

void run_config_set(Context& context) {
    context.error(
        "ERR CONFIG SET is not supported: no setting of this version changes at run time; "
        "edit the configuration and restart, or use RESOURCE SET for resources");
}

void run_config_rewrite(Context& context) {
    context.error("ERR CONFIG REWRITE is not supported: latchd never writes its configuration");
}

void run_config_resetstat(Context& context) {
    context.services.statistics.reset();
    context.ok();
}

void reset_statistics_here(Services& services, const Gathering&) { services.statistics.reset(); }

// WAIT numreplicas timeout: there are no replicas, so none has acknowledged anything.
void run_wait(Context& context) {
    const auto timeout = parse_integer(context.args[2]);
    if (!parse_integer(context.args[1])) {
        return context.error("ERR value is not an integer or out of range");
    }
    if (!timeout) return context.error("ERR timeout is not an integer or out of range");
    if (*timeout < 0) return context.error("ERR timeout is negative");
    context.reply().integer(0);
}

void run_waitaof(Context& context) {
    for (const std::string_view number : context.args.subspan(1)) {
        const auto value = parse_integer(number);
        if (!value) return context.error("ERR value is not an integer or out of range");
        if (*value < 0) return context.error("ERR value is out of range, must be positive");
    }
    resp::Writer reply = context.reply();
    reply.array(2);
    reply.integer(0);
    reply.integer(0);
}

// SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]
void run_shutdown(Context& context) {
    bool at_once = false;
    bool aborts = false;
    for (const std::string_view option : context.args.subspan(1)) {
        if (equals_ignoring_case(option, "NOW") || equals_ignoring_case(option, "FORCE")) {
            at_once = true;
        } else if (equals_ignoring_case(option, "ABORT")) {
            aborts = true;
        } else if (!equals_ignoring_case(option, "SAVE") &&
                   !equals_ignoring_case(option, "NOSAVE")) {
            return context.syntax_error();
        }
    }
    if (aborts && context.args.size() > 2) return context.syntax_error();
    if (aborts) return context.error("ERR No shutdown in progress.");
    if (const auto refusal = context.host().shut_down(at_once)) {
        return context.error("ERR " + *refusal);
    }
    context.host().note(
        {core::Notice::Level::info, "audit.shutdown", "SHUTDOWN by " + context.client.peer});
    // As in Redis, success is the end of the connection and no reply.
    context.close_after_reply();
}

void run_monitor(Context& context) {
    context.error(
        "ERR MONITOR is not supported: it would show tokens; use "
        "SUBSCRIBE latchd:events:<resource>, LOCKS, SLOWLOG GET or the log");
}

void run_help(Context& context) { write_help(context); }

constexpr std::uint32_t usual = flag_noscript | flag_loading | flag_stale;
constexpr std::uint32_t power = flag_admin | usual;
constexpr std::uint32_t power_kind = category_admin | category_dangerous | category_slow;

constexpr std::array config_rows = {
    Command{"config|get",
            -3,
            power,
            power_kind,
            "2.0.0",
            "server",
            "Shows settings that match glob patterns; secrets as ***",
            "pattern...",
            run_config_get},
    Command{"config|help",
            2,
            flag_loading | flag_stale,
            category_slow,
            "5.0.0",
            "server",
            "Shows this help",
            "",
            run_help},
    Command{"config|resetstat",
            2,
            power | flag_gather,
            power_kind,
            "2.0.0",
            "server",
            "Sets the counters of commands and errors to 0",
            "",
            run_config_resetstat,
            {},
            false,
            reset_statistics_here},
    Command{"config|rewrite",
            2,
            power,
            power_kind,
            "2.8.0",
            "server",
            "Refused: latchd never writes its configuration",
            "",
            run_config_rewrite},
    Command{"config|set",
            -4,
            power,
            power_kind,
            "2.0.0",
            "server",
            "Refused: no setting changes at run time",
            "parameter value",
            run_config_set},
};

constexpr std::array rows = {
    Command{"info",
            -1,
            flag_loading | flag_stale | flag_gather | flag_gather_some,
            category_slow | category_dangerous,
            "1.0.0",
            "server",
            "Shows state and counters of this node",
            "[section...]",
            run_info},
    Command{"time",
            1,
            flag_loading | flag_stale | flag_fast,
            category_fast,
            "2.6.0",
            "server",
            "Returns the server's time: seconds and microseconds",
            "",
            run_time},
    Command{"role",
            1,
            usual | flag_fast,
            category_fast | category_admin,
            "2.8.12",
            "server",
            "Returns master: a node has no replicas",
            "",
            run_role},
    Command{"dbsize",
            1,
            flag_readonly | flag_fast | flag_gather,
            category_read | category_fast,
            "1.0.0",
            "server",
            "Counts the locks held through this process",
            "",
            run_dbsize},
    Command{"config",
            -2,
            0,
            category_slow,
            "2.0.0",
            "server",
            "Commands about the configuration",
            "",
            nullptr,
            config_rows},
    Command{"wait",
            3,
            flag_noscript,
            category_slow | category_connection,
            "3.0.0",
            "generic",
            "Returns 0 at once: there are no replicas",
            "numreplicas ms",
            run_wait},
    Command{"waitaof",
            4,
            flag_noscript,
            category_slow | category_connection,
            "7.2.0",
            "generic",
            "Returns [0, 0] at once: there is no append-only file",
            "numlocal numreplicas ms",
            run_waitaof},
    Command{"shutdown",
            -1,
            power,
            power_kind,
            "1.0.0",
            "server",
            "Ends the process as SIGTERM does: waiters are told, replies flushed",
            "[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]",
            run_shutdown},
    Command{"monitor",
            1,
            power,
            power_kind,
            "1.0.0",
            "server",
            "Refused: it would show tokens",
            "",
            run_monitor},
};

}  // namespace

std::span<const Command> server_commands() noexcept { return rows; }

}  // namespace latchd::command
