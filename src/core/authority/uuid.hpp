// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace latchd::core::authority {

// The usual form (8-4-4-4-12 hexadecimal digits, version 4) of the randomness in a drawn name of
// 22 characters of [A-Za-z0-9_-].
[[nodiscard]] std::string uuid_from(std::string_view drawn);

}  // namespace latchd::core::authority
