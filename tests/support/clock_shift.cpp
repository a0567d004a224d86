// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Moves the clocks of one process, while it runs (LD_PRELOAD). The file that LATCHD_TEST_CLOCK
// names holds three 64-bit offsets in nanoseconds, native byte order, which a test changes by
// writing to it: CLOCK_REALTIME (also gettimeofday and time), CLOCK_MONOTONIC, CLOCK_BOOTTIME.
// tests/support/clock_shift.py is the other side.
//
// Waits until a moment of the wall clock (pthread_cond_timedwait, sem_timedwait) are translated
// back, or a shifted mariadbd would spin or sleep for as long as the shift is.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::time_t surely_wall = 1'000'000'000;  // no uptime is 30 years

struct Offsets {
    volatile std::int64_t realtime;
    volatile std::int64_t monotonic;
    volatile std::int64_t boottime;
};

const Offsets* map_offsets() {
    static const Offsets none{};
    const char* path = std::getenv("LATCHD_TEST_CLOCK");
    if (path == nullptr) return &none;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) std::abort();
    void* data = mmap(nullptr, sizeof(Offsets), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (data == MAP_FAILED) std::abort();
    return static_cast<const Offsets*>(data);
}

const Offsets& offsets() {
    static const Offsets* const mapped = map_offsets();
    return *mapped;
}

std::int64_t offset_of(clockid_t clock) {
    switch (clock) {
        case CLOCK_REALTIME:
        case CLOCK_REALTIME_COARSE:
            return offsets().realtime;
        case CLOCK_MONOTONIC:
        case CLOCK_MONOTONIC_COARSE:
        case CLOCK_MONOTONIC_RAW:
            return offsets().monotonic;
        case CLOCK_BOOTTIME:
            return offsets().boottime;
        default:
            return 0;
    }
}

timespec plus(timespec at, std::int64_t nanoseconds) {
    const std::int64_t sum = at.tv_nsec + nanoseconds;
    const std::int64_t rest = ((sum % second) + second) % second;
    at.tv_sec += static_cast<std::time_t>((sum - rest) / second);
    at.tv_nsec = static_cast<long>(rest);
    return at;
}

template <class Function>
Function* next(const char* name, const char* version = nullptr) {
    void* found = version == nullptr ? dlsym(RTLD_NEXT, name) : dlvsym(RTLD_NEXT, name, version);
    if (found == nullptr) std::abort();
    return reinterpret_cast<Function*>(found);
}

// What the process believes to be `at` of the wall clock, in the kernel's.
timespec true_wall(const timespec& at) {
    return at.tv_sec > surely_wall ? plus(at, -offsets().realtime) : at;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* at) noexcept {
    static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
    const int result = real(clock, at);
    if (result == 0) *at = plus(*at, offset_of(clock));
    return result;
}

int gettimeofday(timeval* at, void* /*zone*/) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    *at = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

std::time_t time(std::time_t* at) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (at != nullptr) *at = now.tv_sec;
    return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* at) {
    static auto* const real = next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(
        "pthread_cond_timedwait", "GLIBC_2.3.2");
    const timespec until = true_wall(*at);
    return real(condition, mutex, &until);
}

int sem_timedwait(sem_t* semaphore, const timespec* at) {
    static auto* const real = next<int(sem_t*, const timespec*)>("sem_timedwait");
    const timespec until = true_wall(*at);
    return real(semaphore, &until);
}

}  // extern "C"
