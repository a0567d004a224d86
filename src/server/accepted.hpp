// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/server/options.hpp>

#include <string>
#include <utility>

namespace latchd::server {

// A file descriptor that is closed with its owner.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor();

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
    int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_ = -1;
};

// A connection as it came in.
struct Accepted {
    Descriptor descriptor;  // non-blocking
    int family = 0;
    std::string peer;   // "127.0.0.1:40412", "unix:/run/latchd.sock"
    std::string local;  // the listener's own
    std::size_t clients_max = 0;
    Duration idle_timeout{};
};

}  // namespace latchd::server
