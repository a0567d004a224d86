// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "keys.hpp"
#include "replies.hpp"
#include "scripts.hpp"

#include <latchd/core/authority/clock_offset.hpp>
#include <latchd/core/authority/types.hpp>
#include <latchd/core/lock/claims.hpp>
#include <latchd/resp/value.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

// The marker, and what is carried into and out of an epoch, where a fleet decides about the store.
// Each append is one command and gets one reply. The scripts must have been loaded
// (Scripts::append_load_authority).
namespace latchd::store::redis {

// A marker that can't be understood counts as absent and is named: a compare-and-set with "absent"
// finds it, so nothing is begun over it by accident.
struct MarkerView {
    std::optional<core::authority::Marker> marker;
    bool is_damaged = false;
    // The last check by a node that serves by it, by the server's clock; append_marker_read() asks.
    std::optional<core::authority::StoreMs> used{};
};
void append_marker_read(std::string& out, const Keys& keys);
[[nodiscard]] std::variant<MarkerView, Refusal> read_marker(const resp::Value& value);

struct MarkerSet {
    std::optional<core::authority::Marker> expected;  // epoch and nonce are compared
    core::authority::Marker next;
    std::string run_id;  // of the process that is meant
};
struct MarkerWasSet {
    bool done = false;
    bool is_process = false;  // that it runs in
    MarkerView now;
};
void append_marker_set(std::string& out,
                       const Keys& keys,
                       const Scripts& scripts,
                       const MarkerSet& set);
[[nodiscard]] std::variant<MarkerWasSet, Refusal> read_marker_set(const resp::Value& value);

// Puts these records and bars there, as they are, if the marker has that epoch and nonce. What is
// over is left out.
void append_claims_load(std::string& out,
                        const Keys& keys,
                        const Scripts& scripts,
                        Epoch epoch,
                        std::string_view nonce,
                        std::span<const core::GrantRecord> records,
                        std::span<const core::CancelledRequest> cancelled);
// How many locks have something in their place that isn't latchd's.
[[nodiscard]] std::variant<std::uint64_t, Refusal> read_claims_load(const resp::Value& value);

// SCAN for one page of locks and bars.
void append_claims_scan(std::string& out, const Keys& keys, std::uint64_t cursor);
// What is behind the keys of a scanned page. Epoch and nonce: those that ended the one that is
// read.
void append_claims_read(std::string& out,
                        const Keys& keys,
                        const Scripts& scripts,
                        Epoch epoch,
                        std::string_view nonce,
                        std::span<const std::string> redis_keys);
// Live records of the epoch and nonce that were ended (those in their DELAY too), and bars of
// cancelled request ids.
[[nodiscard]] std::variant<core::Claims, Refusal> read_claims(
    const Keys& keys,
    std::span<const std::string> redis_keys,
    const core::authority::Marker& ended,
    const resp::Value& value);

}  // namespace latchd::store::redis
