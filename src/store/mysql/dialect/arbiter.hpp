// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include <latchd/core/authority/arbiter.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

// The calls of a fleet's arbiter as MySQL carries them out. docs/arbiter.md says what lies where.
namespace latchd::store::mysql {

// The row that everything of a cluster begins with; to be there before any call.
[[nodiscard]] std::string arbiter_begin_statement(std::string_view cluster);

// A call as one text, so that no lock in the server ever waits for this host: a transaction that
// decides and writes, then one that reads the view. May be sent again after a deadlock.
//
// Order of locks: placement's row, authority's row, others.
[[nodiscard]] std::string arbiter_statements(std::string_view cluster,
                                             const core::authority::ArbiterCall& call);

// A page of claims: first those of nodes, then leavers' ones; how many of them go before it.
struct ClaimsPage {
    bool is_left = false;
    std::size_t first = 0;
};
inline constexpr std::size_t claim_parts_per_page = 20;  // of up to claims_per_call_max claims
inline constexpr std::size_t left_claims_per_page = 5'000;
// Of FetchClaims::after.
[[nodiscard]] ClaimsPage claims_page_of(const std::string& after);

struct ArbiterView {
    core::authority::ArbiterReply reply;  // `view.arbiter` is left for the caller
    bool is_read_only = false;            // the server, now
};

// `sets`: what the statements of `call` answered, all of them. A text says what can't be
// understood.
[[nodiscard]] std::variant<ArbiterView, std::string> read_arbiter(
    const core::authority::ArbiterCall& call, std::span<const Rows> sets);

}  // namespace latchd::store::mysql
