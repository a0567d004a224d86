// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/record.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace latchd::core {

// A hold and a grant as somebody with a clock keeps them: the same as Hold and GrantRecord, with
// instants of the keeper's clock in place of remainders.
struct KeptHold {
    Token token;
    RequestId request;
    std::vector<Attempt> attempts;
    Time adopt_until{};
};

struct KeptRecord {
    std::vector<KeptHold> holds;
    OwnerName owner;
    Fence fence = 0;
    std::uint64_t version = 0;
    Time lease_end{};
    Duration ttl{};
    std::optional<Time> hard_end;
    std::uint32_t renewals = 0;
    std::uint32_t renew_max = 0;
    Duration delay{};
    Time granted_at{};
    NodeName node;
    ClientName client;

    [[nodiscard]] bool is_leased(Time now) const noexcept { return now < lease_end; }
    // Leased, or in its DELAY.
    [[nodiscard]] bool is_live(Time now) const noexcept { return now < lease_end + delay; }

    [[nodiscard]] KeptHold* find(const Token& token) noexcept;
    [[nodiscard]] const KeptHold* find(const Token& token) const noexcept;
    [[nodiscard]] KeptHold* find(const RequestId& request) noexcept;
    void erase(const KeptHold& hold);
};

// `at` is the instant that the record's remainders count from.
[[nodiscard]] KeptRecord keep(const GrantRecord& record, Time at);
[[nodiscard]] GrantRecord to_record(const LockKey& key, const KeptRecord& kept, Time now);

}  // namespace latchd::core
