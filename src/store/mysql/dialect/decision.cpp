// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "decision.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

namespace latchd::store::mysql {
namespace {

struct KeyOf {
    LockKey operator()(const core::List&) const { return {}; }
    LockKey operator()(const core::Restore& restore) const { return restore.record.key; }
    template <class Operation>
    LockKey operator()(const Operation& operation) const {
        return operation.key;
    }
};

struct IsStrict {
    bool operator()(const core::Acquire& acquire) const { return acquire.strict; }
    bool operator()(const core::Renew& renew) const { return renew.strict; }
    bool operator()(const core::Restore& restore) const { return restore.strict; }
    bool operator()(const core::Release& release) const {
        return release.then && release.then->strict;
    }
    template <class Operation>
    bool operator()(const Operation&) const {
        return false;
    }
};

std::uint32_t counter_in(Fence fence, Epoch since) noexcept {
    return epoch_of(fence) == since ? counter_of(fence) : 0;
}

// The bars that still count, as the table takes them.
void bar(core::Table& table, Time now, const LockKey& key, const std::vector<Bar>& bars) {
    for (const Bar& one : bars) {
        if (one.until <= now) continue;
        if (one.everything) {
            (void)table.apply(now, core::Cancel{key, one.request, NodeName(), one.until - now});
        }
        for (const Attempt& attempt : one.attempts) {
            (void)table.apply(now,
                              core::Undo{key, one.request, attempt, NodeName(), one.until - now});
        }
    }
    (void)table.take_told();
}

Bar& bar_of(std::vector<Bar>& bars, const RequestId& request, Time until) {
    auto it = std::ranges::find(bars, request, &Bar::request);
    if (it == bars.end()) {
        it = bars.emplace(bars.end());
        it->request = request;
    }
    it->until = std::max(it->until, until);
    return *it;
}

// T2, T9: what the operation bars from now on.
void add_bars(LockRow& row, Time now, const core::Operation& operation) {
    if (const auto* cancel = std::get_if<core::Cancel>(&operation)) {
        bar_of(row.bars, cancel->request, now + cancel->bar).everything = true;
    } else if (const auto* undo = std::get_if<core::Undo>(&operation);
               undo != nullptr && undo->tombstone) {
        Bar& bar = bar_of(row.bars, undo->request, now + *undo->tombstone);
        if (std::ranges::find(bar.attempts, undo->attempt) == bar.attempts.end()) {
            bar.attempts.push_back(undo->attempt);
        }
    }
}

}  // namespace

LockKey key_of(const core::Operation& operation) { return std::visit(KeyOf{}, operation); }

bool may_grant(const core::Operation& operation) noexcept {
    if (const auto* release = std::get_if<core::Release>(&operation)) {
        return release->then.has_value();
    }
    return std::holds_alternative<core::Acquire>(operation) ||
           std::holds_alternative<core::Renew>(operation) ||
           std::holds_alternative<core::Restore>(operation);
}

bool is_strict(const core::Operation& operation) noexcept {
    return std::visit(IsStrict{}, operation);
}

Decision decide(
    Time now, Epoch since, Fence floor, const LockRow& row, const core::Operation& operation) {
    Decision decision;
    if (row.is_damaged) {
        decision.reply.reply.status = core::Status::foreign_value;
        return decision;
    }
    LockRow& next = decision.next;
    next = row;
    const bool is_current = row.since == since;
    if (!is_current) next.bars.clear();
    std::erase_if(next.bars, [now](const Bar& bar) { return bar.until <= now; });

    core::Table table(since, std::max(counter_in(row.counter, since), counter_in(floor, since)));
    const bool was_live = row.is_live(now, since);
    bar(table, now, row.key, next.bars);
    if (was_live) {
        (void)table.apply(now, core::Restore{core::to_record(row.key, row.record, now), true});
    }
    if (is_current) table.set_queue(row.key, core::NodeQueue(row.queue));
    const core::NodeQueue queue = table.queue(now, row.key);
    decision.reply = table.apply(now, operation);
    decision.told = table.take_told();
    const auto after = table.apply(now, core::Inspect{row.key}).reply.record;

    const std::vector<Bar> bars = next.bars;
    add_bars(next, now, operation);
    const bool is_record_changed =
        was_live != after.has_value() ||
        (after && (after->fence != row.record.fence || after->version != row.record.version));
    next.queue = table.queue(now, row.key);
    decision.is_change = is_record_changed || bars != next.bars || queue != next.queue;
    if (!decision.is_change) return decision;
    next.since = since;
    next.changed_at = now;
    next.counter = std::max(row.counter, make_fence(since, table.counter()));
    if (after) {
        next.record = core::keep(*after, now);
        next.free_at = next.record.lease_end + next.record.delay;
        next.counter = std::max(next.counter, after->fence);
    } else {
        next.free_at = Time();
        if (!is_current) next.record = {};
    }
    return decision;
}

void append_claims(core::Claims& claims, const LockRow& row, Epoch since, Time now) {
    if (row.is_damaged || row.since != since) return;
    if (row.is_live(now, since))
        claims.records.push_back(core::to_record(row.key, row.record, now));
    for (const Bar& bar : row.bars) {
        // An undone attempt belongs to a connection of the former epoch: it can't come any more.
        if (!bar.everything || bar.until <= now) continue;
        claims.cancelled.push_back({row.key, bar.request, bar.until - now});
    }
}

std::vector<LockRow> rows_of(const core::Claims& claims, Epoch since, Time now) {
    std::map<LockKey, LockRow> rows;
    const auto row_of = [&](const LockKey& key) -> LockRow& {
        LockRow& row = rows[key];
        row.key = key;
        row.since = since;
        row.changed_at = now;
        return row;
    };
    for (const core::GrantRecord& record : claims.records) {
        LockRow& row = row_of(record.key);
        row.record = core::keep(record, now);
        row.free_at = row.record.lease_end + row.record.delay;
        row.counter = record.fence;
    }
    for (const core::CancelledRequest& one : claims.cancelled) {
        bar_of(row_of(one.key).bars, one.request, now + one.left).everything = true;
    }
    std::vector<LockRow> all;
    all.reserve(rows.size());
    for (auto& [key, row] : rows) all.push_back(std::move(row));
    return all;
}

}  // namespace latchd::store::mysql
