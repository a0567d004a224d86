// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace latchd::command {

struct Context;
struct Gathering;
struct Services;
using Handler = void (*)(Context&);
// What a command that is about all loops does on those that its client is not of.
using Part = void (*)(Services&, const Gathering&);

// Flags as COMMAND INFO names them, then what only the dispatcher looks at.
enum Flag : std::uint32_t {
    flag_write = 1u << 0,
    flag_readonly = 1u << 1,
    flag_admin = 1u << 2,
    flag_pubsub = 1u << 3,
    flag_noscript = 1u << 4,
    flag_blocking = 1u << 5,
    flag_loading = 1u << 6,
    flag_stale = 1u << 7,
    flag_fast = 1u << 8,
    flag_no_auth = 1u << 9,        // may be sent before AUTH
    flag_in_subscribe = 1u << 10,  // may be sent in RESP2 while subscribed
    flag_alone = 1u << 11,         // runs only when everything before it is answered
    flag_secret = 1u << 12,        // its arguments are never shown
    // Of a process with several loops: is run with the reports of all the others
    flag_gather = 1u << 13,
    flag_gather_clients = 1u << 14,  // with their connections
    flag_gather_some = 1u << 15,     // also if one is silent: the reply says so
};

enum Category : std::uint32_t {
    category_lock = 1u << 0,
    category_read = 1u << 1,
    category_admin = 1u << 2,
    category_dangerous = 1u << 3,
    category_connection = 1u << 4,
    category_pubsub = 1u << 5,
    category_transaction = 1u << 6,
    category_fast = 1u << 7,
    category_slow = 1u << 8,
    category_blocking = 1u << 9,
};

struct Named {
    std::uint32_t bit;
    std::string_view name;
};
[[nodiscard]] std::span<const Named> shown_flags() noexcept;
[[nodiscard]] std::span<const Named> categories() noexcept;

// One command or subcommand. The rows of this table feed the dispatcher, COMMAND, the HELP of
// containers and docs/commands.md: there is no other list of commands.
struct Command {
    std::string_view name;  // lower case; a subcommand's as "client|setname"
    int arity = 1;          // with the name (and the container's); negative: at least so many
    std::uint32_t flags = 0;
    std::uint32_t categories = 0;
    std::string_view since = {};
    std::string_view group = {};    // as redis-cli groups help: "generic" for latchd's own
    std::string_view summary = {};  // no full stop
    std::string_view syntax = {};   // of the arguments, see syntax.hpp
    Handler handler = nullptr;      // of a container: for the call without subcommand, may be null
    std::span<const Command> subcommands = {};
    bool own = false;     // latchd's, not known to Redis
    Part part = nullptr;  // with flag_gather; none: the other loops only report

    [[nodiscard]] bool has(Flag flag) const noexcept { return (flags & flag) != 0; }
    // "setname" of "client|setname".
    [[nodiscard]] std::string_view last_name() const noexcept {
        return name.substr(name.find('|') + 1);
    }
};

// The groups of rows, one function per file of handlers.
[[nodiscard]] std::span<const Command> lock_commands() noexcept;
[[nodiscard]] std::span<const Command> latchd_commands() noexcept;
[[nodiscard]] std::span<const Command> connection_commands() noexcept;
[[nodiscard]] std::span<const Command> client_commands() noexcept;
[[nodiscard]] std::span<const Command> pubsub_commands() noexcept;
[[nodiscard]] std::span<const Command> server_commands() noexcept;
[[nodiscard]] std::span<const Command> observe_commands() noexcept;
[[nodiscard]] std::span<const Command> command_commands() noexcept;
[[nodiscard]] std::span<const Command> redis_commands() noexcept;

// All commands, found by name in any letter case.
class Table {
public:
    Table();

    [[nodiscard]] const Command* find(std::string_view name) const noexcept;
    // "client|setname" or "client".
    [[nodiscard]] const Command* find_full(std::string_view name) const noexcept;
    // Top level, sorted by name.
    [[nodiscard]] const std::vector<const Command*>& all() const noexcept { return sorted_; }

private:
    std::unordered_map<std::string_view, const Command*> by_name_;
    std::vector<const Command*> sorted_;
};

[[nodiscard]] const Command* find_subcommand(const Command& container,
                                             std::string_view name) noexcept;
// As Redis counts: `given` includes the command's name.
[[nodiscard]] bool arity_fits(const Command& command, std::size_t given) noexcept;

}  // namespace latchd::command
