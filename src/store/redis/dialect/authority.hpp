// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <latchd/base/ids.hpp>
#include <latchd/resp/value.hpp>

#include "keys.hpp"
#include "replies.hpp"
#include "scripts.hpp"

// The authority record and the marker as Redis keeps them, where Redis arbitrates about itself.
namespace latchd::store::redis {

enum class RecordState : std::uint8_t { settling, open };

// Who keeps the locks now: hash latchd:record.
struct StoredRecord {
    std::string uuid;  // of the cluster; never changed by settle or open
    Epoch epoch = 0;
    RecordState state = RecordState::settling;
    std::string run_id;   // of the process that the epoch is for
    std::string replid2;  // its second replication id then
    std::string nonce;    // empty while settling
    std::int64_t since_ms = 0;  // server time of the last change
    std::string reason;

    friend bool operator==(const StoredRecord&, const StoredRecord&) = default;
};

// What a tier knows of itself: hash latchd:marker.
struct Marker {
    std::string uuid;
    Epoch epoch = 0;
    std::string nonce;
    std::string run_id;
    std::uint32_t counter = 0;
    std::int64_t time_ms = 0;  // of the last probe

    friend bool operator==(const Marker&, const Marker&) = default;
};

// Both hashes at one instant. A hash with missing or malformed fields counts as absent, and is
// named in `damaged`.
struct AuthorityView {
    std::int64_t server_ms = 0;
    std::optional<StoredRecord> record;
    std::optional<Marker> marker;
    std::string damaged;
};

// open,e or settling,e -> settling,epoch. Done only if the record's epoch is `expected` (0: there
// is no record) and below `epoch`.
struct Settle {
    Epoch expected = 0;
    Epoch epoch = 0;
    std::string uuid;  // of a new record; an existing one keeps its own
    std::string run_id;
    std::string replid2;
    std::string reason;
};

// Writes the marker and opens the epoch, in one step. Done only if the record is settling,epoch
// and the marker is still the one that was read (epoch 0 and no nonce: none).
struct Open {
    Epoch epoch = 0;
    std::string nonce;  // fresh
    std::uint32_t counter = 0;  // the last one counted as given
    std::string run_id;
    Epoch marker_epoch = 0;
    std::string marker_nonce;
};

// `done`: the compare-and-set took place; either way the view is what is there now.
struct AuthorityAnswer {
    bool done = false;
    AuthorityView view;
};

// The scripts must have been loaded (Scripts::append_load_authority); NOSCRIPT means load again.
void append_authority_read(std::string& out, const Keys& keys, const Scripts& scripts);
void append_settle(std::string& out, const Keys& keys, const Scripts& scripts,
                   const Settle& settle);
void append_open(std::string& out, const Keys& keys, const Scripts& scripts, const Open& open);

// The reply of any of the three; a read is always done.
[[nodiscard]] std::variant<AuthorityAnswer, Refusal> read_authority(const resp::Value& value);

}  // namespace latchd::store::redis
