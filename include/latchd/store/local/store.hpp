// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>
#include <latchd/core/lock/claims.hpp>
#include <latchd/core/lock/record.hpp>
#include <latchd/store/desk.hpp>
#include <latchd/store/port.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace latchd::store::local {

struct Options {
    std::string name = "local";
    NodeName node;
    Epoch epoch = 0;            // above every epoch that this node has known
    std::uint32_t counter = 0;  // where the epoch's fences start
    // What the former process of this node had granted, with what is left now. Nobody else can
    // have been granted these locks since.
    std::vector<core::GrantRecord> records;
    // What was cancelled there, with what is left of the bars.
    std::vector<core::CancelledRequest> cancelled;
    std::function<Time()> boot_now;  // CLOCK_BOOTTIME
    // Keeps a further epoch (the counter ran out) where the next process finds it. May be empty.
    std::function<void(Epoch)> save_epoch;
    // Keeps a cancelled request id there, too, before the CANCEL is answered. May be empty.
    std::function<void(const core::CancelledRequest&, Time now)> keep_cancelled;
};

// Locks in this process's own table: the embedded tier. Answers from within submit(), is open from
// start() to stop(), never fails. What outlives the process is the caller's journal.
[[nodiscard]] std::unique_ptr<Store> make_store(Options options, Sink& sink);

// What the owner of a table that several loops use writes down for them: one journal has all that
// the table has, whatever loop it came from, so that any number of loops can go on with it.
struct Ledger {
    // False: there was no room, which has been logged.
    std::function<bool(const core::GrantRecord&, Time)> put;
    std::function<void(const LockKey&, Fence)> drop;
    std::function<std::size_t()> room;  // for so many further locks
};

// The same table with other loops at its desk. The owner's own node keeps its records in the
// journal itself, by put(), and forgets them by forget(): another loop may have the lock by then.
class SharedStore : public Store {
public:
    virtual void forget(const LockKey& key, Fence fence) = 0;
};
[[nodiscard]] std::unique_ptr<SharedStore> make_shared_store(Options options,
                                                             Desk& desk,
                                                             Ledger ledger,
                                                             Sink& sink);

// The table of another loop, over its window.
class WindowStore : public Store {
public:
    virtual void forget(const LockKey& key, Fence fence) = 0;
    [[nodiscard]] virtual std::size_t room() const = 0;
};
[[nodiscard]] std::unique_ptr<WindowStore> make_window_store(
    std::string name, std::function<std::unique_ptr<Window>(Sink&)> make_window, Sink& sink);

}  // namespace latchd::store::local
