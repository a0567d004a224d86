// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/journal/directory.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchd::journal {

// What a node must know after its host restarted. Written rarely.
struct State {
    std::string cluster;          // the cluster's UUID; empty: none known
    Epoch epoch = 0;              // the highest seen
    Fence local_fence_floor = 0;  // local fences given from now on are above
    std::string authority;        // the authority record last seen, as text; any bytes
    // Of the process that saved it: its incarnation (0: none yet), the life of the host that it
    // ran in, whether it kept a journal, and the arbiter's clock less CLOCK_BOOTTIME of that life.
    std::uint64_t incarnation = 0;
    std::string boot;
    bool has_journal = false;
    std::optional<std::int64_t> arbiter_clock_us;

    friend bool operator==(const State&, const State&) = default;
};

struct StateRead {
    enum class Origin : std::uint8_t {
        missing,  // no file: this node has never been here
        read,     // as it was saved
        damaged,  // there is a file, but nothing in it can be trusted: `warning` says why
    };
    Origin origin = Origin::missing;
    State state;  // empty unless read
    std::string warning;
};

// `directory` is the node's state directory.
[[nodiscard]] StateRead load_state(const NodeDirectory& directory);

// Replaces the file: after a crash at any moment it is the former or the new one, and once this
// returns it is the new one, also after a loss of power. Blocks for the disk (typically 5-20 ms).
// Returns an empty string, or why it could not be saved; the former file is then unharmed.
// A spare file stays beside it, so that a full disk keeps none but the first from being saved.
[[nodiscard]] std::string save_state(const NodeDirectory& directory, const State& state);

// The file's text, format 1 of docs/journal.md, and back.
[[nodiscard]] std::string format_state(const State& state);
[[nodiscard]] StateRead parse_state(std::string_view text);

}  // namespace latchd::journal
