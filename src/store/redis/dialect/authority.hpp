// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "keys.hpp"
#include "replies.hpp"
#include "scripts.hpp"

#include <latchd/core/authority/machine.hpp>
#include <latchd/core/authority/types.hpp>
#include <latchd/resp/value.hpp>

#include <cstdint>
#include <string>
#include <variant>

// The authority record and the marker as Redis keeps them, where Redis arbitrates about itself:
// hash latchd:record (uuid, epoch, state, nonce, run_id, replid, replid2, reason, since) and hash
// latchd:marker (uuid, epoch, nonce, run_id, counter, time); since and time are server times in ms.
namespace latchd::store::redis {

// What is there now. A hash whose fields can't be understood counts as absent and is named in
// `damaged`: nothing is opened over it by accident, since a compare-and-set with "absent" finds it.
struct AuthorityView {
    std::int64_t server_ms = 0;
    core::authority::Sight sight;
    bool done = false;    // settle, open: the compare-and-set took place
    std::string damaged;  // "", or the name of the key
};

// The scripts must have been loaded (Scripts::append_load_authority); NOSCRIPT means load again.
void append_authority_read(std::string& out, const Keys& keys, const Scripts& scripts);
// Compares epoch, state and nonce of the record.
void append_settle(std::string& out,
                   const Keys& keys,
                   const Scripts& scripts,
                   const core::authority::Settle& settle);
// Compares epoch, state and nonce of the record, and epoch and nonce of the marker.
void append_open(std::string& out,
                 const Keys& keys,
                 const Scripts& scripts,
                 const core::authority::Open& open);

// The reply of any of the three.
[[nodiscard]] std::variant<AuthorityView, Refusal> read_authority(const resp::Value& value);

}  // namespace latchd::store::redis
