// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/record.hpp>

#include <span>
#include <vector>

// What a node hands over when a new epoch begins (design section 5, rule 4).
namespace latchd::core {

// A grant that ended, and of which another node may still keep a record.
struct GoneFence {
    LockKey key;
    Fence fence = 0;

    friend bool operator==(const GoneFence&, const GoneFence&) = default;
};

// This node ended a grant that another process was given, which may have left and handed it over.
struct GrantEnded {
    GoneFence grant;
    std::uint64_t by = 0;  // the incarnation that was given it
};

// A request id that CANCEL barred, and for how long yet.
struct CancelledRequest {
    LockKey key;
    RequestId request;
    Duration left{};

    friend bool operator==(const CancelledRequest&, const CancelledRequest&) = default;
};

struct Claims {
    std::vector<GrantRecord> records;
    std::vector<GoneFence> gone;
    std::vector<CancelledRequest> cancelled;

    [[nodiscard]] std::size_t size() const noexcept {
        return records.size() + gone.size() + cancelled.size();
    }
    friend bool operator==(const Claims&, const Claims&) = default;
};

// Rule 4: one record per lock, that of the highest (fence, version); of one fence the later end
// (lease, hard end, adoption) counts; a gone fence ends its record whatever the version. A request
// id stays cancelled for the longest of the times. Order of the result: by key.
[[nodiscard]] Claims merge(std::span<const Claims> all);

// Rule 9: of the merged records, those that no claim of `sure` has under the same fence get
// `fence`, which must be above all of theirs. Who told of them can't say whether they ended
// meanwhile: where they did, later grants have ended, too, whose fences nobody knows any more.
void refence(Claims& merged, std::span<const Claims> sure, Fence fence);

// What is left of them `passed` (not negative) after they were made: leases, hard ends, adoption,
// bars. Records and bars that are over then go.
void age(Claims& claims, Duration passed);

}  // namespace latchd::core
