// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/view.hpp>
#include <latchd/core/lock/claims.hpp>
#include <latchd/core/resource/registry.hpp>

#include <optional>
#include <string>
#include <string_view>

// How an arbiter keeps what the fleet agrees on: JSON, whatever the server. Durations are in
// microseconds (names end in _us), and only what is left or has passed, never instants. Names are
// bytes: each byte stands as the character of that number (U+0000-U+00FF), so the text is always
// valid UTF-8.
//
// Nodes of several versions read the same rows: unknown fields are passed over. A field that
// should be there and isn't, or isn't what it should be, makes the whole unreadable.
namespace latchd::store::arbiter {

[[nodiscard]] std::string to_json(const core::authority::FleetRecord& record);
[[nodiscard]] std::string to_json(const core::authority::Placement& placement);
[[nodiscard]] std::string to_json(const core::authority::BasisChange& change);
[[nodiscard]] std::string to_json(const core::authority::NodeRow& row);
[[nodiscard]] std::string to_json(const core::GrantRecord& record);
[[nodiscard]] std::string to_json(const core::GoneFence& gone);
[[nodiscard]] std::string to_json(const core::CancelledRequest& bar);
[[nodiscard]] std::string to_json(const core::Claims& claims);
[[nodiscard]] std::string to_json(const core::ResourceSettings& settings);

// T: one of the above. None: not JSON, or nothing that to_json() would have written.
template <class T>
[[nodiscard]] std::optional<T> from_json(std::string_view text);

}  // namespace latchd::store::arbiter
