// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_server.hpp"

#include <latchd/resp/command_writer.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <signal.h>
#include <stdexcept>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace latchd::testing {
namespace {

constexpr auto patience = std::chrono::seconds(10);

int connect_to(const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
}

pid_t start(const std::string& folder, const std::string& socket_path) {
    const std::string log = folder + "/log";
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::execlp("redis-server",
             "redis-server",
             "--port",
             "0",
             "--unixsocket",
             socket_path.c_str(),
             "--dir",
             folder.c_str(),
             "--save",
             "",
             "--appendonly",
             "no",
             "--logfile",
             log.c_str(),
             static_cast<char*>(nullptr));
    ::_exit(127);
}

}  // namespace

RedisServer::RedisServer() {
    std::string name = (std::filesystem::temp_directory_path() / "latchd-redis-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    socket_path_ = folder_ + "/socket";
    pid_ = start(folder_, socket_path_);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < until) {
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;  // not installed, or refused to start
        const int fd = connect_to(socket_path_);
        if (fd >= 0) {
            ::close(fd);
            return;
        }
        // A listening socket can't be waited for; only how often it is tried is chosen here.
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    pid_ = -1;
}

RedisServer::~RedisServer() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

RedisClient::RedisClient(const std::string& socket_path) : socket_(connect_to(socket_path)) {
    if (socket_ < 0) throw std::runtime_error("redis-server doesn't answer");
    const timeval limit{std::chrono::seconds(patience).count(), 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

RedisClient::~RedisClient() { ::close(socket_); }

void RedisClient::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) throw std::runtime_error("redis-server closed the connection");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

resp::Value RedisClient::receive() {
    std::array<char, 64 * 1024> buffer;
    while (true) {
        resp::DecodedReply decoded = decoder_.next();
        if (decoded.status == resp::ReplyStatus::reply) return std::move(decoded.value);
        if (decoded.status == resp::ReplyStatus::protocol_error) {
            throw std::runtime_error(std::string(decoded.error));
        }
        const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
        // With a limit it is not begun again by itself by a process that stood still.
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) throw std::runtime_error("redis-server is silent");
        decoder_.feed({buffer.data(), static_cast<std::size_t>(got)});
    }
}

resp::Value RedisClient::command(std::initializer_list<std::string_view> arguments) {
    std::string out;
    resp::append_command(out, arguments);
    return round_trip(out);
}

}  // namespace latchd::testing
