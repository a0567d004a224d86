// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/lock/claims.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace latchd::core {
namespace {

// Of two records with one fence: which says more of the grant. The last two only so that the
// order of the claims doesn't matter.
bool is_newer(const GrantRecord& a, const GrantRecord& b) {
    return std::tie(a.version, a.left, a.age) > std::tie(b.version, b.left, b.age);
}

// What a node told its client is relied on until then, whatever came later elsewhere.
void extend(GrantRecord& kept, const GrantRecord& other) {
    kept.left = std::max(kept.left, other.left);
    if (kept.hard_left) {
        if (other.hard_left) kept.hard_left = std::max(*kept.hard_left, *other.hard_left);
        kept.hard_left = std::max(*kept.hard_left, kept.left);
    }
    for (Hold& hold : kept.holds) {
        for (const Hold& same : other.holds) {
            if (same.token == hold.token) {
                hold.adopt_left = std::max(hold.adopt_left, same.adopt_left);
            }
        }
    }
}

void add(std::map<LockKey, GrantRecord>& kept, const GrantRecord& record) {
    const auto [it, is_first] = kept.try_emplace(record.key, record);
    if (is_first) return;
    GrantRecord& have = it->second;
    if (record.fence > have.fence) {
        have = record;
    } else if (record.fence == have.fence) {
        GrantRecord other = record;
        if (is_newer(other, have)) std::swap(other, have);
        extend(have, other);
    }
}

}  // namespace

Claims merge(std::span<const Claims> all) {
    std::map<LockKey, GrantRecord> records;
    std::map<LockKey, Fence> gone;
    std::map<std::pair<LockKey, RequestId>, Duration> cancelled;
    for (const Claims& claims : all) {
        for (const GrantRecord& record : claims.records) add(records, record);
        for (const GoneFence& end : claims.gone) {
            Fence& highest = gone[end.key];
            highest = std::max(highest, end.fence);
        }
        for (const CancelledRequest& bar : claims.cancelled) {
            const auto [it, is_first] = cancelled.try_emplace({bar.key, bar.request}, bar.left);
            if (!is_first) it->second = std::max(it->second, bar.left);
        }
    }
    // A lower fence than one that is gone ended before that one was given.
    for (const auto& [key, fence] : gone) {
        const auto it = records.find(key);
        if (it != records.end() && it->second.fence <= fence) records.erase(it);
    }
    Claims merged;
    merged.records.reserve(records.size());
    for (auto& [key, record] : records) merged.records.push_back(std::move(record));
    merged.cancelled.reserve(cancelled.size());
    for (const auto& [name, left] : cancelled) {
        merged.cancelled.push_back({name.first, name.second, left});
    }
    return merged;
}

void refence(Claims& merged, std::span<const Claims> sure, Fence fence) {
    std::map<LockKey, Fence> known;
    for (const Claims& claims : sure) {
        for (const GrantRecord& record : claims.records) {
            Fence& highest = known[record.key];
            highest = std::max(highest, record.fence);
        }
    }
    for (GrantRecord& record : merged.records) {
        const auto it = known.find(record.key);
        if (it != known.end() && it->second == record.fence) continue;
        record.fence = fence;
        record.version = 1;
    }
}

void age(Claims& claims, Duration passed) {
    std::erase_if(claims.records, [passed](GrantRecord& record) {
        record.left -= passed;
        record.age += passed;
        if (record.hard_left) *record.hard_left -= passed;
        for (Hold& hold : record.holds) {
            hold.adopt_left = std::max(hold.adopt_left - passed, Duration::zero());
        }
        return record.left + record.delay <= Duration::zero();
    });
    std::erase_if(claims.cancelled, [passed](CancelledRequest& bar) {
        bar.left -= passed;
        return bar.left <= Duration::zero();
    });
}

}  // namespace latchd::core
