// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "uuid.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace latchd::core::authority {

namespace {

std::uint32_t six_bits(char c) noexcept {
    if (c >= 'A' && c <= 'Z') return static_cast<std::uint32_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a') + 26;
    if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0') + 52;
    return c == '-' ? 62 : 63;
}

}  // namespace

std::string uuid_from(std::string_view drawn) {
    std::array<std::uint8_t, 16> bytes{};
    std::uint32_t bits = 0;
    unsigned count = 0;
    std::size_t used = 0;
    for (const char c : drawn) {
        bits = (bits << 6) | six_bits(c);
        count += 6;
        if (count < 8 || used == bytes.size()) continue;
        count -= 8;
        bytes[used++] = static_cast<std::uint8_t>(bits >> count);
    }
    bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

}  // namespace latchd::core::authority
