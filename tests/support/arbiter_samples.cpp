// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "arbiter_samples.hpp"

namespace latchd::test {

using namespace core;
using namespace core::authority;

Identity ArbiterSamples::identity() {
    return {word(), chance(50) ? Role::master : Role::replica, word(), chance(50) ? "" : word()};
}

Placement ArbiterSamples::placement(Epoch since) {
    Placement is;
    is.store = word();
    is.tier = word();
    is.state = chance(50) ? RecordState::open : RecordState::settling;
    is.since_epoch = since;
    is.identity = identity();
    is.nonce = Nonce(word());
    is.clock_difference = time() - time();
    is.strict_wait = time();
    if (chance(50)) is.strict_wait_carried = time();
    for (auto i = number(4); i > 0; --i) is.missing.push_back(large());
    is.rows_unsure = chance(50);
    is.reason = bytes(60);
    is.since_ms = static_cast<std::int64_t>(large());
    is.hold_down = time();
    return is;
}

FleetRecord ArbiterSamples::record(Epoch epoch) {
    FleetRecord is;
    is.uuid = ClusterUuid(word());
    is.epoch = epoch;
    is.placement = placement(epoch);
    is.basis.ttl_max = time();
    is.basis.delay_max = time();
    for (auto i = number(4); i > 0; --i) is.basis.stores.push_back(word());
    is.arbiter = identity();
    return is;
}

BasisChange ArbiterSamples::change() {
    BasisChange is;
    is.number = large();
    is.now = record(1).basis;
    is.next = record(1).basis;
    is.from = static_cast<Epoch>(1 + number(1u << 20));
    is.ttl_before = time();
    is.delay_before = time();
    return is;
}

NodeRow ArbiterSamples::row(Incarnation incarnation) {
    NodeRow is;
    is.name = NodeName(word());
    is.incarnation = incarnation;
    is.former = large();
    is.beat = large();
    is.acked = static_cast<Epoch>(number(1u << 21));
    is.seen_open = static_cast<Epoch>(number(1u << 21));
    for (auto i = number(4); i > 0; --i) {
        const auto state = static_cast<TierSight::State>(number(3));
        is.sights.push_back({word(), state, word(), chance(50), time(), bytes(40)});
    }
    for (auto i = number(4); i > 0; --i) is.strict.push_back(ResourceName(word()));
    is.strict_all = chance(50);
    is.ttl_high = time();
    is.strict_left = time();
    is.clock_unsure = chance(50);
    is.clock_vouched = chance(50);
    is.config_hash = word();
    is.protocol = static_cast<std::uint32_t>(number(9));
    is.started_ms = static_cast<std::int64_t>(large());
    is.version = word();
    return is;
}

LockKey ArbiterSamples::key() { return {ResourceName(word()), LockId(bytes(128))}; }

Hold ArbiterSamples::hold() {
    Hold is{Token(word()), RequestId(bytes(64)), {}, time()};
    for (auto i = number(3) + 1; i > 0; --i) is.attempts.push_back({large(), large()});
    return is;
}

GrantRecord ArbiterSamples::grant() {
    GrantRecord is;
    is.key = key();
    for (auto i = number(3) + 1; i > 0; --i) is.holds.push_back(hold());
    is.owner = OwnerName(bytes(64));
    is.fence = large();
    is.version = large();
    is.left = time() - time();
    is.ttl = time();
    if (chance(50)) is.hard_left = is.left + time();
    is.renewals = static_cast<std::uint32_t>(number(1u << 30));
    is.renew_max = static_cast<std::uint32_t>(number(1u << 30));
    is.delay = time();
    is.age = time();
    is.node = NodeName(word());
    is.client = ClientName(bytes(40));
    return is;
}

Claims ArbiterSamples::claims(std::size_t each_max) {
    Claims all;
    for (auto i = number(each_max + 1); i > 0; --i) all.records.push_back(grant());
    for (auto i = number(each_max + 1); i > 0; --i) all.gone.push_back({key(), large()});
    for (auto i = number(each_max + 1); i > 0; --i) {
        all.cancelled.push_back({key(), RequestId(bytes(64)), time()});
    }
    return all;
}

ResourceSettings ArbiterSamples::settings() {
    ResourceSettings is;
    if (chance(50)) is.ttl = time();
    if (chance(50)) is.renew_max = static_cast<std::uint32_t>(number(1u << 30));
    if (chance(50)) is.degrade = static_cast<Degrade>(number(3));
    if (chance(50)) is.safety = Safety::strict;
    if (chance(50)) is.queue_max = static_cast<std::uint32_t>(number(1u << 30));
    if (chance(50)) is.locks_expected = large();
    if (chance(50)) is.hold_max = time();
    if (chance(50)) is.expect = time();
    if (chance(50)) is.delay = time();
    if (chance(30)) is.pending = PendingSettings{Safety::strict, Degrade::none, 7};
    if (chance(50)) is.busy_cache = time();
    return is;
}

}  // namespace latchd::test
