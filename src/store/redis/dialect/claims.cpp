// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "claims.hpp"

#include "record_json.hpp"
#include "script_reply.hpp"

#include <latchd/resp/command_writer.hpp>

#include <utility>
#include <vector>

namespace latchd::store::redis {
namespace {

using core::authority::ClusterUuid;
using core::authority::Marker;
using core::authority::Nonce;
using Type = resp::Value::Type;

constexpr std::string_view page_size = "1000";
constexpr std::size_t marker_items = 5;  // and, where it was asked for, the time
constexpr std::size_t lock_arguments = 6;

std::optional<std::uint32_t> count_in(const resp::Value& value) {
    const std::optional<std::int64_t> number = number_in(value);
    if (!number || value.string.empty() || *number < 0 || *number > 0xffffffff) return std::nullopt;
    return static_cast<std::uint32_t>(*number);
}

// uuid, epoch, nonce, run_id, counter; time, where it was asked for
std::optional<MarkerView> view_of(const resp::Value& value, bool has_time) {
    const std::size_t expected = marker_items + (has_time ? 1 : 0);
    if (!value.is(Type::array) || value.elements.size() != expected) return std::nullopt;
    const auto& items = value.elements;
    std::size_t present = 0;
    for (std::size_t i = 0; i < marker_items; ++i) present += items[i].is(Type::bulk) ? 1 : 0;
    if (present == 0) return MarkerView{};
    const std::optional<std::uint32_t> epoch = count_in(items[1]);
    const std::optional<std::uint32_t> counter = count_in(items[4]);
    if (present != marker_items || !epoch || *epoch == 0 || !counter) {
        return MarkerView{std::nullopt, true};
    }
    MarkerView view{Marker{ClusterUuid(items[0].string),
                           *epoch,
                           Nonce(items[2].string),
                           items[3].string,
                           *counter},
                    false};
    const auto used = has_time ? number_in(items[marker_items]) : std::nullopt;
    if (used && *used > 0) view.used = StoreMs{*used};
    return view;
}

// What claims_load.lua and claims_read.lua have in common.
std::optional<Refusal> read_word(const resp::Value& value, std::string_view word) {
    if (value.is(Type::error)) return read_error(value.string);
    if (!value.is(Type::array) || value.elements.size() < 2) return unreadable(word);
    if (value.elements[0].string == "STALE" && value.elements.size() == 4) {
        return Refusal{core::Failure::stale,
                       Cause::marker,
                       "the marker has epoch " + value.elements[1].string + ", nonce " +
                           value.elements[2].string,
                       0};
    }
    if (value.elements[0].string != word) return unreadable(word);
    return std::nullopt;
}

std::int64_t left_of(const core::GrantRecord& record) {
    return to_ms(record.left) + ms_up(record.delay);
}

void append_lock(resp::CommandWriter& call,
                 const core::GrantRecord& record,
                 std::string_view tail) {
    call.argument(static_cast<std::int64_t>(record.fence));
    call.argument(static_cast<std::int64_t>(record.version));
    call.argument(grant_head(record.holds.front().token) + std::to_string(record.fence) +
                  ",\"since_ms\":");
    call.argument(ms_down(record.age)).argument(carried_body(record, tail));
    call.argument(left_of(record));
}

}  // namespace

void append_marker_read(std::string& out, const Keys& keys) {
    resp::append_command(
        out, {"HMGET", keys.marker(), "uuid", "epoch", "nonce", "run_id", "counter", "time"});
}

std::variant<MarkerView, Refusal> read_marker(const resp::Value& value) {
    if (value.is(Type::error)) {
        Refusal refusal = read_error(value.string);
        if (refusal.cause == Cause::foreign) return MarkerView{std::nullopt, true};
        return refusal;
    }
    std::optional<MarkerView> view = view_of(value, true);
    if (!view) return unreadable("HMGET");
    return std::move(*view);
}

void append_marker_set(std::string& out,
                       const Keys& keys,
                       const Scripts& scripts,
                       const MarkerSet& set) {
    resp::CommandWriter call(out, 12);
    call.argument("EVALSHA").argument(scripts.digest(Script::marker_set));
    call.argument(std::int64_t{1}).argument(keys.marker());
    if (set.expected) {
        call.argument(std::int64_t{set.expected->epoch}).argument(set.expected->nonce.view());
    } else {
        call.argument("").argument("");
    }
    call.argument(set.next.uuid.view()).argument(std::int64_t{set.next.epoch});
    call.argument(set.next.nonce.view()).argument(set.next.run_id);
    call.argument(std::int64_t{set.next.counter}).argument(set.run_id);
}

std::variant<MarkerWasSet, Refusal> read_marker_set(const resp::Value& value) {
    if (value.is(Type::error)) return read_error(value.string);
    if (!value.is(Type::array) || value.elements.size() != 3 ||
        !value.elements[0].is(Type::integer) || !value.elements[1].is(Type::integer)) {
        return unreadable("marker_set");
    }
    std::optional<MarkerView> now = view_of(value.elements[2], false);
    if (!now) return unreadable("marker_set");
    return MarkerWasSet{
        value.elements[0].integer == 1, value.elements[1].integer == 1, std::move(*now)};
}

void append_claims_load(std::string& out,
                        const Keys& keys,
                        const Scripts& scripts,
                        Epoch epoch,
                        std::string_view nonce,
                        std::span<const core::GrantRecord> records,
                        std::span<const core::CancelledRequest> cancelled) {
    std::vector<const core::GrantRecord*> live;
    for (const core::GrantRecord& record : records) {
        if (left_of(record) > 0 && !record.holds.empty()) live.push_back(&record);
    }
    const std::size_t key_count = 1 + live.size() + cancelled.size();
    const std::size_t arguments = 4 + live.size() * lock_arguments + cancelled.size();
    resp::CommandWriter call(out, 3 + key_count + arguments);
    call.argument("EVALSHA").argument(scripts.digest(Script::claims_load));
    call.argument(static_cast<std::int64_t>(key_count)).argument(keys.marker());
    for (const core::GrantRecord* const record : live) call.argument(keys.lock(record->key));
    for (const core::CancelledRequest& one : cancelled) {
        call.argument(keys.bar(one.key, one.request));
    }
    const std::string tail = record_tail(epoch, nonce);
    call.argument(std::int64_t{epoch}).argument(nonce);
    call.argument(static_cast<std::int64_t>(live.size())).argument(tail);
    for (const core::GrantRecord* const record : live) append_lock(call, *record, tail);
    for (const core::CancelledRequest& one : cancelled) call.argument(at_least_1(ms_up(one.left)));
}

std::variant<std::uint64_t, Refusal> read_claims_load(const resp::Value& value) {
    if (auto refusal = read_word(value, "loaded")) return std::move(*refusal);
    const resp::Value& foreign = value.elements[1];
    if (!foreign.is(Type::integer) || foreign.integer < 0) return unreadable("loaded");
    return static_cast<std::uint64_t>(foreign.integer);
}

void append_claims_scan(std::string& out, const Keys& keys, std::uint64_t cursor) {
    resp::append_command(
        out, {"SCAN", std::to_string(cursor), "MATCH", keys.claims_pattern(), "COUNT", page_size});
}

void append_claims_read(std::string& out,
                        const Keys& keys,
                        const Scripts& scripts,
                        Epoch epoch,
                        std::string_view nonce,
                        std::span<const std::string> redis_keys) {
    resp::CommandWriter call(out, 6 + redis_keys.size());
    call.argument("EVALSHA").argument(scripts.digest(Script::claims_read));
    call.argument(static_cast<std::int64_t>(1 + redis_keys.size())).argument(keys.marker());
    for (const std::string& key : redis_keys) call.argument(key);
    call.argument(std::int64_t{epoch}).argument(nonce);
}

std::variant<core::Claims, Refusal> read_claims(const Keys& keys,
                                                std::span<const std::string> redis_keys,
                                                const Marker& ended,
                                                const resp::Value& value) {
    if (auto refusal = read_word(value, "read")) return std::move(*refusal);
    const auto now_ms = number_in(value.elements[1]);
    if (!now_ms || value.elements.size() != 2 + 2 * redis_keys.size()) return unreadable("read");
    const std::string tail = record_tail(ended.epoch, ended.nonce.view());
    core::Claims claims;
    for (std::size_t i = 0; i < redis_keys.size(); ++i) {
        const resp::Value& text = value.elements[2 + 2 * i];
        const resp::Value& left = value.elements[3 + 2 * i];
        if (!text.is(Type::bulk)) continue;
        if (const auto key = keys.lock_of(redis_keys[i])) {
            if (!text.string.ends_with(tail)) continue;
            auto record = parse_record(*key, text.string, *now_ms);
            // Skipping one that was written under this nonce would free its lock.
            if (!record) return unreadable(redis_keys[i]);
            if (record->left + record->delay > Duration::zero()) {
                claims.records.push_back(std::move(*record));
            }
        } else if (auto bar = keys.bar_of(redis_keys[i]); bar && text.string == "*") {
            if (left.integer <= 0) continue;
            claims.cancelled.push_back(
                {std::move(bar->first), std::move(bar->second), from_ms(left.integer)});
        }
    }
    return claims;
}

}  // namespace latchd::store::redis
