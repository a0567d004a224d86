// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "mysql_process.hpp"

#include "stop_process.hpp"

#include <arpa/inet.h>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <signal.h>
#include <stdexcept>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace latchd::testing {
namespace {

bool accepts(const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const bool ok = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return ok;
}

// Whether the port is this process' from now on; as in program.py. The name ends with the process.
bool reserve(std::uint16_t port) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const std::string name = "latchd-test-port-" + std::to_string(port);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return true;
    ::close(fd);
    return false;
}

// Below those that the kernel hands out for connections, and no other test's: the server is started
// seconds later, and again after its end.
std::uint16_t free_port() {
    std::random_device random;
    std::uniform_int_distribution<std::uint16_t> ports(10'000, 29'999);
    for (int tries = 0; tries < 1'000; ++tries) {
        const std::uint16_t port = ports(random);
        if (!reserve(port)) continue;
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        const int result = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        ::close(fd);
        if (result == 0) return port;
    }
    throw std::runtime_error("no free port");
}

// mariadbd deletes what temporary tables it finds as it starts, those of other servers that are
// being installed, too: each has a folder of its own for them.
pid_t run(std::vector<std::string> words, const std::string& folder, const char* log_name) {
    const std::string log = folder + log_name;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
        const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(fd, 1);
        ::dup2(fd, 2);
        ::setenv("TMPDIR", folder.c_str(), 1);
        ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    return pid;
}

}  // namespace

bool MysqlProcess::is_installed() {
    return std::system("command -v mariadbd mariadb-install-db >/dev/null 2>&1") == 0;
}

MysqlProcess::MysqlProcess() {
    std::string name = (std::filesystem::temp_directory_path() / "latchd-mysql-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    socket_path_ = folder_ + "/socket";
    port_ = free_port();
    const pid_t pid = run({"mariadb-install-db",
                           "--no-defaults",
                           "--datadir=" + folder_ + "/data",
                           "--auth-root-authentication-method=normal",
                           "--skip-test-db",
                           "--skip-name-resolve",
                           "--innodb-log-file-size=16M"},
                          folder_,
                          "/install.log");
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (status != 0) {
        std::ifstream log(folder_ + "/install.log");
        const std::string said{std::istreambuf_iterator<char>(log), {}};
        std::filesystem::remove_all(folder_);
        throw std::runtime_error("no database: " + said);
    }
}

MysqlProcess::~MysqlProcess() {
    kill_hard();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void MysqlProcess::start(const std::vector<std::string>& settings) {
    std::vector<std::string> words{"mariadbd",
                                   "--no-defaults",
                                   "--datadir=" + folder_ + "/data",
                                   "--socket=" + socket_path_,
                                   "--port=" + std::to_string(port_),
                                   "--bind-address=127.0.0.1",
                                   "--pid-file=" + folder_ + "/pid",
                                   "--skip-name-resolve",
                                   "--innodb-flush-log-at-trx-commit=1",
                                   "--innodb-log-file-size=16M",
                                   "--innodb-buffer-pool-size=64M",
                                   "--performance-schema=OFF"};
    if (::geteuid() == 0) words.emplace_back("--user=root");
    words.insert(words.end(), settings.begin(), settings.end());
    pid_ = run(words, folder_, "/log");
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!accepts(socket_path_)) {
        const bool ended = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
        if (ended || std::chrono::steady_clock::now() > until) {
            throw std::runtime_error("mariadbd does not start; see " + folder_ + "/log");
        }
        // Nothing tells when a socket begins to listen; only how often it is tried is chosen.
        ::poll(nullptr, 0, 5);
    }
}

void MysqlProcess::kill_hard() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void MysqlProcess::freeze() {
    if (pid_ > 0) stop_process(pid_);
}

// Without a process it would be a signal to all there are: what other tests froze went on.
void MysqlProcess::thaw() {
    if (pid_ > 0) ::kill(pid_, SIGCONT);
}

}  // namespace latchd::testing
