// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>
#include <latchd/core/lock/claims.hpp>
#include <latchd/core/lock/record.hpp>
#include <latchd/journal/host.hpp>
#include <latchd/journal/recovered.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

// The bytes of a journal file; docs/journal.md describes them for people. All numbers are in the
// host's byte order: the file never leaves the host.
namespace latchd::journal {

inline constexpr std::uint64_t file_magic = 0x316a64686374616cull;  // "latchdj1"
inline constexpr std::uint32_t file_version = 1;
inline constexpr std::size_t head_bytes = 4'096;
inline constexpr std::size_t word_bytes = 8;
inline constexpr Fence fence_end = Fence{1} << 53;

// What never changes in a file, with its checksum; then the words that do.
struct FileHead {
    std::uint64_t magic = file_magic;
    std::uint32_t version = file_version;
    std::uint32_t head_size = head_bytes;
    std::uint64_t half_bytes = 0;
    std::array<char, 64> machine{};
    std::array<char, 64> boot{};
    std::uint32_t unused = 0;
    std::uint32_t crc = 0;  // of everything above
    std::uint64_t fence_word = 0;
    std::array<std::uint64_t, 2> generations{};  // of each half; 0: empty. The greater is written
    std::uint64_t owner_word = 0;                // 0: it has not all records of anybody
};
static_assert(sizeof(FileHead) == 8 + 4 + 4 + 8 + 64 + 64 + 8 + 8 + 16 + 8);

inline constexpr std::size_t fence_at = offsetof(FileHead, fence_word);
inline constexpr std::size_t owner_at = offsetof(FileHead, owner_word);
constexpr std::size_t generation_at(std::size_t half) noexcept {
    return offsetof(FileHead, generations) + half * word_bytes;
}
constexpr std::size_t half_at(std::size_t half, std::size_t half_bytes) noexcept {
    return head_bytes + half * half_bytes;
}
constexpr std::size_t file_bytes(std::size_t half_bytes) noexcept { return half_at(2, half_bytes); }

[[nodiscard]] FileHead make_file_head(const Host& host, std::size_t half_bytes) noexcept;
[[nodiscard]] std::uint32_t checksum(const FileHead& head) noexcept;
[[nodiscard]] bool is_of(const FileHead& head, const Host& host) noexcept;

// The highest fence and a check of it in one word, so that one store changes both.
[[nodiscard]] std::uint64_t to_fence_word(Fence fence) noexcept;
[[nodiscard]] std::optional<Fence> from_fence_word(std::uint64_t word) noexcept;

// Of the process whose records are all in this very file: a copy of it is another file. Never 0.
[[nodiscard]] std::uint64_t to_owner_word(std::uint64_t incarnation, const FileId& file) noexcept;

// A record begins with a word of its length and state; a word of 0 ends the half. That word is
// stored last when a record is written, and is the only one stored again.
enum class RecordState : std::uint32_t {
    live = 0x4556494c,
    over = 0x5245564f,  // replaced, dropped or moved
};
struct RecordHead {
    std::uint32_t length = 0;  // of the record with this head, in bytes; a multiple of 8
    RecordState state{};
    std::uint32_t crc = 0;  // of length and body
    std::uint32_t tag = 0;  // of the key; for the process that wrote it, not checked
};
inline constexpr std::size_t record_head_bytes = sizeof(RecordHead);
static_assert(record_head_bytes == 16);

constexpr std::uint64_t to_record_word(std::uint32_t length, RecordState state) noexcept {
    return static_cast<std::uint64_t>(state) << 32 | length;
}

// After kill -9 the kernel has all stores that the process came to, in program order: what is
// needed is only that the compiler moves nothing across these.
inline void store_word(std::byte* at, std::uint64_t word) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at))
        .store(word, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}
template <class T>
[[nodiscard]] T load(const std::byte* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
[[nodiscard]] inline RecordHead load_record_head(const std::byte* at) noexcept {
    const auto word = load<std::uint64_t>(at);
    return {static_cast<std::uint32_t>(word),
            static_cast<RecordState>(word >> 32),
            load<std::uint32_t>(at + 8),
            load<std::uint32_t>(at + 12)};
}
[[nodiscard]] std::uint32_t record_checksum(std::span<const std::byte> record) noexcept;

// Length of the record with head and padding; 0 for one that the format has no room for.
[[nodiscard]] std::size_t encoded_bytes(const core::GrantRecord& record) noexcept;

// Writes body and padding behind the head of `out`, which is exactly encoded_bytes() long.
void encode(const core::GrantRecord& record, Time now, std::span<std::byte> out) noexcept;

// The way back; nothing if the body is not one that encode() writes.
[[nodiscard]] std::optional<core::GrantRecord> decode(std::span<const std::byte> record, Time now);

// A cancelled request id is a record without holds: its lease ends when its bar does, its owner is
// the request id. Whoever knows of no bars passes over it with a warning.
inline constexpr std::size_t bar_bytes_max = 352;  // with every name at its limit

// As above; 0 also for one that would be longer than bar_bytes_max.
[[nodiscard]] std::size_t encoded_bytes(const core::CancelledRequest& bar) noexcept;
void encode(const core::CancelledRequest& bar, Time now, std::span<std::byte> out) noexcept;
[[nodiscard]] bool is_bar(std::span<const std::byte> record) noexcept;
[[nodiscard]] std::optional<core::CancelledRequest> decode_bar(std::span<const std::byte> record,
                                                               Time now);

struct EncodedKey {
    std::string_view resource;
    std::string_view id;
    std::string_view owner;  // of a bar: the request id
};
// These only for a record that encode() wrote.
[[nodiscard]] EncodedKey encoded_key(const std::byte* record) noexcept;
[[nodiscard]] inline Fence encoded_fence(const std::byte* record) noexcept {
    return load<Fence>(record + record_head_bytes);
}
[[nodiscard]] inline Time encoded_end(const std::byte* record) noexcept {
    return Time(Duration(load<std::int64_t>(record + record_head_bytes + 2 * word_bytes)));
}

}  // namespace latchd::journal
