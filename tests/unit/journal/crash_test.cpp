// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "own_file_system.hpp"
#include "support.hpp"

#include <csignal>
#include <fcntl.h>
#include <map>
#include <optional>
#include <random>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace latchd::journal::test {
namespace {

constexpr JournalOptions small{.locks_max = 64, .rewrite_from_bytes = 8'192};

// What the child does; the same from the same seed.
struct Change {
    enum class Kind { put, drop, bar } kind{};
    std::uint64_t lock = 0;
    Fence fence = 0;
};

class Script {
public:
    Script(unsigned seed, std::uint64_t locks) : random_(seed), locks_(locks) {}

    Change next() {
        using Kind = Change::Kind;
        constexpr Kind kinds[] = {
            Kind::put, Kind::put, Kind::put, Kind::drop, Kind::drop, Kind::bar};
        const Kind kind = kinds[random_() % std::size(kinds)];
        Change change{kind, random_() % locks_, ++fence_};
        if (kind == Kind::bar) return change;
        if (kind == Kind::drop) change.fence = fence_of_[change.lock];
        fence_of_[change.lock] = change.fence;
        return change;
    }

private:
    std::mt19937 random_;
    std::uint64_t locks_;
    Fence fence_ = 0;
    std::map<std::uint64_t, Fence> fence_of_;
};

// One request id a lock, barred for longer each time.
core::CancelledRequest bar_of(std::uint64_t lock, Fence number) {
    return make_bar(lock, "wish", 60s + Duration(number));
}

bool carry_out(Journal& journal, const Change& change) {
    const core::GrantRecord record = make_record(change.lock, change.fence);
    if (change.kind == Change::Kind::put) return journal.put(record, start);
    if (change.kind == Change::Kind::bar) {
        return journal.bar(bar_of(change.lock, change.fence), start);
    }
    journal.drop(record.key, change.fence);
    return true;
}

// What must be found after so many changes.
struct Expected {
    std::map<std::uint64_t, Fence> held;
    std::map<std::uint64_t, Fence> barred;
    Fence highest = 0;

    void apply(const Change& change) {
        if (change.kind == Change::Kind::bar) {
            barred[change.lock] = change.fence;
            return;
        }
        highest = std::max(highest, change.fence);
        if (change.kind == Change::Kind::put) {
            held[change.lock] = change.fence;
        } else {
            held.erase(change.lock);
        }
    }
    [[nodiscard]] bool is(const Recovered& found) const {
        std::map<std::uint64_t, Fence> locks;
        for (const auto& record : found.records) {
            const std::uint64_t lock = std::stoull(record.key.id.str());
            if (record != make_record(lock, record.fence)) return false;
            locks[lock] = record.fence;
        }
        std::map<std::uint64_t, Fence> bars;  // of one that was replaced there may be two
        for (const auto& bar : found.cancelled) {
            const std::uint64_t lock = std::stoull(bar.key.id.str());
            const auto number = static_cast<Fence>((bar.left - 60s).count());
            if (bar != bar_of(lock, number)) return false;
            bars[lock] = std::max(bars[lock], number);
        }
        return found.warnings.empty() && locks == held && bars == barred &&
               found.highest_fence >= highest;
    }
};

// In the child: no gtest, no return.
[[noreturn]] void change_for_ever(const std::string& base, unsigned seed, int acknowledge) {
    auto opened = NodeDirectory::open(base, NodeName("node"), NodeDirectory::Purpose::runtime);
    if (!opened.directory) ::_exit(1);
    const auto journal = Journal::open(*opened.directory, host, small, start).journal;
    Script script(seed, 64);
    for (std::uint64_t done = 1;; ++done) {
        if (!carry_out(*journal, script.next())) ::_exit(2);
        if (::write(acknowledge, &done, sizeof done) != sizeof done) ::_exit(3);
    }
}

// Reads acknowledgements until there are `wanted` or the writer is gone; returns the last.
std::uint64_t read_acknowledged(int from, std::uint64_t wanted) {
    std::uint64_t last = 0;
    while (last < wanted && ::read(from, &last, sizeof last) == sizeof last) {
    }
    return last;
}

TEST(JournalCrash, keeps_what_was_acknowledged_before_kill_9_at_a_random_moment) {
    const unsigned seed = std::random_device{}();
    std::mt19937 random(seed);
    for (int round = 0; round < 20; ++round) {
        const auto script_seed = static_cast<unsigned>(random());
        const std::uint64_t wanted = 1 + random() % 20'000;
        SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
        const TemporaryFolder folder;
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::close(ends[0]);
            change_for_ever(folder.path(), script_seed, ends[1]);
        }
        ::close(ends[1]);
        ASSERT_EQ(read_acknowledged(ends[0], wanted), wanted);
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status)) << "exit " << WEXITSTATUS(status);
        const std::uint64_t done = std::max(wanted, read_acknowledged(ends[0], ~0ull));
        ::close(ends[0]);

        Script script(script_seed, 64);
        Expected expected;
        for (std::uint64_t i = 0; i < done; ++i) expected.apply(script.next());
        Expected one_more = expected;
        one_more.apply(script.next());
        const NodeDirectory directory = open_directory(folder.path());
        const JournalOpened opened = Journal::open(directory, host, small, start);
        EXPECT_TRUE(expected.is(opened.recovered) || one_more.is(opened.recovered))
            << "after " << done << " changes";
        EXPECT_EQ(opened.journal->counts().records, opened.recovered.records.size());
    }
}

