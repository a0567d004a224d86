// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "processes.hpp"
#include "run.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace latchd::load {
namespace {

constexpr timeval patience{10, 0};  // of a peer that must answer before anything is measured
constexpr std::size_t held_at_once = 500;

// -1: errno says why.
int connect_to(const sockaddr_in& address) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void allow_many_files() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

std::string Run::ask(int fd, const std::string& bytes, std::size_t replies) {
    if (!send_all(fd, bytes)) return "the peer takes nothing";
    std::string in;
    Reply reply;
    for (std::size_t at = 0; replies > 0;) {
        const Parsed parsed = parse_reply(in, at, reply);
        if (parsed == Parsed::broken) return "the peer doesn't speak RESP";
        if (parsed == Parsed::whole) {
            if (reply.is_error()) return "the peer refused: " + std::string(reply[0].text);
            --replies;
            continue;
        }
        char buffer[16 * 1024];
        const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
        if (size <= 0) return "the peer doesn't answer";
        in.append(buffer, static_cast<std::size_t>(size));
    }
    return {};
}

std::string Run::open_all() {
    allow_many_files();
    poll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    for (const sockaddr_in& server : settings_.servers) {
        const Speaker::Preparation preparation = speaker_.prepare();
        const int fd = connect_to(server);
        if (fd < 0) return std::string("can't connect: ") + std::strerror(errno);
        others_.push_back(fd);
        if (auto wrong = ask(fd, preparation.bytes, preparation.replies); !wrong.empty()) {
            return wrong;
        }
    }
    for (std::size_t i = 0; i < settings_.connections; ++i) {
        Connection& connection = connections_[i];
        connection.fd = connect_to(settings_.servers[i % settings_.servers.size()]);
        if (connection.fd < 0) return std::string("can't connect: ") + std::strerror(errno);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = i;
        epoll_ctl(poll_fd_, EPOLL_CTL_ADD, connection.fd, &event);
    }
    figures_.bytes_before = memory();
    if (auto wrong = open_idle(); !wrong.empty()) return wrong;
    figures_.bytes_idle = memory();
    if (auto wrong = take_held(); !wrong.empty()) return wrong;
    figures_.bytes_held = memory();
    return {};
}

std::string Run::open_idle() {
    for (std::size_t i = 0; i < settings_.idle; ++i) {
        const int fd = connect_to(settings_.servers[i % settings_.servers.size()]);
        if (fd < 0) return std::string("can't connect: ") + std::strerror(errno);
        others_.push_back(fd);
        if (auto wrong = ask(fd, "*1\r\n$4\r\nPING\r\n", 1); !wrong.empty()) return wrong;
    }
    return {};
}

std::string Run::take_held() {
    for (std::size_t taken = 0; taken < settings_.held;) {
        const std::size_t count = std::min(held_at_once, settings_.held - taken);
        std::string bytes;
        for (std::size_t i = 0; i < count; ++i) {
            Cycle cycle;
            cycle.lock = settings_.locks + taken + i;  // none that the run asks for
            speaker_.append_lock(bytes, cycle);
        }
        if (auto wrong = ask(others_.front(), bytes, count); !wrong.empty()) return wrong;
        taken += count;
    }
    return {};
}

std::vector<std::uint64_t> Run::memory() const {
    std::vector<std::uint64_t> all;
    if (settings_.idle == 0 && settings_.held == 0) return all;
    for (const Process& process : settings_.processes) all.push_back(private_bytes(process.pid));
    return all;
}

Run::~Run() {
    for (const Connection& connection : connections_) {
        if (connection.fd >= 0) close(connection.fd);
    }
    for (const int fd : others_) close(fd);
    if (poll_fd_ >= 0) close(poll_fd_);
}

}  // namespace latchd::load
