// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace latchd::store::redis {

// What Redis said, and where it was for want of permission what to add to the user's rules.
[[nodiscard]] std::string with_missing_rule(std::string_view refusal, std::string_view user);

}  // namespace latchd::store::redis
