// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>
#include <latchd/core/lock/record.hpp>
#include <latchd/store/port.hpp>

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
    std::function<Time()> boot_now;  // CLOCK_BOOTTIME
    // Keeps a further epoch (the counter ran out) where the next process finds it. May be empty.
    std::function<void(Epoch)> save_epoch;
};

// Locks in this process's own table: the embedded tier. Answers from within submit(), is open from
// start() to stop(), never fails. What outlives the process is the caller's journal.
[[nodiscard]] std::unique_ptr<Store> make_store(Options options, Sink& sink);

}  // namespace latchd::store::local
