// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/config/options.hpp>
#include <latchd/core/authority/types.hpp>
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

    // The highest epoch that state file or journal show, and the cluster it belongs to.
    [[nodiscard]] core::authority::Known known() const;
    // Blocks for the disk.
    void save(const core::authority::Known& known);

    [[nodiscard]] bool put(const core::GrantRecord& record, Time now) override;
    void drop(const LockKey& key, Fence fence) override;

private:
    Keeping() = default;
    bool open_runtime(const config::Options& options, Time now, std::string& refusal);
    bool open_state(const config::Options& options, std::string& refusal);

    std::optional<journal::NodeDirectory> runtime_;
    std::optional<journal::NodeDirectory> state_directory_;
    std::unique_ptr<journal::Journal> journal_;
    std::vector<core::GrantRecord> records_;
    Fence highest_fence_ = 0;
    journal::State state_;
};

}  // namespace latchd::app
