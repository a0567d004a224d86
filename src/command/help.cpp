// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "text.hpp"

namespace latchd::command {

void write_help(Context& context) {
    const std::string_view name = context.command.name.substr(0, context.command.name.find('|'));
    const Command* container = context.services.table.find(name);
    resp::Writer reply = context.reply();
    reply.array(1 + 2 * container->subcommands.size());
    reply.simple_string(upper(name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    for (const Command& row : container->subcommands) {
        std::string line = upper(row.last_name());
        if (!row.syntax.empty()) line += ' ';
        reply.simple_string(line += row.syntax);
        reply.simple_string("    " + std::string(row.summary) + ".");
    }
}

}  // namespace latchd::command
