// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

// A file system of a process' own, which a test can fill.
namespace latchd::journal::test {

inline constexpr int no_mounts = 77;  // what a child ends with where it may not mount any

inline bool write_text(const char* path, const std::string& text) {
    std::ofstream file(path);
    return static_cast<bool>(file << text << std::flush);
}

// 1 MiB of tmpfs, which nobody else sees, and which is gone with this process.
inline bool mount_own_file_system(const std::string& at) {
    const std::string user = "0 " + std::to_string(::geteuid()) + " 1";
    const std::string group = "0 " + std::to_string(::getegid()) + " 1";
    if (::unshare(CLONE_NEWNS) != 0) {
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
        if (!write_text("/proc/self/setgroups", "deny") ||
            !write_text("/proc/self/uid_map", user) || !write_text("/proc/self/gid_map", group)) {
            return false;
        }
    }
    // Private first, or the mount would be seen outside.
    return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", at.c_str(), "tmpfs", 0, "size=1m") == 0;
}

inline bool remount_read_only(const std::string& at) {
    return ::mount("none", at.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
}

// To the last page.
inline void fill_up(const std::string& folder) {
    std::ofstream file(folder + "/filler");
    while (file << std::string(4'096, 'x') << std::flush) {
    }
}

// The exit code of a child that runs this; -1: it was killed.
template <class Run>
int code_of_child(const Run& run) {
    const pid_t child = ::fork();
    if (child == 0) {
        run();
        ::_exit(1);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace latchd::journal::test
