// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "command_docs.hpp"

#include "syntax.hpp"

#include <bit>

namespace latchd::command {
namespace {

void write_bits(resp::Writer reply,
                std::span<const Named> names,
                std::uint32_t bits,
                std::string_view prefix) {
    std::uint32_t known = 0;
    for (const Named& named : names) known |= named.bit;
    reply.array(static_cast<std::size_t>(std::popcount(bits & known)));
    for (const Named& named : names) {
        if ((bits & named.bit) != 0) reply.simple_string(std::string(prefix) += named.name);
    }
}

void text(resp::Writer& reply, std::string_view name, std::string_view value) {
    reply.bulk(name);
    reply.bulk(value);
}

void write_arguments(resp::Writer reply, const std::vector<Argument>& arguments);

void write_argument(resp::Writer reply, const Argument& argument) {
    const bool has_flags = argument.optional || argument.multiple;
    const bool has_children = !argument.arguments.empty();
    reply.map(2 + (argument.token.empty() ? 0u : 1u) + (has_flags ? 1u : 0u) +
              (has_children ? 1u : 0u));
    text(reply, "name", argument.name);
    text(reply, "type", name_of(argument.type));
    if (!argument.token.empty()) text(reply, "token", argument.token);
    if (has_flags) {
        reply.bulk("flags");
        reply.array((argument.optional ? 1u : 0u) + (argument.multiple ? 1u : 0u));
        if (argument.optional) reply.simple_string("optional");
        if (argument.multiple) reply.simple_string("multiple");
    }
    if (has_children) {
        reply.bulk("arguments");
        write_arguments(reply, argument.arguments);
    }
}

void write_arguments(resp::Writer reply, const std::vector<Argument>& arguments) {
    reply.array(arguments.size());
    for (const Argument& argument : arguments) write_argument(reply, argument);
}

}  // namespace

void write_command_info(resp::Writer reply, const Command& command) {
    reply.array(10);
    reply.bulk(command.name);
    reply.integer(command.arity);
    write_bits(reply, shown_flags(), command.flags, "");
    reply.integer(0);  // first key, last key, step: a lock is no key
    reply.integer(0);
    reply.integer(0);
    write_bits(reply, categories(), command.categories, "@");
    reply.array(0);  // tips
    reply.array(0);  // key specifications
    reply.array(command.subcommands.size());
    for (const Command& subcommand : command.subcommands) write_command_info(reply, subcommand);
}

void write_command_docs(resp::Writer reply, const Command& command) {
    const bool has_arguments = !command.syntax.empty();
    const bool has_subcommands = !command.subcommands.empty();
    reply.map(3 + (has_arguments ? 1u : 0u) + (has_subcommands ? 1u : 0u));
    text(reply, "summary", command.summary);
    text(reply, "since", command.since);
    text(reply, "group", command.group);
    if (has_arguments) {
        reply.bulk("arguments");
        write_arguments(reply, parse_syntax(command.syntax));
    }
    if (has_subcommands) {
        reply.bulk("subcommands");
        reply.map(command.subcommands.size());
        for (const Command& subcommand : command.subcommands) {
            reply.bulk(subcommand.name);
            write_command_docs(reply, subcommand);
        }
    }
}

}  // namespace latchd::command
