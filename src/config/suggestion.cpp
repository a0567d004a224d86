// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "suggestion.hpp"

#include <algorithm>
#include <array>

namespace latchd::config {
namespace {

std::size_t slips_between(std::string_view a, std::string_view b) {
    // Rows i-2, i-1 and i of the usual table of edit distances.
    std::array<std::vector<std::size_t>, 3> rows;
    for (auto& row : rows) row.resize(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) rows[1][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto& [before, above, row] = rows;
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::rotate(rows.begin(), rows.begin() + 1, rows.end());
    }
    return rows[1].back();
}

}  // namespace

std::string_view closest(std::string_view word, const std::vector<std::string_view>& known) {
    constexpr std::size_t longest = 64;  // bounds the work for a file of nonsense
    if (word.size() > longest) return {};
    std::string_view best;
    std::size_t best_slips = 0;
    for (const auto candidate : known) {
        const auto slips = slips_between(word, candidate);
        const auto allowed =
            std::max<std::size_t>(1, std::min<std::size_t>(3, candidate.size() / 3));
        if (slips <= allowed && (best.empty() || slips < best_slips)) {
            best = candidate;
            best_slips = slips;
        }
    }
    return best;
}

}  // namespace latchd::config
