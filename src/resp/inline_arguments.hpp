// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace latchd::resp {

enum class InlineSplit {
    done,
    unbalanced_quotes,   // a quote is not closed, or something follows the closing one
    too_many_arguments,  // more than the limit
};

// Splits an inline command (without its line end) as Redis does: arguments are parted by blanks;
// "..." knows \n \r \t \b \a and \xHH, '...' only \'. Works in place, as an argument is never
// longer than its text: the views point into the line.
[[nodiscard]] InlineSplit split_inline(std::span<char> line,
                                       std::size_t arguments_max,
                                       std::vector<std::string_view>& arguments);

}  // namespace latchd::resp
