// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace latchd {

// Whether `text` matches a pattern as Redis's KEYS and SCAN understand it: `*`, `?`, `[abc]`,
// `[^a]`, `[a-z]`, and `\` before a character that is meant literally. Byte-wise. Time is bounded
// by the product of both lengths.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace latchd
