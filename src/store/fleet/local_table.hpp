// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/core/lock/table.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace latchd::store::fleet {

// The host's own table as a fleet's last resort (design section 5, rule 8): epoch 0, so that its
// fences are below 2^32 and whoever has seen a shared one refuses them. They rise per host: over
// restarts by a floor that is saved a block ahead, without one by the seconds since 2025-01-01.
class LocalTable {
public:
    LocalTable(Fence floor, std::function<void(Fence)> save_floor);

    // An empty table: what is held elsewhere the node knows.
    void open(std::int64_t wall_ms);
    [[nodiscard]] core::OperationReply apply(Time now, const core::Operation& operation);
    // What the table has to say to nodes since the last call.
    [[nodiscard]] std::vector<core::Table::Told> take_told() { return table_.take_told(); }
    [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }

    static constexpr Fence block = 65'536;

private:
    void save_ahead();

    Fence floor_;  // saved: fences of the next process begin above
    std::function<void(Fence)> save_floor_;
    core::Table table_{0};
};

}  // namespace latchd::store::fleet
