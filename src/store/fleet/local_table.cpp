// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "local_table.hpp"

#include <algorithm>
#include <utility>

namespace latchd::store::fleet {
namespace {

constexpr std::int64_t start_ms = 1'735'689'600'000;  // 2025-01-01
constexpr Fence counter_max = 0xffffffff;

Fence seconds_since_2025(std::int64_t wall_ms) noexcept {
    return static_cast<Fence>(std::max<std::int64_t>(wall_ms - start_ms, 0) / 1000);
}

}  // namespace

LocalTable::LocalTable(Fence floor, std::function<void(Fence)> save_floor)
    : floor_(floor), save_floor_(std::move(save_floor)) {}

void LocalTable::open(std::int64_t wall_ms) {
    const Fence kept = std::max<Fence>(floor_, table_.counter());
    const Fence start = std::min(std::max(kept, seconds_since_2025(wall_ms)), counter_max - block);
    table_ = core::Table(0, static_cast<std::uint32_t>(start));
    save_ahead();
}

core::OperationReply LocalTable::apply(Time now, const core::Operation& operation) {
    core::OperationReply reply = table_.apply(now, operation);
    if (table_.counter() + block / 2 >= floor_) save_ahead();
    return reply;
}

void LocalTable::save_ahead() {
    floor_ = std::min(table_.counter() + block, counter_max);
    if (save_floor_) save_floor_(floor_);
}

}  // namespace latchd::store::fleet
