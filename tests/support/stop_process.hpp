// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <stdexcept>
#include <sys/wait.h>

namespace latchd::testing {

// SIGSTOP to a child; returns once all its threads stand still. kill(2) returns sooner: a thread
// that runs on another processor may still answer what a test sends next. Throws
// std::runtime_error where the child has ended.
inline void stop_process(pid_t pid) {
    siginfo_t info{};
    const bool is_done =
        ::kill(pid, SIGSTOP) == 0 &&
        ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOWAIT) == 0 &&
        info.si_code == CLD_STOPPED;
    if (!is_done) throw std::runtime_error("the process that was to stand still has ended");
}

}  // namespace latchd::testing
