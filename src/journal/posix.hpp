// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/journal/recovered.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace latchd::journal {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor();

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_ = -1;
};

// A file's bytes in memory, shared with the file.
class Mapping {
public:
    Mapping() = default;
    // On failure bytes() is empty and errno says why.
    Mapping(int fd, std::size_t size, bool writable) noexcept;
    Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping();

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

private:
    std::span<std::byte> bytes_;
};

// "what: No such file or directory"; the error is errno unless given.
[[nodiscard]] std::string failed(std::string_view what);
[[nodiscard]] std::string failed(std::string_view what, int error);

// A regular file of this folder; errno says why not. EINVAL: it is something else.
[[nodiscard]] Descriptor open_regular(int folder, const char* name, int flags) noexcept;

// Up to `bytes_max`; nothing: errno says why.
[[nodiscard]] std::optional<std::string> read_all(int fd, std::size_t bytes_max);
[[nodiscard]] bool write_all(int fd, std::string_view text) noexcept;

[[nodiscard]] std::optional<FileId> file_id(const Descriptor& file) noexcept;

}  // namespace latchd::journal
