// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sched.h>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace latchd::test {

// How long the machine has kept this process and its children from running since this was made:
// what a test that measures time may add to its limit on a machine that has other things to do. A
// thread on each processor sleeps and looks at the clock, so one that was taken away shows; and for
// each process the kernel says for how long the thread that waited longest could have run and was
// not let. What waits of its own accord or was stopped has no part in it. See stalls.py.
class Stalls {
public:
    using Nanoseconds = std::chrono::nanoseconds;

    Stalls() : before_(delays()), began_(Clock::now()) {
        cpu_set_t mine;
        CPU_ZERO(&mine);
        (void)::sched_getaffinity(0, sizeof mine, &mine);
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &mine)) sleepers_.emplace_back(cpu, began_);
        }
        for (Sleeper& sleeper : sleepers_) {
            sleeper.thread = std::thread([this, &sleeper] { measure(sleeper); });
        }
    }
    Stalls(const Stalls&) = delete;
    Stalls& operator=(const Stalls&) = delete;
    ~Stalls() {
        {
            const std::scoped_lock lock(mutex_);
            is_over_ = true;
        }
        over_.notify_all();
        for (Sleeper& sleeper : sleepers_) sleeper.thread.join();
    }

    // With what a thread that sleeps just now is late already.
    [[nodiscard]] Nanoseconds sum() const {
        const auto after = delays();
        const std::scoped_lock lock(mutex_);
        const Clock::time_point now = Clock::now();
        Nanoseconds sum{};
        for (const Sleeper& sleeper : sleepers_) {
            sum = std::max(sum, sleeper.late + std::max(now - sleeper.looked - step, {}));
        }
        for (const auto& [process, threads] : after) {
            Nanoseconds longest{};
            for (const auto& [thread, waited] : threads) {
                longest = std::max(longest, waited - before(process, thread));
            }
            sum += longest;
        }
        return std::min<Nanoseconds>(sum, now - began_);
    }

private:
    using Clock = std::chrono::steady_clock;
    using OfThreads = std::map<std::string, Nanoseconds>;

    struct Sleeper {
        Sleeper(int on, Clock::time_point since) : cpu(on), looked(since) {}
        int cpu;
        Clock::time_point looked;
        Nanoseconds late{};
        std::thread thread;
    };

    static constexpr Clock::duration step = std::chrono::milliseconds(5);

    // For how long each thread of this process and of its children waited for a processor.
    static std::map<std::string, OfThreads> delays() {
        std::map<std::string, OfThreads> all;
        for (const std::filesystem::path& process : entries("/proc")) {
            const std::string name = process.filename();
            if (name == std::to_string(::getpid()) || parent_of(name) == ::getpid()) {
                all[name] = delays_of(process);
            }
        }
        return all;
    }

    // 0: there is none, or it is no process.
    static pid_t parent_of(const std::string& process) {
        std::string line;
        std::getline(std::ifstream("/proc/" + process + "/stat"), line);
        const std::size_t name_end = line.rfind(')');  // then the state, and the parent
        if (name_end == std::string::npos || name_end + 4 > line.size()) return 0;
        return static_cast<pid_t>(std::atoi(line.c_str() + name_end + 4));
    }

    static OfThreads delays_of(const std::filesystem::path& process) {
        OfThreads all;
        for (const std::filesystem::path& thread : entries(process / "task")) {
            std::int64_t ran = 0;
            std::int64_t waited = 0;
            std::ifstream(thread / "schedstat") >> ran >> waited;
            all[thread.filename()] = Nanoseconds(waited);
        }
        return all;
    }

    // As far as there are any: what is listed may end meanwhile.
    static std::vector<std::filesystem::path> entries(const std::filesystem::path& folder) {
        std::vector<std::filesystem::path> all;
        std::error_code ended;
        std::filesystem::directory_iterator at(folder, ended);
        for (; !ended && at != std::filesystem::directory_iterator(); at.increment(ended)) {
            all.push_back(at->path());
        }
        return all;
    }

    [[nodiscard]] Nanoseconds before(const std::string& process, const std::string& thread) const {
        const auto of_process = before_.find(process);
        if (of_process == before_.end()) return {};
        const auto of_thread = of_process->second.find(thread);
        return of_thread == of_process->second.end() ? Nanoseconds{} : of_thread->second;
    }

    void measure(Sleeper& sleeper) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sleeper.cpu, &one);
        (void)::sched_setaffinity(0, sizeof one, &one);  // else on any processor
        std::unique_lock lock(mutex_);
        while (!over_.wait_until(lock, sleeper.looked + step, [this] { return is_over_; })) {
            const Clock::time_point now = Clock::now();
            sleeper.late += now - sleeper.looked - step;
            sleeper.looked = now;
        }
    }

    mutable std::mutex mutex_;
    std::condition_variable over_;
    bool is_over_ = false;
    std::map<std::string, OfThreads> before_;
    Clock::time_point began_;
    std::vector<Sleeper> sleepers_;
};

}  // namespace latchd::test
