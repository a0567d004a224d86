// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>
#include <latchd/core/lock/claims.hpp>
#include <latchd/core/lock/record.hpp>
#include <latchd/journal/host.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace latchd::journal {

// Tells a file from its copies. Not the device: an overlay has another after each mount.
struct FileId {
    std::uint64_t inode = 0;
    std::uint64_t born_ns = 0;  // 0: the file system doesn't say
};

// What a former process left behind.
struct Recovered {
    enum class Origin : std::uint8_t {
        missing,     // no journal
        continued,   // of this host's present life: its grants may still be held
        other_life,  // the host restarted since, or it is another one: only the fence counts
        unusable,    // of another format version, or its head is damaged: a warning says so
    };
    Origin origin = Origin::missing;
    std::vector<core::GrantRecord> records;         // one per lock, with what is left of them now
    std::vector<core::CancelledRequest> cancelled;  // each once or more, with what is left
    std::size_t over = 0;                           // records left out: lease and delay had passed
    Fence highest_fence = 0;                        // no fence above was ever put; 0: none
    std::vector<std::string> warnings;
    bool is_damaged = false;       // something of it was passed over
    std::uint64_t owner_word = 0;  // of its head
    FileId file;                   // where it was found

    // Whether these are all records of that process: the file is the very one that it wrote, in
    // this life of the host, and nothing of it is missing.
    [[nodiscard]] bool is_all_of(std::uint64_t incarnation) const noexcept;
};

// Reads a journal's bytes. Any bytes are fine: what has no valid checksum is never returned.
[[nodiscard]] Recovered read_journal(std::span<const std::byte> file, const Host& host, Time now);

}  // namespace latchd::journal
