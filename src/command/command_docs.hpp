// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "table.hpp"

#include <latchd/resp/writer.hpp>

namespace latchd::command {

// One element of COMMAND INFO's reply: the ten fields of Redis 7.
void write_command_info(resp::Writer reply, const Command& command);

// The map of COMMAND DOCS for one command. Its "flags" hold simple strings: redis-cli aborts on
// bulk strings there; and hiredis refuses more than 7 levels of nesting, so that arguments nest
// at most twice and subcommands of the containers carry no arguments below that.
void write_command_docs(resp::Writer reply, const Command& command);

}  // namespace latchd::command
