// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>
#include <latchd/core/lock/claims.hpp>
#include <latchd/core/lock/record.hpp>
#include <latchd/journal/directory.hpp>
#include <latchd/journal/host.hpp>
#include <latchd/journal/recovered.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace latchd::journal {

struct JournalOptions {
    std::size_t locks_max = 100'000;  // records kept at once, and as many cancelled request ids
    std::size_t rewrite_from_bytes = 1 << 20;  // shorter halves are not rewritten
};

// Of the budget a lock's record counts for: one with every name at its limit and one hold of 16
// attempts takes 896 bytes, an ordinary one about 220.
inline constexpr std::size_t record_budget_bytes = 1'024;
inline constexpr std::size_t record_bytes_max = 64 * 1'024;

struct JournalCounts {
    std::size_t records = 0;         // live now
    std::size_t live_bytes = 0;      // what they take
    std::size_t live_bytes_max = 0;  // what they may take: budget times locks_max
    std::size_t bars = 0;            // cancelled request ids, some of which may be over
    std::uint64_t puts = 0;
    std::uint64_t drops = 0;
    std::uint64_t refused = 0;   // puts and bars that returned false
    std::uint64_t rewrites = 0;  // changes to the other half
};

struct JournalOpened;

// The grants that a node knows of, in a file that outlives the process: after kill -9 it holds
// all that was put and not dropped. Not for what must survive the host: nothing is ever synced.
//
// Invariants, at every single store:
//  1. Each record that was put and neither replaced nor dropped is found by read_journal(), and so
//     is each cancelled request id until its time is over.
//  2. highest_fence() of the file is at least the fence of every record that was ever put.
//  3. The live records never need more than a part of a half that leaves room for rewriting them.
//
// One thread. No call blocks or allocates; now and then put() asks the kernel for
// 256 KiB of room.
class Journal {
public:
    // Reads what the former process left in the runtime directory and starts a new file with
    // it, which then replaces the old one. Never throws for what it finds.
    [[nodiscard]] static JournalOpened open(const NodeDirectory& directory,
                                            const Host& host,
                                            const JournalOptions& options,
                                            Time now);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    // Keeps the record in place of the lock's former one. false: no room (locks_max, the byte
    // budget, or the file system is full) and nothing has changed: answer -LIMIT journal. A
    // record no longer than the one it replaces finds room unless the file system is full.
    [[nodiscard]] bool put(const core::GrantRecord& record, Time now) noexcept;

    // From now on this file has all that this process puts …
    void belongs_to(std::uint64_t incarnation) noexcept;
    // … until one could not be written.
    void lacks_some() noexcept;

    // Forgets the lock's record if it is of this fence or an earlier one.
    void drop(const LockKey& key, Fence fence) noexcept;

    // Keeps a cancelled request id until its time is over; one that is kept for longer stays so.
    // false: no room (locks_max of them, or the file system is full), or a name too long.
    [[nodiscard]] bool bar(const core::CancelledRequest& cancelled, Time now) noexcept;

    // Notes a fence that was given (or seen) without a record.
    void raise_fence(Fence fence) noexcept;
    [[nodiscard]] Fence highest_fence() const noexcept;

    [[nodiscard]] JournalCounts counts() const noexcept;

    // How many further locks' records put() takes for certain, each of at most the budget's bytes.
    // Takes room in the file system ahead for them.
    [[nodiscard]] std::size_t room() noexcept;

private:
    friend struct JournalOpener;
    class Writer;
    explicit Journal(std::unique_ptr<Writer> writer) noexcept;

    std::unique_ptr<Writer> writer_;
};

struct JournalOpened {
    std::unique_ptr<Journal> journal;  // null: could not be made, recovered.warnings says why
    Recovered recovered;
};

}  // namespace latchd::journal
