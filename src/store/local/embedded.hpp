// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/epoch.hpp>
#include <latchd/core/lock/table.hpp>
#include <latchd/store/local/store.hpp>
#include <latchd/telemetry/log.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace latchd::store::local {

// The embedded table: what a process begins with, and its epochs.
class Embedded {
public:
    // The options outlive it.
    explicit Embedded(Options& options)
        : options_(options), table_(options.epoch, options.counter) {}

    void start() {
        const Time now = options_.boot_now();
        // First: the process may have ended between barring a request id and dropping its record.
        for (core::CancelledRequest& each : options_.cancelled) {
            (void)table_.apply(
                now,
                core::Cancel{
                    std::move(each.key), std::move(each.request), options_.node, each.left});
        }
        options_.cancelled.clear();
        (void)table_.take_told();  // whoever starts with this process knows of no wish yet
        // Here and not by the node alone: a lock in its DELAY has no lease that a node restores.
        for (core::GrantRecord& record : options_.records) {
            (void)table_.apply(now, core::Restore{std::move(record), true});
        }
        options_.records.clear();
        telemetry::log(telemetry::Level::info,
                       "store.opened",
                       "the embedded table, epoch " + std::to_string(table_.epoch()) + ", " +
                           std::to_string(table_.size()) + " locks of the former process");
    }

    [[nodiscard]] core::StoreOpened opening() const {
        core::StoreOpened opened;
        opened.tier = "local";
        opened.epoch = table_.epoch();
        opened.shared = false;
        return opened;
    }

    [[nodiscard]] core::OperationReply apply(Time now, const core::Operation& operation) {
        ++operations_;
        const auto* const cancel = std::get_if<core::Cancel>(&operation);
        if (cancel != nullptr && options_.keep_cancelled) {
            options_.keep_cancelled({cancel->key, cancel->request, cancel->bar}, now);
        }
        return table_.apply(now, operation);
    }

    // Fences go on rising under the next epoch's number; the locks stay as they are. False: the
    // counter has room yet.
    [[nodiscard]] bool begin_next_epoch() {
        if (table_.counter() < core::authority::counter_full) return false;
        const Epoch next = table_.epoch() + 1;
        if (options_.save_epoch) options_.save_epoch(next);
        table_.begin_epoch(next);
        telemetry::log(telemetry::Level::notice,
                       "store.epoch",
                       "the fence counter is used up; epoch " + std::to_string(next) + " begins");
        return true;
    }

    [[nodiscard]] Health health(bool is_open) const {
        Health health;
        health.name = options_.name;
        health.type = "local";
        health.address = "embedded";
        health.state = is_open ? "up" : "down";
        health.checks_ok = operations_;
        health.connections = 0;
        health.epoch = table_.epoch();
        return health;
    }

    [[nodiscard]] core::Table& table() noexcept { return table_; }

private:
    Options& options_;
    core::Table table_;
    std::uint64_t operations_ = 0;
};

}  // namespace latchd::store::local
