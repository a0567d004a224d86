// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "core/lock/packed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

namespace latchd::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

LockKey a_key(const std::string& id) { return {ResourceName("order:settle"), LockId(id)}; }

KeptRecord a_record() {
    KeptRecord record;
    KeptHold& hold = record.holds.emplace_back();
    hold.token = Token("Zk3_9-aQwErTyUiOpAsDfG");
    hold.request = RequestId("a-request");
    hold.attempts.push_back({0x1f'ffff'ffff'ffff, 17});
    hold.adopt_until = Time(seconds(115));
    record.fence = make_fence(1'900'000, 4'000'000'000);
    record.version = 3;
    record.granted_at = Time(seconds(100) + Duration(7));
    record.ttl = seconds(60);
    record.lease_end = record.granted_at + record.ttl;
    record.node = NodeName("host-1/4711");
    record.client = ClientName("127.0.0.1:50000");
    return record;
}

// What a record says, at some instant of its life.
GrantRecord said(const KeptRecord& record) {
    return to_record(a_key("1"), record, Time(seconds(101)));
}

TEST(Packed, a_record_comes_back_as_it_was) {
    PackedLocks locks(1);
    const KeptRecord usual = a_record();
    std::vector<KeptRecord> records(6, usual);
    records[1].owner = OwnerName("somebody");
    records[1].hard_end = Time(seconds(500));
    records[1].renewals = 7;
    records[1].renew_max = 9;
    records[1].delay = milliseconds(1500);
    records[2].node = NodeName("host-2/1");
    records[2].holds.front().attempts.front() = {std::numeric_limits<std::uint64_t>::max(), 0};
    records[3].holds.front().token = Token(std::string(64, '\xff'));
    records[3].holds.front().request = RequestId();
    records[3].client = ClientName();
    records[4].granted_at = Time(-seconds(20));  // before the host started
    records[4].lease_end = Time::max();
    records[4].holds.front().adopt_until = Time::min();
    records[5].holds.front().token = Token("exactly 22 characters!");
    records[5].owner = OwnerName(std::string(300, 'x'));
    for (const KeptRecord& record : records) {
        PackedLock& packed = locks.add(record, locks.begin(a_key("1"), record));
        EXPECT_EQ(packed.kind, 1);
        EXPECT_EQ(packed.key(), a_key("1"));
        LockKey key;
        KeptRecord same;
        (void)locks.read(packed, key, same);
        EXPECT_EQ(key, a_key("1"));
        EXPECT_EQ(said(same), said(record));
        EXPECT_EQ(same.holds.front().adopt_until, record.holds.front().adopt_until);
        EXPECT_EQ(same.lease_end, record.lease_end);
        EXPECT_EQ(same.hard_end, record.hard_end);
        locks.erase(packed);
    }
    EXPECT_EQ(locks.size(), 0U);
}

TEST(Packed, numbers_and_instants_come_back_as_they_were) {
    const unsigned seed = 20261201;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 2'000; ++round) {
        std::array<char, 3 * ByteWriter::number_max> bytes{};
        ByteWriter out(bytes.data());
        const std::uint64_t number = random() >> random() % 64;
        const Time since(Duration(static_cast<std::int64_t>(random())));
        const Time instant =
            round % 4 == 0 ? Time::min() : Time(Duration(static_cast<std::int64_t>(random())));
        const Duration left =
            milliseconds(static_cast<std::int64_t>(random() % 1'000'000) - 500'000);
        out.number(number);
        out.instant(instant, since);
        out.duration(left);
        ASSERT_LE(out.at(), bytes.data() + bytes.size());
        ByteReader in(bytes.data());
        ASSERT_EQ(in.number(), number);
        ASSERT_EQ(in.instant(since), instant);
        ASSERT_EQ(in.duration(), left);
    }
}

TEST(Packed, a_lock_is_found_by_its_key_among_many) {
    PackedLocks locks(0);
    const KeptRecord record = a_record();
    for (int i = 0; i < 1'000; ++i) {
        (void)locks.add(record, locks.begin(a_key("lock-" + std::to_string(i)), record));
    }
    EXPECT_EQ(locks.size(), 1'000U);
    for (int i = 0; i < 1'000; i += 2) {
        PackedLock* const packed = locks.find(a_key("lock-" + std::to_string(i)));
        ASSERT_NE(packed, nullptr);
        locks.erase(*packed);
        EXPECT_EQ(locks.find(a_key("lock-" + std::to_string(i))), nullptr);
    }
    EXPECT_NE(locks.find(a_key("lock-1")), nullptr);
    EXPECT_EQ(locks.find({ResourceName("order"), LockId("lock-1")}), nullptr);
    EXPECT_EQ(locks.size(), 500U);
}

// What a million held locks rest on; a block of 128 bytes has room for 112 behind what it begins
// with.
TEST(Packed, a_usual_lock_takes_few_bytes) {
    PackedLocks locks(0);
    KeptRecord record = a_record();
    record.holds.front().request = RequestId("0123456789abcdefghijkl");
    record.holds.front().attempts.front().number = 500'000;
    record.version = 1;
    const ByteWriter bytes = locks.begin(a_key("2026-11-29-00000000"), record);
    const PackedLock& packed = locks.add(record, bytes);
    LockKey key;
    KeptRecord same;
    const char* const first = packed.bytes();
    const ByteReader rest = locks.read(packed, key, same);
    EXPECT_LE(rest.at() - first, 96);
    EXPECT_EQ(sizeof(PackedLock), 16U);
}

}  // namespace
}  // namespace latchd::core
