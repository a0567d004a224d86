// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "posix.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace latchd::journal {

Descriptor::~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
}

Mapping::Mapping(int fd, std::size_t size, bool writable) noexcept {
    const int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* at = ::mmap(nullptr, size, access, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) bytes_ = {static_cast<std::byte*>(at), size};
}

Mapping::~Mapping() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

std::string failed(std::string_view what, int error) {
    return std::string(what) + ": " + std::generic_category().message(error);
}

std::string failed(std::string_view what) { return failed(what, errno); }

std::optional<FileId> file_id(const Descriptor& file) noexcept {
    struct statx is {};
    if (::statx(file.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &is) != 0) return {};
    FileId id{is.stx_ino, 0};
    if ((is.stx_mask & STATX_BTIME) != 0) {
        id.born_ns =
            static_cast<std::uint64_t>(is.stx_btime.tv_sec) * 1'000'000'000 + is.stx_btime.tv_nsec;
    }
    return id;
}

Descriptor open_regular(int folder, const char* name, int flags) noexcept {
    // Not blocking, or a FIFO of that name would hang the start.
    Descriptor file(::openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    struct stat is {};
    if (!file.is_open() || ::fstat(file.get(), &is) != 0) return {};
    if (!S_ISREG(is.st_mode)) {
        errno = EINVAL;
        return {};
    }
    return file;
}

std::optional<std::string> read_all(int fd, std::size_t bytes_max) {
    std::string text;
    char buffer[4096];
    while (text.size() < bytes_max) {
        const ssize_t got = ::read(fd, buffer, std::min(sizeof buffer, bytes_max - text.size()));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) break;
        text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
}

bool write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t put = ::write(fd, text.data(), text.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
}

}  // namespace latchd::journal
