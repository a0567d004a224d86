// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/config/options.hpp>
#include <latchd/core/authority/view.hpp>
#include <latchd/journal/directory.hpp>
#include <latchd/journal/journal.hpp>
#include <latchd/journal/state.hpp>
#include <latchd/server/grant_log.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace latchd::app {

// What a node keeps outside of its memory: the journal and the state file, and the locks on their
// folders. A folder that can't be used costs a warning; the node then keeps that part in memory.
class Keeping final : public server::GrantLog {
public:
    // Empty result: another process has one of the folders, `refusal` names it.
    [[nodiscard]] static std::unique_ptr<Keeping> open(const config::Options& options,
                                                       Time now,
                                                       std::string& refusal);

    // Records of this node's former process; once.
    [[nodiscard]] std::vector<core::GrantRecord> take_records();
    // What was cancelled there; once.
    [[nodiscard]] std::vector<core::CancelledRequest> take_cancelled();

    // The highest epoch that state file or journal show, and the cluster it belongs to.
    [[nodiscard]] core::authority::Known known() const;
    // What is known of this node's last process, which is dead.
    struct Former {
        core::authority::Incarnation incarnation = 0;  // 0: there was none, or nothing is known
        bool has_journal = false;               // and take_records() are its grants, all of them
        std::optional<Duration> arbiter_clock;  // of this life of the host
        std::optional<core::authority::FleetRecord> record;  // the last one that was open
    };
    [[nodiscard]] const Former& former() const noexcept { return former_; }
    // False: the next process finds no trace of what this one gives; warning() says why.
    [[nodiscard]] bool leaves_a_trace() const noexcept;
    [[nodiscard]] Fence local_fence_floor() const noexcept { return state_.local_fence_floor; }

    // All of these block for the disk.
    void begin(core::authority::Incarnation incarnation);
    // The arbiter has what this process held: the next one takes nothing over.
    void leave();
    void save(const core::authority::Known& known);
    void save_local_floor(Fence floor);
    void keep_offset(Duration offset, Time now);
    void keep_record(const core::authority::FleetRecord& record);

    [[nodiscard]] bool put(const core::GrantRecord& record, Time now) override;
    void drop(const LockKey& key, Fence fence) override;
    [[nodiscard]] std::size_t room() override;
    // What of this is not kept, for as long as this process lives or the state can't be written.
    [[nodiscard]] std::string warning() const override;
    void keep_cancelled(const core::CancelledRequest& cancelled, Time now);

private:
    Keeping() = default;
    bool open_runtime(const config::Options& options, Time now, std::string& refusal);
    bool open_state(const config::Options& options, std::string& refusal);

    void save();
    // To the log, and standing.
    void warn_of_memory(const std::string& why, const std::string& consequence);

    journal::Host host_ = journal::read_host();
    std::optional<journal::NodeDirectory> runtime_;
    std::optional<journal::NodeDirectory> state_directory_;
    std::unique_ptr<journal::Journal> journal_;
    std::vector<core::GrantRecord> records_;
    std::vector<core::CancelledRequest> cancelled_;
    Fence highest_fence_ = 0;
    journal::Recovered found_;  // but for its records
    Former former_;
    Time offset_saved_{};
    journal::State state_;
    std::string warning_;
    std::string unsaved_;  // why the state was not written the last time; empty: it was
};

}  // namespace latchd::app
