// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <latchd/journal/journal.hpp>

#include <algorithm>
#include <map>
#include <random>

namespace latchd::journal::test {
namespace {

using Origin = Recovered::Origin;

class JournalTest : public testing::Test {
protected:
    JournalOpened open(JournalOptions options = {.locks_max = 100},
                       Time now = start,
                       const Host& of = host) {
        return Journal::open(directory, of, options, now);
    }
    [[nodiscard]] Recovered read(Time now = start, const Host& of = host) const {
        return read_journal(read_file(file), of, now);
    }

    TemporaryFolder folder;
    NodeDirectory directory = open_directory(folder.path());
    std::string file = directory.path() + "/journal";
};

core::GrantRecord full_record() {
    core::GrantRecord record = make_record(1, make_fence(3, 9));
    record.key.id = LockId(std::string("a\0b\xff:", 5));
    record.holds.push_back(
        {Token("other"), RequestId(""), {{1, 2}, {(1ull << 53) - 1, 3}}, Duration(0)});
    record.version = 12;
    record.hard_left = 100s;
    record.renewals = 4;
    record.renew_max = 5;
    record.delay = 3s;
    record.age = 20s;
    return record;
}

TEST_F(JournalTest, finds_nothing_in_a_new_folder) {
    const JournalOpened opened = open();
    ASSERT_TRUE(opened.journal);
    EXPECT_EQ(opened.recovered.origin, Origin::missing);
    EXPECT_TRUE(opened.recovered.records.empty());
    EXPECT_TRUE(opened.recovered.warnings.empty());
    EXPECT_EQ(opened.journal->highest_fence(), 0u);
}

TEST_F(JournalTest, gives_every_field_back) {
    const core::GrantRecord record = full_record();
    ASSERT_TRUE(open().journal->put(record, start));
    const Recovered found = read();
    EXPECT_EQ(found.origin, Origin::continued);
    ASSERT_EQ(found.records.size(), 1u);
    EXPECT_EQ(found.records[0], record);
    EXPECT_EQ(found.highest_fence, record.fence);
}

TEST_F(JournalTest, says_of_which_process_it_has_all) {
    ASSERT_TRUE(open().journal->put(full_record(), start));
    EXPECT_FALSE(open().recovered.is_all_of(7)) << "it was nobody's";
    open().journal->belongs_to(7);
    const JournalOpened next = open();
    EXPECT_TRUE(next.recovered.is_all_of(7));
    EXPECT_FALSE(next.recovered.is_all_of(8));
    EXPECT_FALSE(open().recovered.is_all_of(7)) << "that one did not say whose it is";
    open().journal->belongs_to(7);
    EXPECT_FALSE(open({}, start, {host.machine, "another life"}).recovered.is_all_of(7));
}

TEST_F(JournalTest, has_not_all_once_a_record_could_not_be_written) {
    {
        const auto journal = open().journal;
        journal->belongs_to(7);
        journal->lacks_some();
    }
    EXPECT_FALSE(open().recovered.is_all_of(7));
}

TEST_F(JournalTest, a_copy_is_nobody_s) {
    open().journal->belongs_to(7);
    write_file(file + ".copy", read_file(file));
    std::filesystem::rename(file + ".copy", file);
    const JournalOpened copied = open();
    EXPECT_EQ(copied.recovered.origin, Origin::continued);
    EXPECT_FALSE(copied.recovered.is_all_of(7));
}

TEST_F(JournalTest, what_is_damaged_is_not_all) {
    {
        const auto journal = open().journal;
        journal->belongs_to(7);
        ASSERT_TRUE(journal->put(full_record(), start));
    }
    std::fstream changed(file, std::ios::in | std::ios::out | std::ios::binary);
    changed.seekp(4'096 + 40);
    changed.put('x');
    changed.close();
    const JournalOpened damaged = open();
    EXPECT_FALSE(damaged.recovered.warnings.empty());
    EXPECT_FALSE(damaged.recovered.is_all_of(7));
}

TEST_F(JournalTest, counts_times_down_to_the_moment_of_reading) {
    ASSERT_TRUE(open().journal->put(full_record(), start));
    const Recovered found = read(start + 16s);
    ASSERT_EQ(found.records.size(), 1u);
    EXPECT_EQ(found.records[0].left, 14s);
    EXPECT_EQ(found.records[0].hard_left, 84s);
    EXPECT_EQ(found.records[0].age, 36s);
    EXPECT_EQ(found.records[0].ttl, 30s);
    EXPECT_EQ(found.records[0].delay, 3s);
    EXPECT_EQ(found.records[0].holds[0].adopt_left, 0s) << "its window of 15 s is over";
}

TEST_F(JournalTest, leaves_out_what_is_over_with_its_delay) {
    ASSERT_TRUE(open().journal->put(full_record(), start));
    const Recovered in_delay = read(start + 33s - 1us);
    ASSERT_EQ(in_delay.records.size(), 1u);
    EXPECT_EQ(in_delay.records[0].left, -3s + 1us);
    const Recovered over = read(start + 33s);
    EXPECT_TRUE(over.records.empty()) << "equal instants count as over";
    EXPECT_EQ(over.over, 1u);
    EXPECT_EQ(over.highest_fence, make_fence(3, 9));
}

TEST_F(JournalTest, keeps_the_last_record_of_a_lock) {
    const auto journal = open().journal;
    for (Fence fence : {5, 6, 9}) ASSERT_TRUE(journal->put(make_record(1, fence), start));
    const Recovered found = read();
    ASSERT_EQ(found.records.size(), 1u);
    EXPECT_EQ(found.records[0].fence, 9u);
    EXPECT_EQ(journal->counts().records, 1u);
}

TEST_F(JournalTest, tells_locks_apart_whose_names_join_to_the_same_text) {
    const auto journal = open().journal;
    core::GrantRecord one = make_record(1, 1);
    one.key = {ResourceName("a:b"), LockId("c")};
    core::GrantRecord other = make_record(1, 2);
    other.key = {ResourceName("a"), LockId("b:c")};
    ASSERT_TRUE(journal->put(one, start));
    ASSERT_TRUE(journal->put(other, start));
    EXPECT_EQ(read().records.size(), 2u);
}

TEST_F(JournalTest, forgets_a_dropped_record_but_not_its_fence) {
    const auto journal = open().journal;
    ASSERT_TRUE(journal->put(make_record(1, 5), start));
    journal->drop(make_record(1, 5).key, 5);
    EXPECT_TRUE(read().records.empty());
    EXPECT_EQ(read().highest_fence, 5u);
    EXPECT_EQ(journal->counts().live_bytes, 0u);
    EXPECT_EQ(open().journal->highest_fence(), 5u) << "also over the next start";
}

TEST_F(JournalTest, drops_an_earlier_grant_but_never_a_later_one) {
    const auto journal = open().journal;
    ASSERT_TRUE(journal->put(make_record(1, 5), start));
    journal->drop(make_record(1, 0).key, 4);
    EXPECT_EQ(read().records.size(), 1u);
    journal->drop(make_record(1, 0).key, 6);
    EXPECT_TRUE(read().records.empty());
    EXPECT_EQ(read().highest_fence, 6u) << "a fence in a drop was given, too";
}

TEST_F(JournalTest, remembers_a_fence_that_has_no_record) {
    open().journal->raise_fence(77);
    const auto opened = open();
    EXPECT_EQ(opened.recovered.highest_fence, 77u);
    opened.journal->raise_fence(76);
    EXPECT_EQ(opened.journal->highest_fence(), 77u);
}

TEST_F(JournalTest, remembers_the_highest_fence_when_its_record_was_replaced_and_rewritten_away) {
    const auto journal = open({.locks_max = 4, .rewrite_from_bytes = 1'024}).journal;
    ASSERT_TRUE(journal->put(make_record(1, 100), start));
    while (journal->counts().rewrites < 3) ASSERT_TRUE(journal->put(make_record(1, 5), start));
    EXPECT_EQ(read().highest_fence, 100u);
}

TEST_F(JournalTest, hands_records_to_the_next_process_and_the_one_after) {
    ASSERT_TRUE(open().journal->put(full_record(), start));
    for (int i = 1; i <= 2; ++i) {
        const JournalOpened next = open({.locks_max = 100}, start + i * 1s);
        EXPECT_EQ(next.recovered.origin, Origin::continued);
        ASSERT_EQ(next.recovered.records.size(), 1u);
        EXPECT_EQ(next.recovered.records[0].left, 30s - i * 1s);
        EXPECT_EQ(next.journal->counts().records, 1u);
    }
}

TEST_F(JournalTest, keeps_only_the_fence_of_another_life_of_the_host) {
    ASSERT_TRUE(open().journal->put(make_record(1, 5), start));
    Host other = host;
    other.boot = "b5f0f5a4-0000-4000-8000-000000000002";
    Host cloned = host;
    cloned.machine = "f123456789abcdef0123456789abcdef";
    for (const Host& of : {other, cloned}) {
        const Recovered found = read(start, of);
        EXPECT_EQ(found.origin, Origin::other_life);
        EXPECT_TRUE(found.records.empty());
        EXPECT_TRUE(found.warnings.empty()) << "a restarted host is nothing unusual";
        EXPECT_EQ(found.highest_fence, 5u);
    }
    const JournalOpened opened = open({.locks_max = 100}, start, other);
    EXPECT_EQ(opened.journal->counts().records, 0u);
    EXPECT_EQ(opened.journal->highest_fence(), 5u);
}

TEST_F(JournalTest, takes_nothing_over_where_the_boot_id_is_unknown) {
    const Host unknown{host.machine, ""};
    ASSERT_TRUE(open({.locks_max = 100}, start, unknown).journal->put(make_record(1, 5), start));
    EXPECT_EQ(read(start, unknown).origin, Origin::other_life);
    EXPECT_TRUE(read(start, unknown).records.empty());
}

TEST_F(JournalTest, accepts_a_host_without_a_machine_id) {
    const Host container{"", host.boot};
    ASSERT_TRUE(open({.locks_max = 100}, start, container).journal->put(make_record(1, 5), start));
    EXPECT_EQ(read(start, container).records.size(), 1u);
}

TEST_F(JournalTest, refuses_above_its_number_of_locks_and_changes_nothing) {
    const auto journal = open({.locks_max = 3}).journal;
    EXPECT_EQ(journal->room(), 3u);
    for (Fence i : {1, 2, 3}) ASSERT_TRUE(journal->put(make_record(i, i), start));
    EXPECT_EQ(journal->room(), 0u);
    EXPECT_FALSE(journal->put(make_record(4, 4), start));
    EXPECT_EQ(read().records.size(), 3u);
    EXPECT_EQ(journal->highest_fence(), 3u) << "a grant that is not told needs no fence";
    EXPECT_EQ(journal->counts().refused, 1u);
    EXPECT_TRUE(journal->put(make_record(3, 5), start)) << "no further lock";
    journal->drop(make_record(1, 0).key, 1);
    EXPECT_EQ(journal->room(), 1u);
    EXPECT_TRUE(journal->put(make_record(4, 6), start));
}

core::GrantRecord longest_record(std::uint64_t number) {
    core::GrantRecord record = make_record(number, number + 1);
    record.key.resource = ResourceName(std::string(64, 'r'));
    record.key.id = LockId(std::to_string(number) + std::string(120, 'i'));
    record.owner = OwnerName(std::string(64, 'o'));
    record.node = NodeName(std::string(64, 'n'));
    record.client = ClientName(std::string(128, 'c'));
    record.holds[0].request = RequestId(std::string(64, 'q'));
    record.holds[0].attempts.resize(core::attempts_per_hold_max, Attempt{1, 2});
    return record;
}

TEST_F(JournalTest, has_room_for_all_locks_with_every_name_at_its_limit_however_they_change) {
    constexpr std::size_t locks = 500;
    const auto journal = open({.locks_max = locks, .rewrite_from_bytes = 4'096}).journal;
    for (int round = 0; round < 20; ++round) {
        for (std::size_t i = 0; i < locks; ++i) {
            core::GrantRecord record = longest_record(100 + i);
            record.version = static_cast<std::uint64_t>(round);
            ASSERT_TRUE(journal->put(record, start)) << "lock " << i << " in round " << round;
        }
    }
    EXPECT_LE(journal->counts().live_bytes, locks * 896);
    EXPECT_GT(journal->counts().rewrites, 2u);
    EXPECT_EQ(read().records.size(), locks);
}

TEST_F(JournalTest, refuses_when_records_use_up_the_bytes_and_goes_on_with_what_it_has) {
    const auto journal = open({.locks_max = 100}).journal;
    core::GrantRecord record = make_record(1, 1);
    record.holds.resize(core::holds_per_lock_max, record.holds[0]);
    std::uint64_t locks = 0;
    while (record.key.id = LockId(std::to_string(locks + 1000)), journal->put(record, start)) {
        ++locks;
    }
    EXPECT_GT(locks, 15u);
    EXPECT_LE(journal->counts().live_bytes, journal->counts().live_bytes_max);
    EXPECT_EQ(read().records.size(), locks);
    for (int i = 0; i < 1'000; ++i) {
        record.key.id = LockId(std::to_string(1000 + i % locks));
        ASSERT_TRUE(journal->put(record, start)) << "a renewal of the same length";
    }
    EXPECT_EQ(read().records.size(), locks);
}

TEST_F(JournalTest, refuses_what_its_format_cannot_hold) {
    const auto journal = open().journal;
    core::GrantRecord no_holds = make_record(1, 1);
    no_holds.holds.clear();
    core::GrantRecord long_name = make_record(1, 1);
    long_name.client = ClientName(std::string(70'000, 'x'));
    core::GrantRecord long_record = make_record(1, 1);
    long_record.client = ClientName(std::string(65'535, 'x'));
    for (const auto& record : {no_holds, long_name, long_record, make_record(1, Fence{1} << 53)}) {
        EXPECT_FALSE(journal->put(record, start));
    }
    EXPECT_TRUE(read().records.empty());
    EXPECT_EQ(journal->highest_fence(), 0u);
}

TEST_F(JournalTest, opens_with_more_records_than_it_may_now_keep) {
    {
        const auto journal = open({.locks_max = 50}).journal;
        for (Fence i = 1; i <= 50; ++i) ASSERT_TRUE(journal->put(make_record(i, i), start));
    }
    const JournalOpened opened = open({.locks_max = 2});
    ASSERT_TRUE(opened.journal);
    EXPECT_EQ(opened.journal->counts().records, 50u);
    EXPECT_EQ(read().records.size(), 50u);
}

// Against a map: random puts and drops over many changes of the half, read back now and then.
TEST_F(JournalTest, agrees_with_a_map_over_random_changes) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    auto opened = open({.locks_max = 64, .rewrite_from_bytes = 8'192});
    std::map<LockKey, core::GrantRecord> expected;
    for (Fence fence = 1; fence <= 20'000; ++fence) {
        core::GrantRecord record = make_record(random() % 64, fence);
        if (random() % 3 != 0) {
            record.holds.resize(1 + random() % 3, record.holds[0]);
            ASSERT_TRUE(opened.journal->put(record, start));
            expected[record.key] = record;
        } else if (const auto found = expected.find(record.key); found != expected.end()) {
            opened.journal->drop(record.key, found->second.fence);
            expected.erase(found);
        }
        if (random() % 500 != 0) continue;
        const Recovered found = read();
        ASSERT_TRUE(found.warnings.empty()) << found.warnings[0];
        ASSERT_EQ(found.records.size(), expected.size());
        for (const auto& kept : found.records) ASSERT_EQ(kept, expected.at(kept.key));
        ASSERT_EQ(opened.journal->counts().records, expected.size());
    }
    EXPECT_GT(opened.journal->counts().rewrites, 10u);
}

TEST_F(JournalTest, stays_small_while_few_locks_are_held) {
    const auto journal = open({.locks_max = 100'000}).journal;
    for (Fence fence = 1; fence <= 100'000; ++fence) {
        ASSERT_TRUE(journal->put(make_record(fence, fence), start));
        journal->drop(make_record(fence, fence).key, fence);
    }
    struct stat is {};
    ASSERT_EQ(::stat(file.c_str(), &is), 0);
    EXPECT_LE(is.st_blocks * 512, 5 << 20) << "two halves of little more than rewrite_from_bytes";
}

TEST_F(JournalTest, works_without_a_file_where_the_folder_takes_none) {
    std::filesystem::create_directory(directory.path() + "/journal.new");
    const JournalOpened opened = open();
    EXPECT_FALSE(opened.journal);
    ASSERT_EQ(opened.recovered.warnings.size(), 1u);
    EXPECT_NE(opened.recovered.warnings[0].find("no journal"), std::string::npos);
}

TEST_F(JournalTest, neither_follows_links_nor_waits_for_a_pipe) {
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    const JournalOpened opened = open();
    EXPECT_EQ(opened.recovered.origin, Origin::unusable);
    EXPECT_EQ(opened.recovered.warnings.size(), 1u);
    EXPECT_TRUE(opened.journal) << "the new file takes its place";
}

}  // namespace
}  // namespace latchd::journal::test
