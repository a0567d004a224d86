// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Any bytes as a journal file: reading never crashes and never returns a record without a valid
// checksum. The first byte chooses: the rest is the whole file, or the halves behind a valid head,
// or these with the checksums made right, so that what lies behind the check is reached, too.

#include "format.hpp"

#include <latchd/journal/recovered.hpp>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

using namespace latchd::journal;

const Host host{"machine", "boot"};

std::uint32_t checksum_by_bit(std::span<const std::byte> record) {
    std::uint32_t crc = ~0u;
    for (std::size_t i = 0; i < record.size(); ++i) {
        if (i >= 4 && i < record_head_bytes) continue;
        crc ^= std::to_integer<std::uint32_t>(record[i]);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0x82f63b78 & (0 - (crc & 1)));
    }
    return ~crc;
}

bool is_record(std::span<const std::byte> file, std::size_t at, latchd::Fence fence) {
    const RecordHead head = load_record_head(&file[at]);
    return head.state == RecordState::live && head.length >= record_head_bytes + 8 &&
           head.length <= file.size() - at && encoded_fence(&file[at]) == fence &&
           checksum_by_bit(file.subspan(at, head.length)) == head.crc;
}

void put_head_before(std::vector<std::byte>& file) {
    FileHead head = make_file_head(host, file.size() / 16 * 8);
    head.generations = {1, 2};
    file.insert(file.begin(), head_bytes, std::byte{0});
    std::memcpy(file.data(), &head, sizeof head);
}

void make_checksums_right(std::span<std::byte> file) {
    const auto half_bytes = load<FileHead>(file.data()).half_bytes;
    for (std::size_t half = 0; half < 2; ++half) {
        std::size_t at = half_at(half, half_bytes);
        while (at + record_head_bytes + 8 <= file.size()) {
            const std::size_t length = load_record_head(&file[at]).length;
            if (length < record_head_bytes || length > file.size() - at) break;
            const std::uint32_t crc = record_checksum(file.subspan(at, length));
            std::memcpy(&file[at + 8], &crc, sizeof crc);
            at += length;
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
    std::vector<std::byte> file(bytes.begin(), bytes.end());
    if (data[0] % 4 != 0) put_head_before(file);
    if (data[0] % 4 > 1) make_checksums_right(file);
    const Recovered found = read_journal(file, host, latchd::Time(std::chrono::seconds(1'000)));
    for (const latchd::core::GrantRecord& record : found.records) {
        bool is_there = false;
        for (std::size_t at = head_bytes; at + 24 <= file.size() && !is_there; at += word_bytes) {
            is_there = is_record(file, at, record.fence);
        }
        if (!is_there || record.holds.empty() || record.fence > found.highest_fence) std::abort();
    }
    return 0;
}
