// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/base/glob.hpp>

#include <cstddef>
#include <utility>

namespace latchd {
namespace {

// Matches one character against the set that begins behind pattern[at - 1] == '['; moves `at`
// behind its ']' (or to the end, where a set isn't closed).
bool set_matches(std::string_view pattern, std::size_t& at, unsigned char c) noexcept {
    const bool negated = at < pattern.size() && pattern[at] == '^';
    if (negated) ++at;
    bool found = false;
    while (at < pattern.size() && pattern[at] != ']') {
        if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
        auto low = static_cast<unsigned char>(pattern[at++]);
        auto high = low;
        if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
            ++at;
            high = static_cast<unsigned char>(pattern[at++]);
            if (high < low) std::swap(low, high);
        }
        found = found || (low <= c && c <= high);
    }
    if (at < pattern.size()) ++at;
    return found != negated;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) noexcept {
    constexpr std::size_t none = std::string_view::npos;
    std::size_t at = 0;
    std::size_t position = 0;
    std::size_t star = none;  // behind the last `*`, where a mismatch resumes
    std::size_t starred = 0;  // how much of the text that star has taken
    for (;;) {
        bool matched = false;
        std::size_t next = at;
        if (at < pattern.size()) {
            const char p = pattern[at];
            if (p == '*') {
                star = ++at;
                starred = position;
                continue;
            }
            if (position < text.size()) {
                const auto c = static_cast<unsigned char>(text[position]);
                next = at + 1;
                if (p == '?') {
                    matched = true;
                } else if (p == '[') {
                    matched = set_matches(pattern, next, c);
                } else {
                    const bool escaped = p == '\\' && next < pattern.size();
                    const char literal = escaped ? pattern[next++] : p;
                    matched = static_cast<unsigned char>(literal) == c;
                }
            }
        } else if (position == text.size()) {
            return true;
        }
        if (matched) {
            at = next;
            ++position;
            continue;
        }
        // Only the last star can give back: the earlier ones took as little as they could.
        if (star == none || starred >= text.size()) return false;
        position = ++starred;
        at = star;
    }
}

}  // namespace latchd
