// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace latchd::testing {

// A mariadbd that a test ends, freezes and starts again, with a data folder that outlives the
// process. Listens on a Unix socket and on a port of 127.0.0.1; user root, no password. Ends with
// the object. Its making takes seconds: a program shares one.
class MysqlProcess {
public:
    MysqlProcess();
    ~MysqlProcess();
    MysqlProcess(const MysqlProcess&) = delete;
    MysqlProcess& operator=(const MysqlProcess&) = delete;

    // False: there is no mariadbd on this machine.
    [[nodiscard]] static bool is_installed();

    // Returns once it answers; throws std::runtime_error after 30 s. `settings` as on the command
    // line: {"--default-time-zone=+08:00"}.
    void start(const std::vector<std::string>& settings = {});
    void kill_hard();  // kill -9, and waits for its end
    void freeze();     // SIGSTOP; all its threads stand still
    void thaw();       // SIGCONT

    [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] const std::string& socket_path() const noexcept { return socket_path_; }
    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

private:
    std::string folder_;
    std::string socket_path_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
};

}  // namespace latchd::testing
