// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "processes.hpp"

#include <ctime>
#include <fstream>
#include <string>

namespace latchd::load {

std::int64_t cpu_ns(int pid) noexcept {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::uint64_t private_bytes(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
    std::string word;
    while (file >> word) {
        std::uint64_t kb = 0;
        if (word == "Anonymous:" && file >> kb) return kb * 1024;
    }
    return 0;
}

}  // namespace latchd::load
