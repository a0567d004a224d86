// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace latchd::journal {

// CRC-32C (Castagnoli). `before` is the checksum of the bytes that come before these.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes,
                                   std::uint32_t before = 0) noexcept;

// The same without the processor's instruction; what other processors get.
[[nodiscard]] std::uint32_t crc32c_by_table(std::span<const std::byte> bytes,
                                            std::uint32_t before = 0) noexcept;

}  // namespace latchd::journal
