// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "report.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>

// SLOWLOG, LATENCY, MEMORY: how the node is doing.
namespace latchd::command {
namespace {

// SLOWLOG GET [count]
void run_slowlog_get(Context& context) {
    const auto entries = slow_log_of_all(context);
    std::size_t count = 10;
    if (context.args.size() > 3) {
        return context.error("ERR wrong number of arguments for 'slowlog|get' command");
    }
    if (context.args.size() == 3) {
        const auto asked = parse_integer(context.args[2]);
        if (!asked || *asked < -1) {
            return context.error("ERR count should be greater than or equal to -1");
        }
        count = *asked == -1 ? entries.size() : static_cast<std::size_t>(*asked);
    }
    resp::Writer reply = context.reply();
    count = std::min(count, entries.size());
    reply.array(count);
    for (std::size_t i = 0; i < count; ++i) {
        const SlowLog::Entry& entry = entries[i];
        reply.array(6);
        reply.integer(static_cast<std::int64_t>(entry.id));
        reply.integer(entry.unix_seconds);
        reply.integer(entry.took.count());
        reply.array(entry.arguments.size());
        for (const std::string& argument : entry.arguments) reply.bulk(argument);
        reply.bulk(entry.address);
        reply.bulk(entry.name);
    }
}

void run_slowlog_len(Context& context) {
    context.reply().integer(static_cast<std::int64_t>(slow_log_of_all(context).size()));
}

void run_slowlog_reset(Context& context) {
    context.services.slow_log.reset();
    context.ok();
}

void reset_slowlog_here(Services& services, const Gathering&) { services.slow_log.reset(); }

void run_latency_latest(Context& context) {
    const LatencyLog latency = latency_of_all(context);
    const auto& events = latency.events();
    resp::Writer reply = context.reply();
    reply.array(events.size());
    for (const auto& [name, series] : events) {
        reply.array(4);
        reply.bulk(name);
        reply.integer(series.samples.back().unix_seconds);
        reply.integer(series.samples.back().ms);
        reply.integer(series.ms_max);
    }
}

void run_latency_history(Context& context) {
    const LatencyLog latency = latency_of_all(context);
    const auto& events = latency.events();
    const auto it = events.find(context.args[2]);
    resp::Writer reply = context.reply();
    if (it == events.end()) return reply.array(0);
    reply.array(it->second.samples.size());
    for (const LatencyLog::Sample& sample : it->second.samples) {
        reply.array(2);
        reply.integer(sample.unix_seconds);
        reply.integer(sample.ms);
    }
}

void run_latency_reset(Context& context) {
    // The other loops have done their part already: what they had is in their reports.
    LatencyLog all = latency_of_all(context);
    LatencyLog& own = context.services.latency_log;
    std::size_t count = 0;
    if (context.args.size() == 2) {
        count = all.reset();
        own.reset();
    }
    for (const std::string_view event : context.args.subspan(2)) {
        count += all.reset(event);
        own.reset(event);
    }
    context.reply().integer(static_cast<std::int64_t>(count));
}

void reset_latency_here(Services& services, const Gathering& gathering) {
    if (gathering.arguments.size() == 2) services.latency_log.reset();
    for (std::size_t i = 2; i < gathering.arguments.size(); ++i) {
        services.latency_log.reset(gathering.arguments[i]);
    }
}

void run_latency_doctor(Context& context) {
    const LatencyLog latency = latency_of_all(context);
    const auto& events = latency.events();
    std::string text = events.empty() ? "No event was slow enough to be noted.\n" : "";
    for (const auto& [name, series] : events) {
        text += name + ": ";
        append_number(text, series.samples.size());
        text += " samples, the last ";
        append_number(text, series.samples.back().ms);
        text += " ms, the worst ";
        append_number(text, series.ms_max);
        text += " ms.\n";
    }
    context.reply().verbatim(text);
}

void write_histogram(resp::Writer reply, const CommandCounts& counts) {
    std::size_t used = 0;
    for (std::size_t i = 0; i < Histogram::buckets; ++i) used += counts.took.at(i) != 0 ? 1 : 0;
    reply.map(2);
    reply.bulk("calls");
    reply.integer(static_cast<std::int64_t>(counts.calls));
    reply.bulk("histogram_usec");
    reply.map(used);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < Histogram::buckets; ++i) {
        if (counts.took.at(i) == 0) continue;
        sum += counts.took.at(i);
        reply.integer(static_cast<std::int64_t>(Histogram::upper_usec(i)));
        reply.integer(static_cast<std::int64_t>(sum));
    }
}

// LATENCY HISTOGRAM [command...]: cumulative, as in Redis.
void run_latency_histogram(Context& context) {
    std::vector<std::pair<const Command*, const CommandCounts*>> found;
    const Statistics statistics = statistics_of_all(context);
    const auto offer = [&](const Command& command) {
        const CommandCounts* counts = statistics.find(command);
        if (counts != nullptr && counts->calls > 0) found.emplace_back(&command, counts);
    };
    const auto offer_all = [&](const Command& command) {
        offer(command);
        for (const Command& subcommand : command.subcommands) offer(subcommand);
    };
    if (context.args.size() == 2) {
        for (const Command* command : context.services.table.all()) offer_all(*command);
    }
    for (const std::string_view name : context.args.subspan(2)) {
        const Command* command = context.services.table.find_full(name);
        if (command != nullptr) offer_all(*command);
    }
    resp::Writer reply = context.reply();
    reply.map(found.size());
    for (const auto& [command, counts] : found) {
        reply.bulk(command->name);
        write_histogram(reply, *counts);
    }
}

void run_memory_usage(Context& context) { context.reply().null(); }

void run_memory_doctor(Context& context) {
    const ProcessInfo process = process_of_all(context);
    std::string text = "latchd keeps its locks and connections in memory and evicts nothing: ";
    append_number(text, process.memory_rss);
    context.reply().verbatim(text + " bytes are resident.\n");
}

void run_memory_stats(Context& context) {
    const ProcessInfo process = process_of_all(context);
    resp::Writer reply = context.reply();
    reply.map(4);
    const auto number = [&](std::string_view name, std::uint64_t value) {
        reply.bulk(name);
        reply.integer(static_cast<std::int64_t>(value));
    };
    number("peak.allocated", process.memory_peak);
    number("total.allocated", process.memory_used);
    number("clients.normal", process.memory_clients);
    number("keys.count", counts_of_all(context).held);
}

void run_memory_purge(Context& context) { context.ok(); }

void run_help(Context& context) { write_help(context); }

constexpr std::uint32_t usual = flag_loading | flag_stale;
constexpr std::uint32_t power = flag_admin | usual;
constexpr std::uint32_t power_kind = category_admin | category_dangerous | category_slow;

constexpr std::array slowlog_rows = {
    Command{"slowlog|get",
            -2,
            power | flag_gather,
            power_kind,
            "2.2.12",
            "server",
            "Shows the slowest commands of late, without the time that a LOCK waits",
            "[count]",
            run_slowlog_get},
    Command{"slowlog|help",
            2,
            usual,
            category_slow,
            "6.2.0",
            "server",
            "Shows this help",
            "",
            run_help},
    Command{"slowlog|len",
            2,
            power | flag_gather,
            power_kind,
            "2.2.12",
            "server",
            "Counts the entries of the slow log",
            "",
            run_slowlog_len},
    Command{"slowlog|reset",
            2,
            power | flag_gather,
            power_kind,
            "2.2.12",
            "server",
            "Empties the slow log",
            "",
            run_slowlog_reset,
            {},
            false,
            reset_slowlog_here},
};

constexpr std::array latency_rows = {
    Command{"latency|doctor",
            2,
            power | flag_gather,
            power_kind,
            "2.8.13",
            "server",
            "Sums up the spikes in words",
            "",
            run_latency_doctor},
    Command{"latency|help",
            2,
            usual,
            category_slow,
            "2.8.13",
            "server",
            "Shows this help",
            "",
            run_help},
    Command{"latency|histogram",
            -2,
            power | flag_gather,
            power_kind,
            "7.0.0",
            "server",
            "Shows how long commands took",
            "[command...]",
            run_latency_histogram},
    Command{"latency|history",
            3,
            power | flag_gather,
            power_kind,
            "2.8.13",
            "server",
            "Shows the spikes of an event: store-check, failover, event-loop, dns",
            "event",
            run_latency_history},
    Command{"latency|latest",
            2,
            power | flag_gather,
            power_kind,
            "2.8.13",
            "server",
            "Shows the latest spike of each event",
            "",
            run_latency_latest},
    Command{"latency|reset",
            -2,
            power | flag_gather,
            power_kind,
            "2.8.13",
            "server",
            "Forgets the spikes of some or all events",
            "[event...]",
            run_latency_reset,
            {},
            false,
            reset_latency_here},
};

constexpr std::array memory_rows = {
    Command{"memory|doctor",
            2,
            0,
            category_slow,
            "4.0.0",
            "server",
            "Says how much memory is in use",
            "",
            run_memory_doctor},
    Command{
        "memory|help", 2, usual, category_slow, "4.0.0", "server", "Shows this help", "", run_help},
    Command{"memory|purge",
            2,
            0,
            category_slow,
            "4.0.0",
            "server",
            "Accepted; memory goes back by itself",
            "",
            run_memory_purge},
    Command{"memory|stats",
            2,
            flag_gather,
            category_slow,
            "4.0.0",
            "server",
            "Shows how memory is used",
            "",
            run_memory_stats},
    Command{"memory|usage",
            -3,
            flag_readonly,
            category_read | category_slow,
            "4.0.0",
            "server",
            "Returns nil: there are no keys",
            "key [SAMPLES count]",
            run_memory_usage},
};

constexpr std::array rows = {
    Command{"slowlog",
            -2,
            0,
            category_slow,
            "2.2.12",
            "server",
            "Commands about slow commands",
            "",
            nullptr,
            slowlog_rows},
    Command{"latency",
            -2,
            0,
            category_slow,
            "2.8.13",
            "server",
            "Commands about spikes",
            "",
            nullptr,
            latency_rows},
    Command{"memory",
            -2,
            0,
            category_slow,
            "4.0.0",
            "server",
            "Commands about memory",
            "",
            nullptr,
            memory_rows},
};

}  // namespace

std::span<const Command> observe_commands() noexcept { return rows; }

}  // namespace latchd::command
