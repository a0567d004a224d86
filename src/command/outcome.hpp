// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/command.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/resp/writer.hpp>

#include <span>
#include <string>
#include <string_view>

namespace latchd::command {

// Every first word of an error that latchd answers with, when it comes, and whether the same
// command may be sent again. docs/commands.md shows this table; a test compares.
struct ErrorRow {
    std::string_view word;
    std::string_view when;
    std::string_view retry;
};
[[nodiscard]] std::span<const ErrorRow> error_table() noexcept;

[[nodiscard]] std::string_view word_of(core::ErrorWord word) noexcept;

// The text of an error reply, with its word.
[[nodiscard]] std::string text_of(const core::Error& error);

// Everything but core::Error, which the dispatcher counts.
void write_outcome(const core::Outcome& outcome, bool explain, resp::Writer reply);

// "lost", "expiring", "revoked", "failover".
[[nodiscard]] std::string_view name_of(core::Happened::Kind kind) noexcept;

// The payload of an event: "lost order:settle/1001#42 owner=w1 reason". Fields are escaped, so
// that blanks divide them.
[[nodiscard]] std::string event_text(const core::Happened& happened);

}  // namespace latchd::command
