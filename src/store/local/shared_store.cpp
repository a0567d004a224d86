// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The embedded table of a process with several loops.
//
// The table and the journal are the owner's, and agree whenever a handler of its loop has ended:
// what a node of another loop is granted is written down before the answer leaves, what it releases
// is dropped. The owner's own node writes down its grants itself, as ever. A node that sees a lease
// over says so; the table may think otherwise, for a moment because its lease is the longer one,
// or for good because the lock went on through another loop.
#include "embedded.hpp"

#include <deque>
#include <utility>

namespace latchd::store::local {
namespace {

class OwnersStore final : public SharedStore, public Keeper {
public:
    OwnersStore(Options options, Desk& desk, Ledger ledger, Sink& sink)
        : options_(std::move(options)),
          sink_(sink),
          desk_(desk),
          ledger_(std::move(ledger)),
          embedded_(options_) {}

    void start() override {
        embedded_.start();
        open();
    }

    void stop() override {
        is_open_ = false;
        desk_.close();
    }

    void submit(core::OperationId id, core::Operation&& operation) override {
        if (!is_open_) return;
        core::OperationReply reply = apply(operation);
        // Its own grants the node writes down; of another's it may know nothing.
        if (reply.reply.record && reply.reply.record->node != options_.node) {
            write_down(reply.reply);
        }
        sink_.deliver(core::StoreReplied{id, std::move(reply)});
        desk_.tell(take_told());
        look_at_counter();
    }

    [[nodiscard]] Health health() const override { return embedded_.health(is_open_); }

    void forget(const LockKey& key, Fence fence) override { forget(options_.node, key, fence); }

    // Keeper
    void entered() override {}
    void left() override {}
    [[nodiscard]] core::StoreOpened opening() const override { return embedded_.opening(); }

    [[nodiscard]] std::optional<std::string> refusal(const core::Operation& operation) override {
        const auto* const acquire = std::get_if<core::Acquire>(&operation);
        if (acquire == nullptr || ledger_.room() > 0) return std::nullopt;
        forget_what_is_over();
        // Who joins what is held needs no room of its own.
        const bool is_held = look(acquire->key).status == core::Status::found;
        if (is_held || ledger_.room() > 0) return std::nullopt;
        return "the journal has no room for a further lock";
    }

    [[nodiscard]] core::OperationReply serve(const core::Operation& operation) override {
        forget_what_is_over();
        core::OperationReply reply = apply(operation);
        write_down(reply.reply);
        if (reply.then) write_down(*reply.then);
        look_at_counter();
        return reply;
    }

    [[nodiscard]] std::vector<core::Table::Told> take_told() override {
        return embedded_.table().take_told();
    }
    void hear(core::NodeMessage&& message) override { sink_.deliver(std::move(message)); }

    void forget(const NodeName& node, const LockKey& key, Fence fence) override {
        forget_what_is_over();
        const core::Reply seen = look(key);
        if (seen.status != core::Status::found || seen.record->fence != fence) {
            return ledger_.drop(key, fence);
        }
        if (seen.record->node != node) return;  // which keeps it now, and will say so
        over_.push_back({key, fence, now() + seen.record->left + seen.record->delay});
    }

    [[nodiscard]] std::size_t room() override { return ledger_.room(); }

private:
    struct Over {
        LockKey key;
        Fence fence = 0;
        Time end;  // for the table, too
    };

    [[nodiscard]] Time now() const { return options_.boot_now(); }
    [[nodiscard]] core::Reply look(const LockKey& key) {
        return embedded_.table().apply(now(), core::Inspect{key}).reply;
    }

    void open() {
        is_open_ = true;
        sink_.deliver(embedded_.opening());
        desk_.open(*this);
    }

    // The table has what this process's journal had from the start. A node that puts a record back
    // would bring back what was released through another loop before it came to that.
    [[nodiscard]] core::OperationReply apply(const core::Operation& operation) {
        const auto* const restore = std::get_if<core::Restore>(&operation);
        if (restore != nullptr && look(restore->record.key).status != core::Status::found) {
            core::OperationReply gone;
            gone.reply.status = core::Status::not_held;
            return gone;
        }
        return embedded_.apply(now(), operation);
    }

    void write_down(const core::Reply& reply) {
        if (!reply.record) return;
        const core::GrantRecord& record = *reply.record;
        switch (reply.status) {
            case core::Status::granted:
            case core::Status::reentered:
            case core::Status::adopted:
            case core::Status::hold_removed:
            case core::Status::renewed:
                (void)ledger_.put(record, now());
                break;
            case core::Status::released:
                ledger_.drop(record.key, record.fence);
                break;
            case core::Status::undone:
            case core::Status::ended:
                write_down_rest(record);
                break;
            default:
                break;  // nothing has changed
        }
    }

    // One of several holds may have ended, or the grant.
    void write_down_rest(const core::GrantRecord& ended) {
        const core::Reply seen = look(ended.key);
        if (seen.status == core::Status::found && seen.record->fence == ended.fence) {
            (void)ledger_.put(*seen.record, now());
        } else {
            ledger_.drop(ended.key, ended.fence);
        }
    }

    void forget_what_is_over() {
        while (!over_.empty() && over_.front().end <= now()) {
            const Over over = std::move(over_.front());
            over_.pop_front();
            const core::Reply seen = look(over.key);
            // Renewed after all: its node will say when it is over.
            if (seen.status == core::Status::found && seen.record->fence == over.fence) continue;
            ledger_.drop(over.key, over.fence);
        }
    }

    void look_at_counter() {
        if (embedded_.begin_next_epoch()) open();
    }

    Options options_;
    Sink& sink_;
    Desk& desk_;
    Ledger ledger_;
    Embedded embedded_;
    std::deque<Over> over_;  // nearly in the order of their ends: leases that have run out
    bool is_open_ = false;
};

class LoopStore final : public WindowStore {
public:
    LoopStore(std::string name,
              const std::function<std::unique_ptr<Window>(Sink&)>& make_window,
              Sink& sink)
        : name_(std::move(name)), window_(make_window(sink)) {}

    void start() override { window_->open(); }
    void stop() override { window_->close(); }
    void submit(core::OperationId id, core::Operation&& operation) override {
        window_->submit(id, std::move(operation));
    }
    [[nodiscard]] Health health() const override {
        Health health = window_->health();
        health.name = name_;
        return health;
    }
    void forget(const LockKey& key, Fence fence) override { window_->forget(key, fence); }
    [[nodiscard]] std::size_t room() const override { return window_->room(); }

private:
    std::string name_;
    std::unique_ptr<Window> window_;
};

}  // namespace

std::unique_ptr<SharedStore> make_shared_store(Options options,
                                               Desk& desk,
                                               Ledger ledger,
                                               Sink& sink) {
    return std::make_unique<OwnersStore>(std::move(options), desk, std::move(ledger), sink);
}

std::unique_ptr<WindowStore> make_window_store(
    std::string name, std::function<std::unique_ptr<Window>(Sink&)> make_window, Sink& sink) {
    return std::make_unique<LoopStore>(std::move(name), make_window, sink);
}

}  // namespace latchd::store::local
