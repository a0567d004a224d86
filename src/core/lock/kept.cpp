// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/core/lock/kept.hpp>

#include <algorithm>
#include <utility>

namespace latchd::core {

KeptHold* KeptRecord::find(const Token& token) noexcept {
    const auto it = std::ranges::find(holds, token, &KeptHold::token);
    return it == holds.end() ? nullptr : &*it;
}

const KeptHold* KeptRecord::find(const Token& token) const noexcept {
    const auto it = std::ranges::find(holds, token, &KeptHold::token);
    return it == holds.end() ? nullptr : &*it;
}

KeptHold* KeptRecord::find(const RequestId& request) noexcept {
    if (request.empty()) return nullptr;
    const auto it = std::ranges::find(holds, request, &KeptHold::request);
    return it == holds.end() ? nullptr : &*it;
}

KeptHold* KeptRecord::find(const Attempt& attempt) noexcept {
    const auto it = std::ranges::find_if(holds, [&](const KeptHold& hold) {
        return std::ranges::find(hold.attempts, attempt) != hold.attempts.end();
    });
    return it == holds.end() ? nullptr : &*it;
}

void KeptRecord::erase(const KeptHold& hold) { holds.erase(&hold); }

KeptRecord keep(const GrantRecord& record, Time at, RecentNames* names) {
    KeptRecord kept;
    kept.holds.reserve(record.holds.size());
    for (const Hold& hold : record.holds) {
        kept.holds.emplace_back(hold.token, hold.request, hold.attempts, at + hold.adopt_left);
    }
    kept.owner = record.owner;
    kept.fence = record.fence;
    kept.version = record.version;
    kept.lease_end = at + record.left;
    kept.ttl = record.ttl;
    if (record.hard_left) kept.hard_end = at + *record.hard_left;
    kept.renewals = record.renewals;
    kept.renew_max = record.renew_max;
    kept.delay = record.delay;
    kept.granted_at = at - record.age;
    if (names != nullptr) {
        kept.node = names->nodes.share(record.node);
        kept.client = names->clients.share(record.client);
    } else {
        kept.node = record.node;
        kept.client = record.client;
    }
    return kept;
}

void fill(GrantRecord& record, const LockKey& key, const KeptRecord& kept, Time now) {
    record.key = key;
    record.holds.reserve(kept.holds.size());
    for (const KeptHold& hold : kept.holds) {
        const Duration adopt_left = std::max(hold.adopt_until - now, Duration::zero());
        record.holds.push_back({hold.token, hold.request, hold.attempts, adopt_left});
    }
    record.owner = kept.owner;
    record.fence = kept.fence;
    record.version = kept.version;
    record.left = kept.lease_end - now;
    record.ttl = kept.ttl;
    if (kept.has_hard_end()) record.hard_left = kept.hard_end - now;
    record.renewals = kept.renewals;
    record.renew_max = kept.renew_max;
    record.delay = kept.delay;
    record.age = now - kept.granted_at;
    record.node = kept.node;
    record.client = kept.client;
}

GrantRecord to_record(const LockKey& key, const KeptRecord& kept, Time now) {
    GrantRecord record;
    fill(record, key, kept, now);
    return record;
}

}  // namespace latchd::core
