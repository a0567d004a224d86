// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

// What safety rests on (design section 5, "the record"), and how an operator changes it.
namespace latchd::core::authority {

// What every node of the fleet has to agree on for promises to hold. Changed only with an epoch.
struct Basis {
    Duration ttl_max = std::chrono::seconds(60);
    Duration delay_max = std::chrono::seconds(60);
    // Names, in order of preference; the fleet goes to no others. Without the hosts' own tables,
    // which clusters that began earlier may have in it. Empty: each node goes by its own list.
    std::vector<std::string> stores;

    friend bool operator==(const Basis&, const Basis&) = default;
};

// The last change, which the arbiter keeps beside the record. Whoever reads the record is shown
// `now` in it up to the epoch before `from`, and `next` from then on (rule A11): so it makes no
// difference whether the epoch was begun by somebody who knew of the change.
struct BasisChange {
    std::uint64_t number = 0;  // counts the changes of a cluster, from 1
    Basis now;
    Basis next;
    Epoch from = 0;
    // The longest that was granted before, and may still be live: to be waited out until what a
    // node that was cut off meanwhile may have granted by it is over.
    Duration ttl_before{};
    Duration delay_before{};

    [[nodiscard]] const Basis& in(Epoch epoch) const noexcept { return epoch < from ? now : next; }
    [[nodiscard]] Duration ttl_longest() const noexcept {
        return std::max({ttl_before, now.ttl_max, next.ttl_max});
    }
    [[nodiscard]] Duration delay_longest() const noexcept {
        return std::max({delay_before, now.delay_max, next.delay_max});
    }
    // For how long a leaver's claims count.
    [[nodiscard]] Duration claims_kept() const noexcept {
        return 2 * (ttl_longest() + delay_longest());
    }

    friend bool operator==(const BasisChange&, const BasisChange&) = default;
};

}  // namespace latchd::core::authority
