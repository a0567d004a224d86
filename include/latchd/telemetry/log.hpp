// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

// The log of the process. Any thread. A line has a stable event id ("store.closed"), says what
// happened, to which object and what follows. Never a whole token, never a password.
namespace latchd::telemetry {

enum class Level : std::uint8_t {
    debug,    // every grant, release and loss; client mistakes
    info,     // a change that an operator may want to see: started, store is back
    notice,   // an administrator's action
    warning,  // works on, but not as wished: store down
    error,    // promises are reduced: degraded, out of descriptors
    off,      // as a threshold: nothing is logged
};

enum class Target : std::uint8_t {
    automatic,  // priorities for the journal when stderr leads there, else plain stderr
    journal,    // the journal, with fields of its own (needs libsystemd, else as automatic)
    stderr_plain,
    file,  // appended to `path`; plain stderr while that can't be opened
};

struct LogOptions {
    Level level = Level::info;
    Target target = Target::automatic;
    std::string path;  // of the file
    // At most `burst` lines of one event id in `window`, the rest are counted and summed up in
    // one line. Debug lines are never suppressed: who asked for them wants all. Those whose id
    // begins with "audit." have a limit that only a loop of commands reaches: what an
    // administrator did is worth its line.
    std::uint32_t burst = 10;
    std::chrono::milliseconds window = std::chrono::seconds(5);
    std::uint32_t audit_burst = 1'000;
    std::chrono::milliseconds audit_window = std::chrono::minutes(1);
};

// Before the first call lines of info and above go to stderr. May be called again.
void open_log(const LogOptions& options);

// Instead of a target: each line goes to `writer` (tests).
using LogWriter = std::function<void(Level, std::string_view event, std::string_view text)>;
void open_log(const LogOptions& options, LogWriter writer);

// Opens the file anew, which may have been renamed. No file: nothing.
void reopen_log();

// Ask before composing a text that costs something.
[[nodiscard]] bool log_wants(Level level) noexcept;

// Never fails: a line that can't be written (the disk is full) is dropped and counted.
void log(Level level, std::string_view event, std::string_view text);

// Writes the summary lines of windows that are over, and how many lines were dropped. Call it
// about once a second.
void sum_up_log();

struct LogCounts {
    std::uint64_t written = 0;
    std::uint64_t suppressed = 0;
    std::uint64_t dropped = 0;  // could not be written
};
[[nodiscard]] LogCounts log_counts() noexcept;

// What is wrong with the log now, and what helps; empty: nothing.
[[nodiscard]] std::string log_trouble();

}  // namespace latchd::telemetry
