// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include "text.hpp"

#include <algorithm>
#include <array>

namespace latchd::command {
namespace {

constexpr std::size_t verb_bytes_max = 32;

constexpr std::array named_flags = {
    Named{flag_write, "write"},
    Named{flag_readonly, "readonly"},
    Named{flag_admin, "admin"},
    Named{flag_pubsub, "pubsub"},
    Named{flag_noscript, "noscript"},
    Named{flag_blocking, "blocking"},
    Named{flag_loading, "loading"},
    Named{flag_stale, "stale"},
    Named{flag_fast, "fast"},
    Named{flag_no_auth, "no_auth"},
};

constexpr std::array named_categories = {
    Named{category_lock, "lock"},
    Named{category_read, "read"},
    Named{category_admin, "admin"},
    Named{category_dangerous, "dangerous"},
    Named{category_connection, "connection"},
    Named{category_pubsub, "pubsub"},
    Named{category_transaction, "transaction"},
    Named{category_fast, "fast"},
    Named{category_slow, "slow"},
    Named{category_blocking, "blocking"},
};

}  // namespace

std::span<const Named> shown_flags() noexcept { return named_flags; }
std::span<const Named> categories() noexcept { return named_categories; }

Table::Table() {
    for (const auto rows : {lock_commands(),
                            latchd_commands(),
                            connection_commands(),
                            client_commands(),
                            pubsub_commands(),
                            server_commands(),
                            observe_commands(),
                            command_commands(),
                            redis_commands()}) {
        for (const Command& row : rows) {
            by_name_.emplace(row.name, &row);
            sorted_.push_back(&row);
        }
    }
    std::sort(sorted_.begin(), sorted_.end(), [](const Command* a, const Command* b) {
        return a->name < b->name;
    });
}

const Command* Table::find(std::string_view name) const noexcept {
    if (name.size() > verb_bytes_max) return nullptr;
    char lower[verb_bytes_max];
    std::transform(name.begin(), name.end(), lower, to_lower);
    const auto it = by_name_.find(std::string_view(lower, name.size()));
    return it == by_name_.end() ? nullptr : it->second;
}

const Command* Table::find_full(std::string_view name) const noexcept {
    const std::size_t bar = name.find('|');
    const Command* command = find(name.substr(0, bar));
    if (command == nullptr || bar == std::string_view::npos) return command;
    return find_subcommand(*command, name.substr(bar + 1));
}

const Command* find_subcommand(const Command& container, std::string_view name) noexcept {
    for (const Command& row : container.subcommands) {
        if (equals_ignoring_case(row.last_name(), name)) return &row;
    }
    return nullptr;
}

bool arity_fits(const Command& command, std::size_t given) noexcept {
    return command.arity >= 0 ? given == static_cast<std::size_t>(command.arity)
                              : given >= static_cast<std::size_t>(-command.arity);
}

}  // namespace latchd::command
