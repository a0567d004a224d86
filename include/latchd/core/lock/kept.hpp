// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/record.hpp>
#include <latchd/core/lock/shared.hpp>

#include <cstdint>

namespace latchd::core {

// A hold and a grant as somebody with a clock keeps them: the same as Hold and GrantRecord, with
// instants of the keeper's clock in place of remainders.
struct KeptHold {
    Token token;
    RequestId request;
    Few<Attempt> attempts;
    Time adopt_until{};
};

struct KeptRecord {
    Few<KeptHold> holds;
    Shared<OwnerName> owner;
    Fence fence = 0;
    std::uint64_t version = 0;
    Time lease_end{};
    Duration ttl{};
    Time hard_end = Time::max();  // max(): there is none
    std::uint32_t renewals = 0;
    std::uint32_t renew_max = 0;
    Duration delay{};
    Time granted_at{};
    Shared<NodeName> node;
    Shared<ClientName> client;

    [[nodiscard]] bool has_hard_end() const noexcept { return hard_end != Time::max(); }
    [[nodiscard]] bool is_leased(Time now) const noexcept { return now < lease_end; }
    // Leased, or in its DELAY.
    [[nodiscard]] bool is_live(Time now) const noexcept { return now < lease_end + delay; }

    [[nodiscard]] KeptHold* find(const Token& token) noexcept;
    [[nodiscard]] const KeptHold* find(const Token& token) const noexcept;
    // The one that answers to it: T4. Nothing answers to an empty one.
    [[nodiscard]] KeptHold* find(const RequestId& request) noexcept;
    [[nodiscard]] KeptHold* find(const Attempt& attempt) noexcept;
    void erase(const KeptHold& hold);
};

// Of one keeper.
struct RecentNames {
    Recent<NodeName> nodes;
    Recent<ClientName> clients;
};

// `at` is the instant that the record's remainders count from. `names`: of whoever keeps many;
// nullptr: this one shares its names with none.
[[nodiscard]] KeptRecord keep(const GrantRecord& record, Time at, RecentNames* names = nullptr);
[[nodiscard]] GrantRecord to_record(const LockKey& key, const KeptRecord& kept, Time now);
// The same, into a record that says nothing yet.
void fill(GrantRecord& record, const LockKey& key, const KeptRecord& kept, Time now);

}  // namespace latchd::core
