// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "crc32c.hpp"

#include <array>
#include <cstring>

namespace latchd::journal {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected

// slices[k][b]: what byte b does to the checksum when k more bytes follow it.
using Slices = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Slices make_slices() noexcept {
    Slices slices{};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t crc = b;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
        slices[0][b] = crc;
    }
    for (std::size_t k = 1; k < slices.size(); ++k) {
        for (std::size_t b = 0; b < 256; ++b) {
            const std::uint32_t shorter = slices[k - 1][b];
            slices[k][b] = (shorter >> 8) ^ slices[0][shorter & 0xff];
        }
    }
    return slices;
}

constexpr Slices slices = make_slices();

constexpr std::uint32_t next(std::uint32_t crc, std::byte byte) noexcept {
    return (crc >> 8) ^ slices[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(
    std::span<const std::byte> bytes, std::uint32_t before) noexcept {
    std::uint64_t crc = ~before;
    while (bytes.size() >= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), 8);
        crc = __builtin_ia32_crc32di(crc, word);
        bytes = bytes.subspan(8);
    }
    auto rest = static_cast<std::uint32_t>(crc);
    for (const std::byte byte : bytes) {
        rest = __builtin_ia32_crc32qi(rest, std::to_integer<unsigned char>(byte));
    }
    return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
    std::uint32_t crc = ~before;
    while (bytes.size() >= 8) {
        for (std::size_t i = 0; i < 4; ++i) {
            crc ^= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
        }
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            sum ^= slices[7 - i][(crc >> (8 * i)) & 0xff];
            sum ^= slices[3 - i][std::to_integer<std::size_t>(bytes[4 + i])];
        }
        crc = sum;
        bytes = bytes.subspan(8);
    }
    for (const std::byte byte : bytes) crc = next(crc, byte);
    return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
    static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
    if (has_instruction) return crc32c_by_instruction(bytes, before);
#endif
    return crc32c_by_table(bytes, before);
}

}  // namespace latchd::journal
