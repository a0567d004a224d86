// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "text.hpp"

#include <array>

// ACL as far as one password goes, and the transactions that there are none of. Transactions are
// refused in words: a client that believed in MULTI would believe its locks atomic with other
// commands.
namespace latchd::command {
namespace {

void run_whoami(Context& context) { context.reply().bulk("default"); }

void write_names(Context& context, const std::vector<std::string_view>& names) {
    resp::Writer reply = context.reply();
    reply.array(names.size());
    for (const std::string_view name : names) reply.bulk(name);
}

// ACL CAT [category]
void run_cat(Context& context) {
    std::vector<std::string_view> names;
    if (context.args.size() == 2) {
        for (const Named& category : categories()) names.push_back(category.name);
        return write_names(context, names);
    }
    for (const Named& category : categories()) {
        if (!equals_ignoring_case(category.name, context.args[2])) continue;
        for (const Command* command : context.services.table.all()) {
            if ((command->categories & category.bit) != 0) names.push_back(command->name);
            for (const Command& subcommand : command->subcommands) {
                if ((subcommand.categories & category.bit) != 0) names.push_back(subcommand.name);
            }
        }
        return write_names(context, names);
    }
    context.error("ERR Unknown category '" + std::string(context.args[2].substr(0, 64)) + "'");
}

bool needs_password(const Context& context) noexcept { return !context.options().password.empty(); }

void run_list(Context& context) {
    resp::Writer reply = context.reply();
    reply.array(1);
    reply.bulk(needs_password(context) ? "user default on #*** ~* &* +@all"
                                       : "user default on nopass ~* &* +@all");
}

void run_users(Context& context) { write_names(context, {"default"}); }

void run_getuser(Context& context) {
    if (context.args[2] != "default") return context.reply().null();
    resp::Writer reply = context.reply();
    const auto text = [&](std::string_view name, std::string_view value) {
        reply.bulk(name);
        reply.bulk(value);
    };
    reply.map(6);
    reply.bulk("flags");
    reply.set(needs_password(context) ? 1 : 2);
    reply.bulk("on");
    if (!needs_password(context)) reply.bulk("nopass");
    reply.bulk("passwords");
    reply.array(0);
    text("commands", "+@all");
    text("keys", "~*");
    text("channels", "&*");
    reply.bulk("selectors");
    reply.array(0);
}

void run_help(Context& context) { write_help(context); }

void run_multi(Context& context) {
    context.error(
        "ERR MULTI is not supported: each command is atomic by itself, and locks take no "
        "part in transactions; send the commands one by one");
}

void run_watch(Context& context) {
    context.error(
        "ERR WATCH is not supported: there are no keys to watch; "
        "LOCK and the fence of its reply do what WATCH is used for");
}

void run_without_multi(Context& context) {
    context.error("ERR " + upper(context.command.name) + " without MULTI");
}

// As in Redis without WATCH: nothing is watched afterwards.
void run_unwatch(Context& context) { context.ok(); }

constexpr std::uint32_t usual = flag_noscript | flag_loading | flag_stale;
constexpr std::uint32_t power = flag_admin | usual;
constexpr std::uint32_t power_kind = category_admin | category_dangerous | category_slow;
constexpr std::uint32_t transaction = category_fast | category_transaction;

constexpr std::array acl_rows = {
    Command{"acl|cat",
            -2,
            usual,
            category_slow,
            "6.0.0",
            "server",
            "Lists the categories, or the commands of one",
            "[category]",
            run_cat},
    Command{"acl|getuser",
            3,
            power,
            power_kind,
            "6.0.0",
            "server",
            "Shows a user",
            "username",
            run_getuser},
    Command{"acl|help",
            2,
            flag_loading | flag_stale,
            category_slow,
            "6.0.0",
            "server",
            "Shows this help",
            "",
            run_help},
    Command{"acl|list",
            2,
            power,
            power_kind,
            "6.0.0",
            "server",
            "Lists the users: there is one, default",
            "",
            run_list},
    Command{"acl|users",
            2,
            power,
            power_kind,
            "6.0.0",
            "server",
            "Lists the users' names",
            "",
            run_users},
    Command{"acl|whoami",
            2,
            usual,
            category_slow,
            "6.0.0",
            "server",
            "Returns the user of this connection",
            "",
            run_whoami},
};

constexpr std::array rows = {
    Command{"acl",
            -2,
            0,
            category_slow,
            "6.0.0",
            "server",
            "Commands about users",
            "",
            nullptr,
            acl_rows},
    Command{"multi",
            1,
            usual | flag_fast,
            transaction,
            "1.2.0",
            "transactions",
            "Refused: there are no transactions",
            "",
            run_multi},
    Command{"exec",
            1,
            usual,
            category_slow | category_transaction,
            "1.2.0",
            "transactions",
            "Refused: there are no transactions",
            "",
            run_without_multi},
    Command{"discard",
            1,
            usual | flag_fast,
            transaction,
            "2.0.0",
            "transactions",
            "Refused: there are no transactions",
            "",
            run_without_multi},
    Command{"watch",
            -2,
            usual | flag_fast,
            transaction,
            "2.2.0",
            "transactions",
            "Refused: there are no keys to watch",
            "key...",
            run_watch},
    Command{"unwatch",
            1,
            usual | flag_fast,
            transaction,
            "2.2.0",
            "transactions",
            "Accepted; nothing is ever watched",
            "",
            run_unwatch},
};

}  // namespace

std::span<const Command> redis_commands() noexcept { return rows; }

}  // namespace latchd::command
