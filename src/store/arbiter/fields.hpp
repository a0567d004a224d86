// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "words.hpp"

#include <latchd/core/authority/view.hpp>
#include <latchd/core/lock/claims.hpp>
#include <latchd/core/resource/registry.hpp>

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

// Which fields each type has, once for writing and reading: `f(name, field)` for each. Structured
// bindings name all members: one that is added doesn't compile until it is here.
namespace latchd::store::arbiter {

template <class T>
inline constexpr bool is_name = false;
template <class Tag, class Text>
inline constexpr bool is_name<Name<Tag, Text>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
// Either a T that is read into, or one that is written.
template <class V, class T>
concept Some = std::same_as<std::remove_const_t<V>, T>;

template <class F, Some<core::authority::Identity> V>
void fields(F& f, V& value) {
    auto& [run_id, role, replid, replid2] = value;
    f("run_id", run_id);
    f("role", role);
    f("replid", replid);
    f("replid2", replid2);
}

template <class F, Some<core::authority::Placement> V>
void fields(F& f, V& value) {
    auto& [store,
           tier,
           state,
           since_epoch,
           identity,
           nonce,
           clock_difference,
           strict_wait,
           strict_wait_carried,
           missing,
           rows_unsure,
           reason,
           since_ms,
           hold_down] = value;
    f("store", store);
    f("tier", tier);
    f("state", state);
    f("since_epoch", since_epoch);
    f("identity", identity);
    f("nonce", nonce);
    f("clock_difference_us", clock_difference);
    f("strict_wait_us", strict_wait);
    f.later("strict_wait_carried_us", strict_wait_carried);
    f("missing", missing);
    f("rows_unsure", rows_unsure);
    f("reason", reason);
    f("since_ms", since_ms);
    f("hold_down_us", hold_down);
}

template <class F, Some<core::authority::Basis> V>
void fields(F& f, V& value) {
    auto& [ttl_max, delay_max, stores] = value;
    f("ttl_max_us", ttl_max);
    f("delay_max_us", delay_max);
    f("stores", stores);
}

template <class F, Some<core::authority::BasisChange> V>
void fields(F& f, V& value) {
    auto& [number, now, next, from, ttl_before, delay_before] = value;
    f("number", number);
    f("now", now);
    f("next", next);
    f("from", from);
    f("ttl_before_us", ttl_before);
    f("delay_before_us", delay_before);
}

template <class F, Some<core::authority::FleetRecord> V>
void fields(F& f, V& value) {
    auto& [uuid, epoch, placement, basis, arbiter] = value;
    f("uuid", uuid);
    f("epoch", epoch);
    f("placement", placement);
    f("basis", basis);
    f("arbiter", arbiter);
}

template <class F, Some<core::authority::TierSight> V>
void fields(F& f, V& value) {
    auto& [store, state, run_id, is_other, healthy_for, reason] = value;
    f("store", store);
    f("state", state);
    f("run_id", run_id);
    f("is_other", is_other);
    f("healthy_for_us", healthy_for);
    f("reason", reason);
}

template <class F, Some<core::authority::NodeRow> V>
void fields(F& f, V& value) {
    auto& [name,
           incarnation,
           former,
           beat,
           acked,
           asserted,
           seen_open,
           sights,
           strict,
           strict_all,
           ttl_high,
           strict_left,
           clock_unsure,
           clock_vouched,
           config_hash,
           protocol,
           started_ms,
           version] = value;
    f("name", name);
    f("incarnation", incarnation);
    f.later("former", former);
    f("beat", beat);
    f("acked", acked);
    f.later("asserted", asserted);
    f("seen_open", seen_open);
    f("sights", sights);
    f("strict", strict);
    f("strict_all", strict_all);
    f("ttl_high_us", ttl_high);
    f("strict_left_us", strict_left);
    f.later("clock_unsure", clock_unsure);
    f.later("clock_vouched", clock_vouched);
    f("config_hash", config_hash);
    f("protocol", protocol);
    f("started_ms", started_ms);
    f("version", version);
}

template <class F, Some<LockKey> V>
void fields(F& f, V& value) {
    auto& [resource, id] = value;
    f("resource", resource);
    f("id", id);
}

template <class F, Some<core::Hold> V>
void fields(F& f, V& value) {
    auto& [token, request, attempts, adopt_left] = value;
    f("token", token);
    f("request", request);
    f("attempts", attempts);
    f("adopt_left_us", adopt_left);
}

template <class F, Some<core::GrantRecord> V>
void fields(F& f, V& value) {
    auto& [key,
           holds,
           owner,
           fence,
           version,
           left,
           ttl,
           hard_left,
           renewals,
           renew_max,
           delay,
           age,
           node,
           client] = value;
    f("key", key);
    f("holds", holds);
    f("owner", owner);
    f("fence", fence);
    f("version", version);
    f("left_us", left);
    f("ttl_us", ttl);
    f("hard_left_us", hard_left);
    f("renewals", renewals);
    f("renew_max", renew_max);
    f("delay_us", delay);
    f("age_us", age);
    f("node", node);
    f("client", client);
}

template <class F, Some<core::GoneFence> V>
void fields(F& f, V& value) {
    auto& [key, fence] = value;
    f("key", key);
    f("fence", fence);
}

template <class F, Some<core::CancelledRequest> V>
void fields(F& f, V& value) {
    auto& [key, request, left] = value;
    f("key", key);
    f("request", request);
    f("left_us", left);
}

template <class F, Some<core::Claims> V>
void fields(F& f, V& value) {
    auto& [records, gone, cancelled] = value;
    f("records", records);
    f("gone", gone);
    f("cancelled", cancelled);
}

template <class F, Some<core::PendingSettings> V>
void fields(F& f, V& value) {
    auto& [safety, degrade, from] = value;
    f("safety", safety);
    f("degrade", degrade);
    f("from", from);
}

template <class F, Some<core::ResourceSettings> V>
void fields(F& f, V& value) {
    auto& [ttl,
           renew_max,
           degrade,
           safety,
           queue_max,
           locks_expected,
           hold_max,
           expect,
           delay,
           pending,
           busy_cache,
           retired] = value;  // retired: beside the body, whoever notes uses changes it alone
    f("ttl_us", ttl);
    f("renew_max", renew_max);
    f("degrade", degrade);
    f("safety", safety);
    f("queue_max", queue_max);
    f("locks_expected", locks_expected);
    f("hold_max_us", hold_max);
    f("expect_us", expect);
    f("delay_us", delay);
    f("pending", pending);
    f.later("busy_cache_us", busy_cache);
}

// What no node would have written although each field is what it should be.
template <class T>
[[nodiscard]] bool is_sane(const T&) {
    return true;
}
[[nodiscard]] inline bool is_sane(const core::authority::FleetRecord& record) {
    const Epoch since = record.placement.since_epoch;
    return since > 0 && since <= record.epoch && record.epoch < (Epoch{1} << 21);
}
[[nodiscard]] inline bool is_sane(const core::authority::BasisChange& change) {
    return change.number != 0 && change.from != 0;
}
[[nodiscard]] inline bool is_sane(const core::authority::NodeRow& row) {
    return !row.name.empty() && row.incarnation != 0;
}
[[nodiscard]] inline bool is_sane(const LockKey& key) {
    return !key.resource.empty() && !key.id.empty();
}
[[nodiscard]] inline bool is_sane(const core::Hold& hold) {
    return !hold.token.empty() && !hold.attempts.empty();
}
[[nodiscard]] inline bool is_sane(const core::GrantRecord& record) {
    return !record.holds.empty() && record.fence != 0 && record.version != 0;
}

}  // namespace latchd::store::arbiter
