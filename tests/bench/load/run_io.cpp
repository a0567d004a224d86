// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace latchd::load {

void Run::wait(std::int64_t until_ns) {
    std::array<epoll_event, 256> events{};
    const std::int64_t left = std::max<std::int64_t>(until_ns - now_ns_, 0);
    const timespec time{left / 1'000'000'000, left % 1'000'000'000};
    const int count =
        epoll_pwait2(poll_fd_, events.data(), static_cast<int>(events.size()), &time, nullptr);
    now_ns_ = clock_ns();
    for (int i = 0; i < count; ++i) {
        const auto index = static_cast<std::size_t>(events[static_cast<std::size_t>(i)].data.u64);
        Connection& connection = connections_[index];
        if (connection.is_blocked) {
            connection.is_blocked = false;
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.u64 = index;
            epoll_ctl(poll_fd_, EPOLL_CTL_MOD, connection.fd, &event);
        }
        receive(index);
        flush(index);
    }
}

void Run::receive(std::size_t index) {
    Connection& connection = connections_[index];
    static std::array<char, 64 * 1024> buffer;
    const ssize_t size = recv(connection.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
        epoll_ctl(poll_fd_, EPOLL_CTL_DEL, connection.fd, nullptr);
        return fail("the peer closed a connection");
    }
    now_ns_ = clock_ns();
    connection.in.append(buffer.data(), static_cast<std::size_t>(size));
    take_replies(index);
}

void Run::take_replies(std::size_t index) {
    Connection& connection = connections_[index];
    std::size_t at = 0;
    Reply reply;
    for (;;) {
        const Parsed parsed = parse_reply(connection.in, at, reply);
        if (parsed == Parsed::more) break;
        if (parsed == Parsed::broken || connection.awaited.empty()) {
            connection.in.clear();
            return fail("a reply that can't be understood");
        }
        const std::size_t lane = connection.awaited.front();
        connection.awaited.pop_front();
        replied(lane, reply);
    }
    connection.in.erase(0, at);
}

void Run::flush(std::size_t index) {
    Connection& connection = connections_[index];
    if (connection.out.empty() || connection.is_blocked) return;
    const ssize_t sent = send(
        connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        connection.out.clear();
        return fail("the peer closed a connection");
    }
    connection.out.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    if (connection.out.empty()) return;
    connection.is_blocked = true;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT;
    event.data.u64 = index;
    epoll_ctl(poll_fd_, EPOLL_CTL_MOD, connection.fd, &event);
}

void Run::fail(const std::string& what) {
    ++figures_.failed;
    if (figures_.first_failure.empty()) figures_.first_failure = what;
}

}  // namespace latchd::load
