// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/authority/epoch.hpp>
#include <latchd/core/lock/table.hpp>
#include <latchd/store/local/store.hpp>
#include <latchd/telemetry/log.hpp>

#include <utility>

namespace latchd::store::local {
namespace {

class LocalStore final : public Store {
public:
    LocalStore(Options options, Sink& sink)
        : options_(std::move(options)), sink_(sink), table_(options_.epoch, options_.counter) {}

    void start() override {
        const Time now = options_.boot_now();
        // Here and not by the node alone: a lock in its DELAY has no lease that a node restores.
        for (core::GrantRecord& record : options_.records) {
            (void)table_.apply(now, core::Restore{std::move(record), true});
        }
        options_.records.clear();
        is_open_ = true;
        telemetry::log(telemetry::Level::info,
                       "store.opened",
                       "the embedded table, epoch " + std::to_string(table_.epoch()) + ", " +
                           std::to_string(table_.size()) + " locks of the former process");
        open();
    }

    void stop() override { is_open_ = false; }

    void submit(core::OperationId id, core::Operation&& operation) override {
        if (!is_open_) return;
        ++operations_;
        sink_.deliver(core::StoreReplied{id, table_.apply(options_.boot_now(), operation)});
        // Other nodes of this table don't exist: nobody is left to tell.
        (void)table_.take_told();
        if (table_.counter() >= core::authority::counter_full) next_epoch();
    }

    [[nodiscard]] Health health() const override {
        Health health;
        health.name = options_.name;
        health.type = "local";
        health.address = "embedded";
        health.state = is_open_ ? "up" : "down";
        health.checks_ok = operations_;
        health.connections = 0;
        health.epoch = table_.epoch();
        return health;
    }

private:
    void open() {
        core::StoreOpened opened;
        opened.tier = "local";
        opened.epoch = table_.epoch();
        opened.shared = false;
        sink_.deliver(std::move(opened));
    }

    // Fences go on rising under the next epoch's number; the locks stay as they are.
    void next_epoch() {
        const Epoch next = table_.epoch() + 1;
        if (options_.save_epoch) options_.save_epoch(next);
        table_.begin_epoch(next);
        telemetry::log(telemetry::Level::notice,
                       "store.epoch",
                       "the fence counter is used up; epoch " + std::to_string(next) + " begins");
        open();
    }

    Options options_;
    Sink& sink_;
    core::Table table_;
    std::uint64_t operations_ = 0;
    bool is_open_ = false;
};

}  // namespace

std::unique_ptr<Store> make_store(Options options, Sink& sink) {
    return std::make_unique<LocalStore>(std::move(options), sink);
}

}  // namespace latchd::store::local
