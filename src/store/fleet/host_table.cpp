// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "host_table.hpp"

#include "local_table.hpp"

#include <deque>
#include <functional>
#include <limits>
#include <utility>

// The loops of a process are nodes of the fleet, each of which decides for itself when nothing but
// the host is left. The table begins empty with the first of them that comes, and is given up with
// the last that goes. What is in it of a node that has gone before only keeps the others away until
// its lease ends: it was asserted in the shared store. Request ids that were cancelled in it stay
// barred, also when it is given up and opened again.
namespace latchd::store::fleet {
namespace {

class OwnTable final : public HostTable, public Keeper {
public:
    OwnTable(const Options& options, const Surroundings& surroundings, Sink& sink)
        : desk_(options.desk),
          boot_now_(surroundings.boot_now),
          wall_ms_(surroundings.wall_ms),
          sink_(sink),
          table_(options.local_fence_floor, surroundings.save_local_floor),
          former_(options.former_of_host),
          keep_cancelled_(surroundings.keep_cancelled) {
        const Time now = boot_now_();
        if (!former_.empty()) former_at_ = now;
        for (const core::CancelledRequest& each : options.cancelled_of_host) bar(each, now);
    }

    void start() override {
        if (desk_ != nullptr) desk_->open(*this);
    }
    void stop() override {
        if (desk_ != nullptr) desk_->close();
    }
    void open() override { entered(); }
    void close() override { left(); }

    void submit(core::OperationId id, core::Operation&& operation) override {
        sink_.deliver(core::StoreReplied{id, apply(operation)});
        std::vector<core::Table::Told> told = table_.take_told();
        // Without a desk there are no other nodes of this table: nobody is left to tell.
        if (desk_ != nullptr) desk_->tell(std::move(told));
    }

    [[nodiscard]] std::optional<std::size_t> size() const override { return table_.size(); }

    // Keeper
    void entered() override {
        if (nodes_++ > 0) return;
        table_.open(wall_ms_());
        restore_bars();  // first: a record may be of what was cancelled
        restore_former();
    }
    void left() override { --nodes_; }
    [[nodiscard]] core::StoreOpened opening() const override {
        core::StoreOpened opened;
        opened.tier = "local";
        opened.shared = false;
        return opened;
    }
    [[nodiscard]] std::optional<std::string> refusal(const core::Operation&) override {
        return std::nullopt;
    }
    [[nodiscard]] core::OperationReply serve(const core::Operation& operation) override {
        return apply(operation);
    }
    [[nodiscard]] std::vector<core::Table::Told> take_told() override { return table_.take_told(); }
    void hear(core::NodeMessage&& message) override { sink_.deliver(std::move(message)); }
    // Each node has a journal of its own.
    void forget(const NodeName&, const LockKey&, Fence) override {}
    [[nodiscard]] std::size_t room() override { return std::numeric_limits<std::size_t>::max(); }

private:
    static constexpr std::size_t bars_max = 100'000;

    core::OperationReply apply(const core::Operation& operation) {
        const Time now = boot_now_();
        if (const auto* cancel = std::get_if<core::Cancel>(&operation)) {
            const core::CancelledRequest barred{cancel->key, cancel->request, cancel->bar};
            if (keep_cancelled_) keep_cancelled_(barred, now);
            bar(barred, now);
        }
        return table_.apply(now, operation);
    }

    void bar(const core::CancelledRequest& barred, Time now) {
        bars_.emplace_back(now + barred.left, barred);
        while (bars_.size() > bars_max || bars_.front().first <= now) {
            bars_.pop_front();
            if (bars_.empty()) return;
        }
    }

    void restore_bars() {
        const Time now = boot_now_();
        for (const auto& [until, barred] : bars_) {
            if (until <= now) continue;
            (void)table_.apply(now,
                               core::Cancel{barred.key, barred.request, NodeName(), until - now});
        }
        (void)table_.take_told();
    }

    // Of all loops: the first that comes back may be asked for what another one's client holds.
    void restore_former() {
        const Time now = boot_now_();
        const Duration passed = now - former_at_;
        for (core::GrantRecord& record : std::exchange(former_, {})) {
            record.left -= passed;
            if (record.hard_left) *record.hard_left -= passed;
            for (core::Hold& hold : record.holds) hold.adopt_left -= passed;
            (void)table_.apply(now, core::Restore{std::move(record), true});
        }
    }

    Desk* desk_;
    std::function<Time()> boot_now_;
    std::function<std::int64_t()> wall_ms_;
    Sink& sink_;
    LocalTable table_;
    std::size_t nodes_ = 0;  // that keep their locks here
    std::vector<core::GrantRecord> former_;
    Time former_at_{};
    std::function<void(const core::CancelledRequest&, Time)> keep_cancelled_;
    std::deque<std::pair<Time, core::CancelledRequest>> bars_;  // with when they are over
};

class TableOfOther final : public HostTable {
public:
    explicit TableOfOther(std::unique_ptr<Window> window) : window_(std::move(window)) {}

    void start() override {}
    void stop() override { window_->close(); }
    void open() override { window_->open(); }
    void close() override { window_->close(); }
    void submit(core::OperationId id, core::Operation&& operation) override {
        window_->submit(id, std::move(operation));
    }
    [[nodiscard]] std::optional<std::size_t> size() const override { return std::nullopt; }

private:
    std::unique_ptr<Window> window_;
};

}  // namespace

std::unique_ptr<HostTable> make_own_table(const Options& options,
                                          const Surroundings& surroundings,
                                          Sink& sink) {
    return std::make_unique<OwnTable>(options, surroundings, sink);
}

std::unique_ptr<HostTable> make_table_of_other(std::unique_ptr<Window> window) {
    return std::make_unique<TableOfOther>(std::move(window));
}

}  // namespace latchd::store::fleet
