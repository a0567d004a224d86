// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <algorithm>

namespace latchd::command {
namespace {

constexpr std::size_t quoted_bytes_max = 64;
constexpr std::size_t tail_bytes = 6;

}  // namespace

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), to_lower);
    return result;
}

std::string upper(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), to_upper);
    return result;
}

std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t max) noexcept {
    if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value > max) return std::nullopt;
    return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) noexcept {
    const std::string_view digits = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);
    if (digits.empty() || (digits[0] == '0' && text.size() > 1)) return std::nullopt;
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

std::string quoted(std::string_view input) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string result = "'";
    for (const char c : input.substr(0, quoted_bytes_max)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte <= 0x7e) {
            result.push_back(c);
        } else {
            result.append({'\\', 'x', digits[byte >> 4], digits[byte & 15]});
        }
    }
    result += input.size() > quoted_bytes_max ? "...'" : "'";
    return result;
}

std::string tail_of(std::string_view secret) {
    if (secret.empty()) return {};
    // Of a short secret no more than half is shown.
    const std::size_t shown = std::min(tail_bytes, secret.size() / 2);
    std::string result = "*";
    result += secret.substr(secret.size() - shown);
    return result;
}

}  // namespace latchd::command
