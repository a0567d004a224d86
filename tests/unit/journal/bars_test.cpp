// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "format.hpp"
#include "support.hpp"

#include <algorithm>
#include <map>
#include <random>

namespace latchd::journal::test {
namespace {

class BarsTest : public testing::Test {
protected:
    JournalOpened open(JournalOptions options = {.locks_max = 100}, Time now = start) {
        return Journal::open(directory, host, options, now);
    }
    [[nodiscard]] Recovered read(Time now = start) const {
        return read_journal(read_file(directory.path() + "/journal"), host, now);
    }

    TemporaryFolder folder;
    NodeDirectory directory = open_directory(folder.path());
};

TEST_F(BarsTest, are_found_with_what_is_left_by_the_next_process_and_the_one_after) {
    const core::CancelledRequest bar = make_bar(1, "wish", 120s);
    ASSERT_TRUE(open().journal->bar(bar, start));
    EXPECT_EQ(read().cancelled, std::vector{bar});
    EXPECT_TRUE(read().records.empty());
    for (const auto passed : {20s, 119s}) {
        const Recovered found = open({.locks_max = 100}, start + passed).recovered;
        EXPECT_TRUE(found.warnings.empty());
        EXPECT_EQ(found.cancelled, std::vector{make_bar(1, "wish", 120s - passed)});
    }
    EXPECT_TRUE(open({.locks_max = 100}, start + 120s).recovered.cancelled.empty());
}

TEST_F(BarsTest, do_not_outlive_the_host) {
    ASSERT_TRUE(open().journal->bar(make_bar(1, "wish", 120s), start));
    const Host other{host.machine, "another boot"};
    EXPECT_TRUE(
        read_journal(read_file(directory.path() + "/journal"), other, start).cancelled.empty());
}

TEST_F(BarsTest, last_until_the_latest_of_their_ends) {
    const auto journal = open().journal;
    for (const auto left : {50s, 120s, 30s}) {
        ASSERT_TRUE(journal->bar(make_bar(1, "wish", left), start));
    }
    EXPECT_EQ(journal->counts().bars, 1u);
    EXPECT_EQ(read().cancelled, std::vector{make_bar(1, "wish", 120s)});
    // The end that it had first is no end any more.
    for (Fence fence = 1; fence < 5; ++fence) {
        ASSERT_TRUE(journal->put(make_record(1, fence), start + 60s));
    }
    EXPECT_EQ(journal->counts().bars, 1u);
    ASSERT_TRUE(journal->put(make_record(1, 5), start + 120s));
    EXPECT_EQ(journal->counts().bars, 0u);
}

TEST_F(BarsTest, are_apart_from_locks_and_from_each_other) {
    const auto journal = open().journal;
    ASSERT_TRUE(journal->bar(make_bar(1, "worker", 120s), start));  // as the record's owner
    ASSERT_TRUE(journal->bar(make_bar(1, "wish", 120s), start));
    ASSERT_TRUE(journal->bar(make_bar(2, "wish", 120s), start));
    ASSERT_TRUE(journal->put(make_record(1, 7), start));
    EXPECT_EQ(read().records, std::vector{make_record(1, 7)});
    EXPECT_EQ(read().cancelled.size(), 3u);
    journal->drop(make_record(1, 7).key, 7);
    EXPECT_TRUE(read().records.empty());
    EXPECT_EQ(read().cancelled.size(), 3u);
}

TEST_F(BarsTest, are_refused_above_their_number_and_cost_no_lock_its_place) {
    const auto journal = open({.locks_max = 3}).journal;
    for (std::uint64_t n = 0; n < 3; ++n) {
        ASSERT_TRUE(journal->bar(make_bar(n, "wish", 60s), start));
    }
    EXPECT_FALSE(journal->bar(make_bar(3, "wish", 60s), start));
    EXPECT_EQ(journal->counts().refused, 1u);
    EXPECT_EQ(journal->room(), 3u);
    for (Fence fence = 1; fence <= 3; ++fence) {
        ASSERT_TRUE(journal->put(make_record(fence, fence), start));
    }
    EXPECT_EQ(read().cancelled.size(), 3u);
    EXPECT_TRUE(journal->bar(make_bar(3, "wish", 60s), start + 60s)) << "the others are over";
    EXPECT_EQ(read(start + 60s).cancelled, std::vector{make_bar(3, "wish", 60s)});
}

TEST_F(BarsTest, take_every_name_at_its_limit_and_no_longer_one) {
    const auto journal = open().journal;
    core::CancelledRequest bar{{ResourceName(std::string(64, 'r')), LockId(std::string(128, 'i'))},
                               RequestId(std::string(64, 'q')),
                               60s};
    EXPECT_TRUE(journal->bar(bar, start));
    EXPECT_EQ(read().cancelled, std::vector{bar});
    bar.request = RequestId(std::string(100, 'q'));
    EXPECT_FALSE(journal->bar(bar, start));
}

TEST_F(BarsTest, are_no_records_to_who_knows_of_none) {
    const core::CancelledRequest bar = make_bar(1, "wish", 60s);
    std::vector<std::byte> bytes(encoded_bytes(bar));
    encode(bar, start, bytes);
    EXPECT_TRUE(is_bar(bytes));
    EXPECT_FALSE(decode(bytes, start)) << "it is passed over";
    EXPECT_EQ(decode_bar(bytes, start), bar);
    const core::GrantRecord record = make_record(1, 1);
    bytes.assign(encoded_bytes(record), {});
    encode(record, start, bytes);
    EXPECT_FALSE(is_bar(bytes));
}

TEST_F(BarsTest, agree_with_a_map_over_random_changes) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const JournalOptions options{.locks_max = 64, .rewrite_from_bytes = 4'096};
    std::map<std::pair<std::uint64_t, std::string>, Time> barred;
    std::map<std::uint64_t, Fence> held;
    Time now = start;
    std::uint64_t rewrites = 0;
    auto opened = open(options);
    for (Fence fence = 1; fence < 6'000; ++fence) {
        const std::uint64_t lock = random() % 8;
        now += std::chrono::milliseconds(random() % 500);
        if (random() % 2 == 0) {
            const std::string request = "wish" + std::to_string(random() % 6);
            const auto left = std::chrono::seconds(1 + random() % 30);
            ASSERT_TRUE(opened.journal->bar(make_bar(lock, request, left), now));
            Time& end = barred[{lock, request}];
            end = std::max(end, now + left);
        } else if (random() % 3 != 0) {
            auto record = make_record(lock, fence);
            record.left = 10h;
            ASSERT_TRUE(opened.journal->put(record, now));
            held[lock] = fence;
        } else {
            opened.journal->drop(make_record(lock, 0).key, fence);
            held.erase(lock);
        }
        std::erase_if(barred, [now](const auto& each) { return each.second <= now; });
        ASSERT_LE(opened.journal->counts().bars, 48u);
        if (random() % 20 != 0) continue;
        const bool starts_anew = random() % 5 == 0;
        const Recovered found = read(now);
        std::map<std::pair<std::uint64_t, std::string>, Time> seen;
        for (const auto& bar : found.cancelled) {
            seen[{std::stoull(bar.key.id.str()), bar.request.str()}] = now + bar.left;
        }
        ASSERT_EQ(seen, barred) << "at " << fence;
        ASSERT_EQ(found.records.size(), held.size());
        if (!starts_anew) continue;
        rewrites += opened.journal->counts().rewrites;
        opened = open(options, now);
    }
    EXPECT_GT(rewrites, 10u);
}

}  // namespace
}  // namespace latchd::journal::test
