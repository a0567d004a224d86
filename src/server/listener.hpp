// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <latchd/server/options.hpp>

namespace boost::asio {
class io_context;
}

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

void set_tcp_options(int descriptor, const TcpOptions& options);

// Accepts on all addresses that one endpoint stands for ("localhost" may be two). Runs on through
// lack of descriptors: a spare one lets it refuse a client by word instead of leaving it waiting,
// and what the kernel lacks is waited for.
class Listener {
public:
    using OnAccept = std::function<void(Accepted&&)>;

    // Binds and listens; throws std::runtime_error that names the address and the reason.
    Listener(boost::asio::io_context& context, ListenerOptions options, OnAccept on_accept);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    void start();
    // Closes the sockets and removes the Unix socket's file, if it is still ours.
    void stop();

    [[nodiscard]] const std::vector<Endpoint>& endpoints() const noexcept;

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace latchd::server
