// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "posix.hpp"

#include <latchd/journal/directory.hpp>

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

// A base may be the world's temporary folder, where anyone can make a folder of any name before
// us. So a base that others may rename things in is not used, unless it is sticky, and neither is
// a node's folder that is not our own.

namespace latchd::journal {
namespace {

const char* lock_name(NodeDirectory::Purpose purpose) noexcept {
    return purpose == NodeDirectory::Purpose::runtime ? "runtime.lock" : "state.lock";
}

// As mkdir -p; what is there already is left alone. Why the first that fails does, or nothing: what
// is opened then fails for want of it, which would name the wrong folder and the wrong reason.
std::string make_folders(const std::string& path) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string folder = path.substr(0, end);
        if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
            return failed(folder + " can't be made");
        }
        if (end == std::string::npos) return {};
    }
}

bool is_owned(const struct stat& is) noexcept { return is.st_uid == ::geteuid() || is.st_uid == 0; }

bool is_safe_base(const struct stat& is) noexcept {
    return (is.st_mode & S_IWOTH) == 0 || (is.st_mode & S_ISVTX) != 0;
}

bool is_safe_folder(const struct stat& is) noexcept {
    return is.st_uid == ::geteuid() && (is.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

DirectoryOpened warn(std::string what) {
    DirectoryOpened opened;
    opened.warning = std::move(what);
    return opened;
}

DirectoryOpened refuse(const std::string& path, const NodeName& node, int lock) {
    const auto text = read_all(lock, 32);
    const std::string pid = text ? text->substr(0, text->find('\n')) : std::string();
    DirectoryOpened opened;
    opened.refusal = path + ": taken by process " + (pid.empty() ? "(unknown)" : pid) +
                     ", which runs a node of the name '" + node.str() + "'";
    return opened;
}

bool is_still_named(int folder, const char* name, int file) noexcept {
    struct stat named {};
    struct stat opened {};
    return ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           ::fstat(file, &opened) == 0 && named.st_ino == opened.st_ino &&
           named.st_dev == opened.st_dev;
}

// For people only: a full disk may keep it from being written. Over what is there, whose room it
// then has.
void write_pid(int lock) noexcept {
    const std::string text = std::to_string(::getpid()) + "\n";
    if (write_all(lock, text)) (void)::ftruncate(lock, static_cast<off_t>(text.size()));
}

// On a file system that became read-only what is there can be read, and no other process may be
// at it.
Descriptor open_lock(int folder, const char* name) noexcept {
    Descriptor lock = open_regular(folder, name, O_RDWR | O_CREAT);
    if (!lock.is_open() && errno == EROFS) return open_regular(folder, name, O_RDONLY);
    return lock;
}

}  // namespace

std::string folder_name(const NodeName& node) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string name;
    for (const char c : node.view()) {
        const bool leading_dot = name.empty() && c == '.';
        if (plain.find(c) != std::string_view::npos && !leading_dot) {
            name += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        name += '%';
        name += digits[byte >> 4];
        name += digits[byte & 0xf];
    }
    return name;
}

DirectoryOpened NodeDirectory::open(const std::string& base,
                                    const NodeName& node,
                                    Purpose purpose) {
    const std::string name = folder_name(node);
    if (name.empty() || base.empty()) return warn("no folder: the node has no name or no base");
    const std::string path = base + "/" + name;
    const std::string unmade = make_folders(base);
    const Descriptor parent(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat is {};
    if (!parent.is_open() || ::fstat(parent.get(), &is) != 0) {
        return warn(unmade.empty() ? failed(base) : unmade);
    }
    if (!is_owned(is)) return warn(base + ": not used, it belongs to another user");
    if (!is_safe_base(is)) return warn(base + ": not used, others may write in it");
    if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
        return warn(failed(path));
    }
    Descriptor folder(
        ::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.is_open() || ::fstat(folder.get(), &is) != 0) return warn(failed(path));
    if (!is_safe_folder(is)) return warn(path + ": not used, it is not this user's alone");

    // A lock file that is removed between our opening and locking it would lock nothing.
    for (int tries = 0; tries < 3; ++tries) {
        Descriptor lock = open_lock(folder.get(), lock_name(purpose));
        if (!lock.is_open()) return warn(failed(path + "/" + lock_name(purpose)));
        if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) return refuse(path, node, lock.get());
            return warn(failed(path + "/" + lock_name(purpose)));
        }
        if (!is_still_named(folder.get(), lock_name(purpose), lock.get())) continue;
        write_pid(lock.get());
        // For cleaners of temporary folders only: shared, since a base may serve both purposes.
        ::flock(folder.get(), LOCK_SH | LOCK_NB);
        DirectoryOpened opened;
        opened.directory = NodeDirectory(folder.release(), lock.release(), path);
        return opened;
    }
    return warn(path + ": its lock file keeps disappearing");
}

NodeDirectory::NodeDirectory(int folder, int lock, std::string path) noexcept
    : folder_(folder), lock_(lock), path_(std::move(path)) {}

NodeDirectory::NodeDirectory(NodeDirectory&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)),
      lock_(std::exchange(other.lock_, -1)),
      path_(std::move(other.path_)) {}

NodeDirectory& NodeDirectory::operator=(NodeDirectory&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(lock_, other.lock_);
    std::swap(path_, other.path_);
    return *this;
}

NodeDirectory::~NodeDirectory() {
    if (folder_ >= 0) ::close(folder_);
    if (lock_ >= 0) ::close(lock_);
}

}  // namespace latchd::journal
