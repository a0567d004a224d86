// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Microseconds for a put and the drop of its record, with so many other locks held meanwhile; and
// the longest single put (processor time), where a change of halves would show. Reports, judges
// nothing.
// The folder matters: name one on tmpfs, as the runtime directory is (default: /dev/shm).

#include <latchd/journal/journal.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <time.h>
#include <vector>

namespace {

using namespace latchd;
using SteadyClock = std::chrono::steady_clock;

constexpr int rounds = 7;
constexpr std::size_t pairs_per_round = 200'000;
const Time now{std::chrono::seconds(1'000)};

core::GrantRecord make_record(std::size_t number) {
    core::GrantRecord record;
    record.key = {ResourceName("order:settle"), LockId(std::to_string(number))};
    record.holds = {{Token("tokenABCDEFGHIJKLMNOPQ"),
                     RequestId("requestABCDEFGHIJKLMNO"),
                     {{7, 1}},
                     std::chrono::seconds(15)}};
    record.fence = make_fence(1, 1);
    record.left = record.ttl = std::chrono::seconds(30);
    record.node = NodeName("web-1.example");
    record.client = ClientName("127.0.0.1:40000 worker");
    return record;
}

double thread_microseconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

void measure(const std::string& base, std::size_t held) {
    auto directory = journal::NodeDirectory::open(
        base, NodeName("bench"), journal::NodeDirectory::Purpose::runtime);
    if (!directory.directory) std::exit(1);
    const auto journal =
        journal::Journal::open(
            *directory.directory, {"bench", "bench"}, {.locks_max = held + 1'000}, now)
            .journal;
    if (!journal) std::exit(1);
    std::vector<core::GrantRecord> records;
    for (std::size_t i = 0; i < 1'000; ++i) records.push_back(make_record(i));
    for (std::size_t i = 0; i < held; ++i) {
        if (!journal->put(make_record(i + 1'000), now)) std::exit(1);
    }
    double best = 1e9;
    double longest = 0;
    Fence fence = make_fence(1, 1);
    for (int round = 0; round < rounds; ++round) {
        const auto begin = SteadyClock::now();
        for (std::size_t i = 0; i < pairs_per_round; ++i) {
            core::GrantRecord& record = records[i % records.size()];
            record.fence = ++fence;
            if (!journal->put(record, now)) std::exit(1);
            journal->drop(record.key, fence);
        }
        const std::chrono::duration<double, std::micro> took = SteadyClock::now() - begin;
        best = std::min(best, took.count() / pairs_per_round);
    }
    for (std::size_t i = 0; i < pairs_per_round; ++i) {
        core::GrantRecord& record = records[i % records.size()];
        const double begin = thread_microseconds();
        if (!journal->put(record, now)) std::exit(1);
        longest = std::max(longest, thread_microseconds() - begin);
    }
    std::printf("%7zu locks held: put + drop %5.2f us, longest put %7.1f us, %llu rewrites\n",
                held,
                best,
                longest,
                static_cast<unsigned long long>(journal->counts().rewrites));
}

}  // namespace

int main(int argc, char** argv) {
    std::string base = std::string(argc > 1 ? argv[1] : "/dev/shm") + "/latchd-bench-XXXXXX";
    if (::mkdtemp(base.data()) == nullptr) return 1;
    for (const std::size_t held : {0, 1'000, 10'000, 100'000}) measure(base, held);
    std::filesystem::remove_all(base);
}
