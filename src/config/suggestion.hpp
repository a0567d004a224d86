// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace latchd::config {

// The word that was probably meant: the one with the fewest typing slips (a letter too many, too
// few, wrong, or two swapped), if that is few for its length; else empty.
[[nodiscard]] std::string_view closest(std::string_view word,
                                       const std::vector<std::string_view>& known);

}  // namespace latchd::config
