// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "process_numbers.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

// jemalloc's, or a sanitizer's own allocator's; absent where the program is linked without it.
extern "C" int mallctl(const char* name,
                       void* old,
                       std::size_t* length,
                       void* now,
                       std::size_t size) __attribute__((weak));
extern "C" std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace latchd::server {
namespace {

// glibc's own figures must not be asked for where another allocator has taken its place: its heap
// was never made, and two threads that ask for the first time end the process.
std::uint64_t allocated_bytes() {
    if (&__sanitizer_get_current_allocated_bytes != nullptr) {
        return __sanitizer_get_current_allocated_bytes();
    }
    if (mallctl == nullptr) return ::mallinfo2().uordblks;
    std::uint64_t epoch = 1;  // any: the figures are of the last time that this was written
    (void)mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);
    std::size_t bytes = 0;
    std::size_t length = sizeof bytes;
    return mallctl("stats.allocated", &bytes, &length, nullptr, 0) == 0 ? bytes : 0;
}

std::uint64_t usec_of(const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000u +
           static_cast<std::uint64_t>(time.tv_usec);
}

std::uint64_t resident_bytes() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"),
                                                               &std::fclose);
    unsigned long total = 0;
    unsigned long resident = 0;
    if (!file || std::fscanf(file.get(), "%lu %lu", &total, &resident) != 2) return 0;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void read_process_numbers(command::ProcessInfo& info) {
    info.pid = ::getpid();
    utsname name{};
    if (::uname(&name) == 0) {
        info.os = std::string(name.sysname) + " " + name.release + " " + name.machine;
    }
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    if (length > 0) info.executable.assign(path.data(), static_cast<std::size_t>(length));
    info.supervised = std::getenv("NOTIFY_SOCKET") != nullptr ? "systemd" : "no";

    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0) {
        info.cpu_user_usec = usec_of(usage.ru_utime);
        info.cpu_system_usec = usec_of(usage.ru_stime);
        info.memory_peak = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024u;
    }
    info.memory_rss = resident_bytes();
    info.memory_used = allocated_bytes();
}

std::int64_t wall_clock_usec() noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace latchd::server
