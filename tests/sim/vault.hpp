// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan.hpp"
#include "truth.hpp"

#include <latchd/core/lock/claims.hpp>
#include <latchd/core/lock/table.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace latchd::sim {

class World;

// The locks of one opening of a store: a core::Table, which scripts and statements are tested
// against, and what the oracle wants to know of it.
class Vault {
public:
    // What is in it at one moment of the keeper's clock: of a snapshot, or a replica.
    struct Copy {
        Epoch epoch = 0;
        std::uint32_t counter = 0;
        core::Claims claims;
        Time at{};
    };

    // `process` names whoever keeps it: I4.
    Vault(World& world, Site site, std::string process, Epoch epoch, std::uint32_t counter);

    [[nodiscard]] core::OperationReply apply(std::size_t node,
                                             const HostClock& clock,
                                             const core::Operation& operation);
    // Carried locks and bars, as they are.
    void load(const HostClock& clock, const core::Claims& claims);
    [[nodiscard]] core::Claims read(const HostClock& clock);
    [[nodiscard]] Copy copy(const HostClock& clock);
    // `late` is how far this clock is ahead of the copy's.
    void restore(const HostClock& clock, const Copy& copy, Duration late);
    // Locks of available resources go, as with an evicting maxmemory-policy.
    void evict(const HostClock& clock);
    // Whatever it held is gone for good.
    void destroyed();

    [[nodiscard]] std::vector<core::GrantRecord> locks(const HostClock& clock);
    [[nodiscard]] std::uint32_t counter() const noexcept { return table_.counter(); }
    [[nodiscard]] Epoch epoch() const noexcept { return epoch_; }
    [[nodiscard]] Site site() const noexcept { return site_; }
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    [[nodiscard]] Truth& truth() noexcept { return truth_; }

private:
    void observe(const HostClock& clock, const LockKey& key);
    [[nodiscard]] core::OperationReply mutated(Time now, const core::Operation& operation);
    void before(Time now, const core::Operation& operation);
    void after(Time now, const core::Operation& operation, core::OperationReply& reply);
    void end_others(Time now, const core::Undo& undo);

    World& world_;
    std::uint64_t number_;
    Site site_;
    std::string process_;
    Epoch epoch_;
    core::Table table_;
    Truth& truth_;
    std::map<std::pair<LockKey, RequestId>, Time> bars_;
    std::map<LockKey, core::GrantRecord> last_seen_;  // for mutants
};

}  // namespace latchd::sim