#if defined(__has_feature)
#define LATCHD_HAS_FEATURE(name) __has_feature(name)
#else
#define LATCHD_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    LATCHD_HAS_FEATURE(address_sanitizer) || LATCHD_HAS_FEATURE(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// The child stops between any two instructions; what a kill there would leave is the mapping as
// it is then. Every store is covered, not those alone that a test thought of.
constexpr int stepped_changes = 40;
constexpr std::uint64_t stepped_locks = 2;

[[noreturn]] void change_under_trace(const std::string& base, volatile std::uint32_t* done) {
    auto opened = NodeDirectory::open(base, NodeName("node"), NodeDirectory::Purpose::runtime);
    if (!opened.directory) ::_exit(1);
    const auto journal =
        Journal::open(*opened.directory, host, {.locks_max = 4, .rewrite_from_bytes = 512}, start)
            .journal;
    Script script(5, stepped_locks);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(no_mounts);
    ::raise(SIGSTOP);
    for (int i = 0; i < stepped_changes; ++i) {
        if (!carry_out(*journal, script.next())) ::_exit(2);
        *done = *done + 1;
    }
    ::_exit(journal->counts().rewrites >= 3 ? 0 : 4);
}

class SteppedCrash : public testing::Test {
protected:
    void map(const std::string& path) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_GE(file, 0);
        struct stat is {};
        ASSERT_EQ(::fstat(file, &is), 0);
        size_ = static_cast<std::size_t>(is.st_size);
        void* const at = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
        ::close(file);
        ASSERT_NE(at, MAP_FAILED);
        bytes_ = static_cast<const std::byte*>(at);
    }
    void SetUp() override {
        // On one processor, or most of the time goes into waking the other one.
        ASSERT_EQ(::sched_getaffinity(0, sizeof former_, &former_), 0);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    }
    void TearDown() override {
        ::sched_setaffinity(0, sizeof former_, &former_);
        if (bytes_ != nullptr) ::munmap(const_cast<std::byte*>(bytes_), size_);
    }
    [[nodiscard]] Recovered read() const {
        return read_journal(std::span(bytes_, size_), host, start);
    }

    const std::byte* bytes_ = nullptr;
    std::size_t size_ = 0;

private:
    cpu_set_t former_{};
};

TEST_F(SteppedCrash, leaves_a_readable_journal_between_any_two_instructions) {
    if (sanitized)
        GTEST_SKIP() << "a minute in the sanitizer's own code, which stores nothing here";
    const TemporaryFolder folder;
    void* const shared = ::mmap(
        nullptr, sizeof(std::uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    auto* const done = static_cast<volatile std::uint32_t*>(shared);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) change_under_trace(folder.path(), done);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "ptrace is forbidden here";
    ASSERT_TRUE(WIFSTOPPED(status));
    ASSERT_NO_FATAL_FAILURE(map(folder.path() + "/node/journal"));

    std::vector<Expected> expected(1);
    Script script(5, stepped_locks);
    for (int i = 0; i <= stepped_changes; ++i) {
        expected.push_back(expected.back());
        expected.back().apply(script.next());
    }
    std::uint64_t steps = 0;
    for (; WIFSTOPPED(status); ++steps) {
        const Recovered found = read();
        const std::uint32_t before = *done;
        ASSERT_TRUE(expected[before].is(found) || expected[before + 1].is(found))
            << "in change " << before << " after " << steps << " instructions";
        ASSERT_EQ(::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr), 0);
        ASSERT_EQ(::waitpid(child, &status, 0), child);
    }
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(*done, static_cast<std::uint32_t>(stepped_changes));
    EXPECT_GT(steps, 5'000u);
    RecordProperty("instructions", std::to_string(steps));
    ::munmap(shared, sizeof(std::uint32_t));
}

// A hole that is touched on a full tmpfs kills the process.
[[noreturn]] void fill_own_file_system(const std::string& base) {
    if (!mount_own_file_system(base)) ::_exit(no_mounts);
    auto opened = NodeDirectory::open(base, NodeName("node"), NodeDirectory::Purpose::runtime);
    if (!opened.directory) ::_exit(3);
    const auto journal =
        Journal::open(*opened.directory, host, {.locks_max = 10'000}, start).journal;
    if (!journal) ::_exit(1);
    std::uint64_t locks = 0;
    while (locks < 10'000 && journal->put(make_record(locks, locks + 1), start)) ++locks;
    const bool refused_in_time = locks > 1'000 && locks < 10'000;
    for (std::uint64_t lock = 0; lock < locks; lock += 2) {
        journal->drop(make_record(lock, 0).key, lock + 1);
    }
    const std::size_t found =
        read_journal(read_file(base + "/node/journal"), host, start).records.size();
    ::_exit(refused_in_time && found == locks / 2 ? 0 : 2);
}

TEST(JournalRoom, refuses_a_put_where_the_file_system_is_full_and_still_drops) {
    const TemporaryFolder folder;
    const int code = code_of_child([&] { fill_own_file_system(folder.path()); });
    if (code == no_mounts) GTEST_SKIP() << "no mounts here";
    EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace latchd::journal::test
