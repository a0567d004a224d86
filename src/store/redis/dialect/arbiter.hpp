// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "keys.hpp"
#include "replies.hpp"

#include <latchd/core/authority/arbiter.hpp>
#include <latchd/resp/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

// The calls of a fleet's arbiter as Redis carries them out: one script each, lua/arbiter_*.lua.
// docs/arbiter.md says what lies where.
namespace latchd::store::redis {

enum class Sending : std::uint8_t {
    digest,  // EVALSHA; the server may answer NOSCRIPT
    text,    // EVAL, which loads it as well
};
void append_arbiter_call(std::string& out,
                         const Keys& keys,
                         Sending sending,
                         const core::authority::ArbiterCall& call);

// `view.arbiter` is left for the caller: scripts don't know it.
[[nodiscard]] std::variant<core::authority::ArbiterReply, Refusal> read_arbiter_reply(
    const core::authority::ArbiterCall& call, const resp::Value& value);

}  // namespace latchd::store::redis
