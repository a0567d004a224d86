// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_process.hpp"

#include "stop_process.hpp"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <stdexcept>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace latchd::testing {
namespace {

bool listens(const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const bool ok = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return ok;
}

}  // namespace

bool RedisProcess::is_installed() {
    return std::system("command -v redis-server >/dev/null 2>&1") == 0;
}

RedisProcess::RedisProcess() {
    std::string name = (std::filesystem::temp_directory_path() / "latchd-redis-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    socket_path_ = folder_ + "/socket";
}

RedisProcess::~RedisProcess() {
    kill_hard();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void RedisProcess::start(const std::vector<std::string>& settings) {
    std::vector<std::string> words{"redis-server",
                                   "--port",
                                   "0",
                                   "--unixsocket",
                                   socket_path_,
                                   "--dir",
                                   folder_,
                                   "--save",
                                   "",
                                   "--appendonly",
                                   "no",
                                   "--logfile",
                                   folder_ + "/log",
                                   "--enable-debug-command",
                                   "yes",
                                   // A replica gets its data at once, not in 5 s.
                                   "--repl-diskless-sync-delay",
                                   "0"};
    words.insert(words.end(), settings.begin(), settings.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::execvp("redis-server", arguments.data());
        ::_exit(127);
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!listens(socket_path_)) {
        const bool ended = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
        if (ended || std::chrono::steady_clock::now() > until) {
            throw std::runtime_error("redis-server does not start; see " + folder_ + "/log");
        }
        // Nothing tells when a socket begins to listen; only how often it is tried is chosen.
        ::poll(nullptr, 0, 2);
    }
}

void RedisProcess::kill_hard() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void RedisProcess::freeze() {
    if (pid_ > 0) stop_process(pid_);
}

// Without a process it would be a signal to all there are: what other tests froze went on.
void RedisProcess::thaw() {
    if (pid_ > 0) ::kill(pid_, SIGCONT);
}

void RedisProcess::remove_data() { std::filesystem::remove(folder_ + "/dump.rdb"); }

}  // namespace latchd::testing
