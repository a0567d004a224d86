// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "crc32c.hpp"
#include "format.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

namespace latchd::journal::test {
namespace {

using Origin = Recovered::Origin;

// A file with two live halves: the change to the second half is under way.
class DamageTest : public testing::Test {
protected:
    void SetUp() override {
        const NodeDirectory directory = open_directory(folder.path());
        const auto journal =
            Journal::open(directory, host, {.locks_max = 4, .rewrite_from_bytes = 2'048}, start)
                .journal;
        Fence fence = 1;
        for (; journal->counts().rewrites == 0; ++fence) {
            ASSERT_TRUE(journal->bar(bar(fence), start));
            ASSERT_TRUE(journal->put(make_record(fence % 4, fence), start));
        }
        bytes = read_file(directory.path() + "/journal");
        last_fence = fence - 1;
        const auto head = load<FileHead>(bytes.data());
        ASSERT_NE(head.generations[0], 0u);
        ASSERT_NE(head.generations[1], 0u);
        half_bytes = head.half_bytes;
    }

    // Of the same time as the record of this fence.
    [[nodiscard]] static core::CancelledRequest bar(Fence fence) {
        return make_bar(fence % 4, "wish", 60s + Duration(fence));
    }

    // Where each record of a half begins, and where the last one ends.
    [[nodiscard]] std::vector<std::size_t> boundaries(std::size_t half) const {
        std::vector<std::size_t> found{half_at(half, half_bytes)};
        while (const auto length = load_record_head(&bytes[found.back()]).length) {
            found.push_back(found.back() + length);
        }
        return found;
    }
    [[nodiscard]] Recovered read() const { return read_journal(bytes, host, start); }

    TemporaryFolder folder;
    std::vector<std::byte> bytes;
    std::size_t half_bytes = 0;
    Fence last_fence = 0;
};

TEST_F(DamageTest, reads_both_halves_of_an_unfinished_change) {
    const Recovered found = read();
    EXPECT_TRUE(found.warnings.empty());
    EXPECT_EQ(found.records.size(), 4u);
    for (const auto& record : found.records) EXPECT_GT(record.fence, last_fence - 4);
    for (Fence fence = last_fence - 3; fence <= last_fence; ++fence) {
        EXPECT_EQ(std::ranges::count(found.cancelled, bar(fence)), 1);
    }
}

TEST_F(DamageTest, loses_no_bar_but_a_torn_one) {
    const std::vector<std::size_t> at = boundaries(1);
    const auto is_it = [&](std::size_t i) {
        return is_bar(std::span(bytes).subspan(at[i], at[i + 1] - at[i]));
    };
    std::size_t last = at.size() - 2;
    while (last > 0 && !is_it(last)) --last;
    ASSERT_TRUE(is_it(last));
    const std::size_t whole = read().cancelled.size();
    for (std::size_t byte = at[last]; byte < at[last + 1]; ++byte) {
        if (byte >= at[last] + 12 && byte < at[last] + 16) continue;  // the tag: not checked
        bytes[byte] ^= std::byte{1};
        const Recovered found = read();
        EXPECT_EQ(found.cancelled.size(), whole - 1) << byte;
        EXPECT_EQ(std::ranges::count(found.cancelled, bar(last_fence)), 0) << byte;
        EXPECT_EQ(found.warnings.size(), 1u) << byte;
        bytes[byte] ^= std::byte{1};
    }
}

TEST_F(DamageTest, reads_up_to_a_cut_at_every_record_boundary_and_every_byte_of_the_last_record) {
    const std::vector<std::size_t> at = boundaries(1);
    ASSERT_GE(at.size(), 2u);
    const std::size_t whole = read().records.size();
    for (std::size_t cut = at[at.size() - 2]; cut <= at.back() + 8; ++cut) {
        const Recovered found = read_journal(std::span(bytes).first(cut), host, start);
        EXPECT_EQ(found.records.size(), cut >= at.back() ? whole : whole - 1) << cut;
        EXPECT_EQ(found.highest_fence, last_fence);
    }
    const std::vector<std::size_t> first = boundaries(0);
    for (std::size_t i = 0; i < first.size(); ++i) {
        const Recovered found = read_journal(std::span(bytes).first(first[i]), host, start);
        EXPECT_TRUE(found.warnings.empty());
        std::size_t live = 0;
        for (std::size_t j = 0; j < i; ++j) {
            live += load_record_head(&bytes[first[j]]).state == RecordState::live ? 1 : 0;
        }
        EXPECT_EQ(found.records.size() + found.cancelled.size(), live) << "cut at record " << i;
    }
}

TEST_F(DamageTest, loses_only_a_torn_last_record) {
    const std::vector<std::size_t> at = boundaries(1);
    for (std::size_t byte = at[at.size() - 2] + 16; byte < at.back(); ++byte) {
        bytes[byte] ^= std::byte{1};
        const Recovered found = read();
        EXPECT_EQ(found.records.size(), 3u) << byte;
        EXPECT_EQ(found.warnings.size(), 1u);
        bytes[byte] ^= std::byte{1};
    }
}

TEST_F(DamageTest, never_returns_a_record_that_was_not_put_whatever_bit_is_wrong) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::size_t ends[] = {boundaries(0).back() + 8, boundaries(1).back() + 8};
    for (int i = 0; i < 20'000; ++i) {
        const std::size_t half = random() % 2;
        const std::size_t begin = half == 0 ? 0 : half_at(1, half_bytes);
        const std::size_t byte = begin + random() % (ends[half] - begin);
        const std::byte mask = std::byte{1} << static_cast<int>(random() % 8);
        bytes[byte] ^= mask;
        for (const auto& record : read().records) {
            ASSERT_LE(record.fence, last_fence);
            const auto number = std::stoull(record.key.id.str());
            ASSERT_EQ(record, make_record(number, record.fence)) << "byte " << byte;
        }
        for (const auto& cancelled : read().cancelled) {
            const auto fence = static_cast<Fence>((cancelled.left - 60s).count());
            ASSERT_LE(fence, last_fence);
            ASSERT_EQ(cancelled, bar(fence)) << "byte " << byte;
        }
        bytes[byte] ^= mask;
    }
}

TEST_F(DamageTest, does_not_use_a_file_with_a_damaged_head) {
    for (std::size_t byte = 0; byte < fence_at; ++byte) {
        bytes[byte] ^= std::byte{0x10};
        const Recovered found = read();
        EXPECT_EQ(found.origin, Origin::unusable) << byte;
        EXPECT_TRUE(found.records.empty());
        EXPECT_EQ(found.highest_fence, 0u);
        EXPECT_EQ(found.warnings.size(), 1u);
        bytes[byte] ^= std::byte{0x10};
    }
}

TEST_F(DamageTest, names_the_version_that_it_does_not_know) {
    const std::uint32_t version = 2;
    std::memcpy(&bytes[8], &version, sizeof version);
    ASSERT_EQ(read().warnings.size(), 1u);
    EXPECT_EQ(read().warnings[0], "journal not used: its format is version 2");
}

TEST_F(DamageTest, takes_the_highest_fence_of_the_records_where_the_head_has_lost_it) {
    bytes[fence_at + 1] ^= std::byte{1};
    const Recovered found = read();
    EXPECT_EQ(found.highest_fence, last_fence);
    EXPECT_EQ(found.warnings.size(), 1u);
    EXPECT_EQ(found.records.size(), 4u);
}

TEST_F(DamageTest, survives_a_valid_checksum_over_invalid_content) {
    const std::size_t at = boundaries(1)[0];
    const RecordHead head = load_record_head(&bytes[at]);
    ASSERT_EQ(head.state, RecordState::live);
    const std::span record(&bytes[at], head.length);
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        const std::vector<std::byte> before(record.begin(), record.end());
        for (int n = 0; n < 3; ++n) {
            record[16 + random() % (record.size() - 16)] = std::byte(random() % 256);
        }
        const std::uint32_t crc = record_checksum(record);
        std::memcpy(&record[8], &crc, sizeof crc);
        for (const auto& found : read().records) {
            ASSERT_FALSE(found.holds.empty());
            ASSERT_LE(found.holds.size(), core::holds_per_lock_max);
            ASSERT_LT(found.fence, fence_end);
        }
        std::copy(before.begin(), before.end(), record.begin());
    }
}

TEST(FenceWord, notices_every_single_wrong_bit) {
    for (const Fence fence : {Fence{0}, Fence{1}, make_fence(1, 0), fence_end - 1}) {
        const std::uint64_t word = to_fence_word(fence);
        EXPECT_EQ(from_fence_word(word), fence);
        for (int bit = 0; bit < 64; ++bit) {
            EXPECT_FALSE(from_fence_word(word ^ std::uint64_t{1} << bit)) << fence << " " << bit;
        }
    }
}

TEST(Crc32c, is_the_known_checksum_by_instruction_and_by_table) {
    const auto digits = std::as_bytes(std::span("123456789", 9));
    EXPECT_EQ(crc32c(digits), 0xe3069283u);
    EXPECT_EQ(crc32c_by_table(digits), 0xe3069283u);
    EXPECT_EQ(crc32c({}), 0u);
    std::mt19937 random(2);
    std::vector<std::byte> bytes(300);
    for (auto& byte : bytes) byte = std::byte(random() % 256);
    for (std::size_t n = 0; n <= bytes.size(); ++n) {
        const std::span part = std::span(bytes).first(n);
        ASSERT_EQ(crc32c(part), crc32c_by_table(part)) << n;
        ASSERT_EQ(crc32c(part.subspan(n / 3), crc32c(part.first(n / 3))), crc32c(part)) << n;
    }
}

}  // namespace
}  // namespace latchd::journal::test
