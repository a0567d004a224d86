// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "report.hpp"
#include "text.hpp"

#include <latchd/base/glob.hpp>

#include <array>

// SUBSCRIBE and its kin. Only latchd publishes, to latchd:events:<resource>; any other channel
// may be subscribed to and stays silent, because clients subscribe to channels of their own.
namespace latchd::command {
namespace {

// As many as a client can honestly want; what is subscribed to is kept in memory.
constexpr std::size_t subscriptions_max = 1024;

void confirm(Context& context, std::string_view kind, std::optional<std::string_view> channel) {
    resp::Writer reply = context.reply();
    reply.push(3);
    reply.bulk(kind);
    if (channel) {
        reply.bulk(*channel);
    } else {
        reply.null();
    }
    reply.integer(static_cast<std::int64_t>(context.client.subscriptions()));
}

bool has_room(Context& context) {
    if (context.client.subscriptions() + context.args.size() - 1 <= subscriptions_max) return true;
    context.error(
        "LIMIT 1024 subscriptions of one connection; events of all resources come "
        "by one PSUBSCRIBE latchd:events:*");
    return false;
}

void run_subscribe(Context& context) {
    if (!has_room(context)) return;
    for (const std::string_view channel : context.args.subspan(1)) {
        context.client.channels.emplace(channel);
        context.services.subscriptions.add_channel(channel, context.client.id);
        confirm(context, "subscribe", channel);
    }
}

void run_psubscribe(Context& context) {
    if (!has_room(context)) return;
    for (const std::string_view pattern : context.args.subspan(1)) {
        context.client.patterns.emplace(pattern);
        context.services.subscriptions.add_pattern(pattern, context.client.id);
        confirm(context, "psubscribe", pattern);
    }
}

// The protocol must not change between two confirmations: in RESP2 the last one leaves the mode.
void run_unsubscribe(Context& context) {
    auto& channels = context.client.channels;
    const auto end_one = [&](std::string_view channel) {
        context.services.subscriptions.drop_channel(channel, context.client.id);
        if (const auto it = channels.find(channel); it != channels.end()) channels.erase(it);
        confirm(context, "unsubscribe", channel);
    };
    if (context.args.size() > 1) {
        for (const std::string_view channel : context.args.subspan(1)) end_one(channel);
    } else if (channels.empty()) {
        confirm(context, "unsubscribe", std::nullopt);
    }
    while (context.args.size() == 1 && !channels.empty()) {
        const std::string channel = *channels.begin();
        end_one(channel);
    }
}

void run_punsubscribe(Context& context) {
    auto& patterns = context.client.patterns;
    const auto end_one = [&](std::string_view pattern) {
        context.services.subscriptions.drop_pattern(pattern, context.client.id);
        if (const auto it = patterns.find(pattern); it != patterns.end()) patterns.erase(it);
        confirm(context, "punsubscribe", pattern);
    };
    if (context.args.size() > 1) {
        for (const std::string_view pattern : context.args.subspan(1)) end_one(pattern);
    } else if (patterns.empty()) {
        confirm(context, "punsubscribe", std::nullopt);
    }
    while (context.args.size() == 1 && !patterns.empty()) {
        const std::string pattern = *patterns.begin();
        end_one(pattern);
    }
}

void run_publish(Context& context) {
    context.error("ERR " + upper(context.command.name) +
                  " is not supported: only latchd itself publishes, to latchd:events:<resource>");
}

void run_channels(Context& context) {
    const Arguments args = context.args;
    if (args.size() > 3) {
        return context.error("ERR wrong number of arguments for 'pubsub|channels' command");
    }
    std::vector<std::string_view> found;
    const auto channels = channels_of_all(context);
    for (const auto& [channel, clients] : channels) {
        if (args.size() < 3 || glob_matches(args[2], channel)) found.push_back(channel);
    }
    resp::Writer reply = context.reply();
    reply.array(found.size());
    for (const std::string_view channel : found) reply.bulk(channel);
}

void run_numsub(Context& context) {
    const auto channels = channels_of_all(context);
    resp::Writer reply = context.reply();
    reply.array(2 * (context.args.size() - 2));
    for (const std::string_view channel : context.args.subspan(2)) {
        const auto it = channels.find(std::string(channel));
        reply.bulk(channel);
        reply.integer(it == channels.end() ? 0 : static_cast<std::int64_t>(it->second));
    }
}

void run_numpat(Context& context) {
    context.reply().integer(static_cast<std::int64_t>(patterns_of_all(context)));
}

void run_no_shards(Context& context) { context.reply().array(0); }

void run_no_shard_subscribers(Context& context) {
    resp::Writer reply = context.reply();
    reply.array(2 * (context.args.size() - 2));
    for (const std::string_view channel : context.args.subspan(2)) {
        reply.bulk(channel);
        reply.integer(0);
    }
}

void run_help(Context& context) { write_help(context); }

constexpr std::uint32_t listens =
    flag_pubsub | flag_noscript | flag_loading | flag_stale | flag_in_subscribe | flag_alone;
constexpr std::uint32_t asks = flag_pubsub | flag_loading | flag_stale;
constexpr std::uint32_t kind = category_pubsub | category_slow;

constexpr std::array subcommands = {
    Command{"pubsub|channels",
            -2,
            asks | flag_gather,
            kind,
            "2.8.0",
            "pubsub",
            "Lists the channels that somebody listens to in this process",
            "[pattern]",
            run_channels},
    Command{"pubsub|help",
            2,
            flag_loading | flag_stale,
            category_slow,
            "6.2.0",
            "pubsub",
            "Shows this help",
            "",
            run_help},
    Command{"pubsub|numpat",
            2,
            asks | flag_gather,
            kind,
            "2.8.0",
            "pubsub",
            "Counts the patterns that somebody listens to",
            "",
            run_numpat},
    Command{"pubsub|numsub",
            -2,
            asks | flag_gather,
            kind,
            "2.8.0",
            "pubsub",
            "Counts the listeners of channels",
            "[channel...]",
            run_numsub},
    Command{"pubsub|shardchannels",
            -2,
            asks,
            kind,
            "7.0.0",
            "pubsub",
            "Is empty: there are no shard channels",
            "[pattern]",
            run_no_shards},
    Command{"pubsub|shardnumsub",
            -2,
            asks,
            kind,
            "7.0.0",
            "pubsub",
            "Counts 0: there are no shard channels",
            "[shardchannel...]",
            run_no_shard_subscribers},
};

constexpr std::array rows = {
    Command{"subscribe",
            -2,
            listens,
            kind,
            "2.0.0",
            "pubsub",
            "Listens to channels: latchd:events:<resource>",
            "channel...",
            run_subscribe},
    Command{"psubscribe",
            -2,
            listens,
            kind,
            "2.0.0",
            "pubsub",
            "Listens to all channels that match: latchd:events:*",
            "pattern...",
            run_psubscribe},
    Command{"unsubscribe",
            -1,
            listens,
            kind,
            "2.0.0",
            "pubsub",
            "Stops listening to channels",
            "[channel...]",
            run_unsubscribe},
    Command{"punsubscribe",
            -1,
            listens,
            kind,
            "2.0.0",
            "pubsub",
            "Stops listening to patterns",
            "[pattern...]",
            run_punsubscribe},
    Command{"publish",
            3,
            asks | flag_fast,
            kind,
            "2.0.0",
            "pubsub",
            "Refused: only latchd publishes",
            "channel message",
            run_publish},
    Command{"spublish",
            3,
            asks | flag_fast,
            kind,
            "7.0.0",
            "pubsub",
            "Refused: only latchd publishes",
            "shardchannel message",
            run_publish},
    Command{"pubsub",
            -2,
            0,
            category_slow,
            "2.8.0",
            "pubsub",
            "Commands about channels",
            "",
            nullptr,
            subcommands},
};

}  // namespace

void drop_subscriptions(Context& context) {
    ClientState& client = context.client;
    for (const std::string& channel : client.channels) {
        context.services.subscriptions.drop_channel(channel, client.id);
    }
    for (const std::string& pattern : client.patterns) {
        context.services.subscriptions.drop_pattern(pattern, client.id);
    }
    client.channels.clear();
    client.patterns.clear();
    context.host().listens(!context.services.subscriptions.empty());
}

std::span<const Command> pubsub_commands() noexcept { return rows; }

}  // namespace latchd::command
