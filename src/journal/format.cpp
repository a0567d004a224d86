// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "format.hpp"

#include "crc32c.hpp"

#include <algorithm>

namespace latchd::journal {
namespace {

// The kernel's ids have 32 and 36 bytes. Longer ones are cut, on both sides of the comparison.
std::array<char, 64> to_field(std::string_view text) noexcept {
    std::array<char, 64> field{};
    std::copy_n(text.begin(), std::min(text.size(), field.size()), field.begin());
    return field;
}

std::uint64_t fence_check(Fence fence) noexcept {
    return crc32c(std::as_bytes(std::span(&fence, 1))) & 0x7ff;
}

}  // namespace

FileHead make_file_head(const Host& host, std::size_t half_bytes) noexcept {
    FileHead head;
    head.half_bytes = half_bytes;
    head.machine = to_field(host.machine);
    head.boot = to_field(host.boot);
    head.crc = checksum(head);
    head.fence_word = to_fence_word(0);
    return head;
}

std::uint32_t checksum(const FileHead& head) noexcept {
    return crc32c(std::as_bytes(std::span(&head, 1)).first(offsetof(FileHead, crc)));
}

bool is_of(const FileHead& head, const Host& host) noexcept {
    return !host.boot.empty() && head.boot == to_field(host.boot) &&
           head.machine == to_field(host.machine);
}

std::uint64_t to_fence_word(Fence fence) noexcept { return fence_check(fence) << 53 | fence; }

std::optional<Fence> from_fence_word(std::uint64_t word) noexcept {
    const Fence fence = word & (fence_end - 1);
    if (to_fence_word(fence) != word) return std::nullopt;
    return fence;
}

std::uint64_t to_owner_word(std::uint64_t incarnation, const FileId& file) noexcept {
    const std::array<std::uint64_t, 3> names{incarnation, file.inode, file.born_ns};
    const auto bytes = std::as_bytes(std::span(names));
    const std::uint64_t low = crc32c(bytes);
    return std::uint64_t{crc32c(bytes, 1)} << 32 | low | 1;
}

std::uint32_t record_checksum(std::span<const std::byte> record) noexcept {
    const auto length = static_cast<std::uint32_t>(record.size());
    return crc32c(record.subspan(record_head_bytes), crc32c(std::as_bytes(std::span(&length, 1))));
}

}  // namespace latchd::journal
