// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "command_docs.hpp"
#include "context.hpp"
#include "text.hpp"

#include <latchd/base/glob.hpp>

#include <array>

// COMMAND: the command table, told to clients.
namespace latchd::command {
namespace {

void write_all_infos(Context& context) {
    const auto& all = context.services.table.all();
    resp::Writer reply = context.reply();
    reply.array(all.size());
    for (const Command* command : all) write_command_info(reply, *command);
}

void run_command(Context& context) { write_all_infos(context); }

void run_count(Context& context) {
    context.reply().integer(static_cast<std::int64_t>(context.services.table.all().size()));
}

void run_info(Context& context) {
    if (context.args.size() == 2) return write_all_infos(context);
    resp::Writer reply = context.reply();
    reply.array(context.args.size() - 2);
    for (const std::string_view name : context.args.subspan(2)) {
        const Command* command = context.services.table.find_full(name);
        if (command == nullptr) {
            reply.null();
        } else {
            write_command_info(reply, *command);
        }
    }
}

void run_docs(Context& context) {
    std::vector<const Command*> wanted;
    if (context.args.size() == 2) wanted = context.services.table.all();
    for (const std::string_view name : context.args.subspan(2)) {
        const Command* command = context.services.table.find_full(name);
        if (command != nullptr) wanted.push_back(command);
    }
    resp::Writer reply = context.reply();
    reply.map(wanted.size());
    for (const Command* command : wanted) {
        reply.bulk(command->name);
        write_command_docs(reply, *command);
    }
}

bool is_in_category(const Command& command, std::string_view category) noexcept {
    for (const Named& named : categories()) {
        if (equals_ignoring_case(named.name, category)) {
            return (command.categories & named.bit) != 0;
        }
    }
    return false;
}

// COMMAND LIST [FILTERBY MODULE name|ACLCAT category|PATTERN pattern]
void run_list(Context& context) {
    const Arguments args = context.args;
    const bool filters = args.size() > 2;
    if (filters && (args.size() != 5 || !equals_ignoring_case(args[2], "FILTERBY"))) {
        return context.syntax_error();
    }
    const bool by_module = filters && equals_ignoring_case(args[3], "MODULE");
    const bool by_category = filters && equals_ignoring_case(args[3], "ACLCAT");
    const bool by_pattern = filters && equals_ignoring_case(args[3], "PATTERN");
    if (filters && !by_module && !by_category && !by_pattern) return context.syntax_error();
    std::vector<std::string_view> names;
    const auto offer = [&](const Command& command) {
        if (by_module || (by_category && !is_in_category(command, args[4]))) return;
        if (by_pattern && !glob_matches(lower(args[4]), command.name)) return;
        names.push_back(command.name);
    };
    for (const Command* command : context.services.table.all()) {
        offer(*command);
        // As in Redis: subcommands are listed only where they are asked for.
        if (!filters) continue;
        for (const Command& subcommand : command->subcommands) offer(subcommand);
    }
    resp::Writer reply = context.reply();
    reply.array(names.size());
    for (const std::string_view name : names) reply.bulk(name);
}

// A lock is a pair of resource and id: no argument is a key in Redis's sense.
void run_getkeys(Context& context) {
    const Command* command = context.services.table.find(context.args[2]);
    if (command != nullptr && !command->subcommands.empty() && context.args.size() > 3) {
        command = find_subcommand(*command, context.args[3]);
    }
    if (command == nullptr) return context.error("ERR Invalid command specified");
    if (!arity_fits(*command, context.args.size() - 2)) {
        return context.error("ERR Invalid number of arguments specified for command");
    }
    context.error("ERR The command has no key arguments");
}

void run_help(Context& context) { write_help(context); }

constexpr std::uint32_t usual = flag_loading | flag_stale;
constexpr std::uint32_t kind = category_slow | category_connection;

constexpr std::array subcommands = {
    Command{
        "command|count", 2, usual, kind, "2.8.13", "server", "Counts the commands", "", run_count},
    Command{"command|docs",
            -2,
            usual,
            kind,
            "7.0.0",
            "server",
            "Describes commands and their arguments",
            "[command-name...]",
            run_docs},
    Command{"command|getkeys",
            -3,
            usual,
            kind,
            "2.8.13",
            "server",
            "Says that a command has no keys",
            "command [arg...]",
            run_getkeys},
    Command{"command|help", 2, usual, kind, "5.0.0", "server", "Shows this help", "", run_help},
    Command{"command|info",
            -2,
            usual,
            kind,
            "2.8.13",
            "server",
            "Shows arity, flags and categories of commands",
            "[command-name...]",
            run_info},
    Command{"command|list",
            -2,
            usual,
            kind,
            "7.0.0",
            "server",
            "Lists the commands' names",
            "[FILTERBY MODULE name | ACLCAT category | PATTERN pattern]",
            run_list},
};

constexpr std::array rows = {
    Command{"command",
            -1,
            usual,
            kind,
            "2.8.13",
            "server",
            "Shows arity, flags and categories of all commands",
            "",
            run_command,
            subcommands},
};

}  // namespace

std::span<const Command> command_commands() noexcept { return rows; }

}  // namespace latchd::command
