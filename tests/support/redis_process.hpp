// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace latchd::testing {

// A redis-server that a test ends, freezes and starts again, with a folder that outlives the
// process. Listens on a Unix socket. Ends with the object.
class RedisProcess {
public:
    RedisProcess();
    ~RedisProcess();
    RedisProcess(const RedisProcess&) = delete;
    RedisProcess& operator=(const RedisProcess&) = delete;

    // False: there is no redis-server on this machine.
    [[nodiscard]] static bool is_installed();

    // Returns once it listens; throws std::runtime_error after 10 s. `settings` as on the command
    // line: {"--maxmemory", "1mb"}. It may still be LOADING.
    void start(const std::vector<std::string>& settings = {});
    void kill_hard();  // kill -9, and waits for its end
    void freeze();     // SIGSTOP; all its threads stand still
    void thaw();       // SIGCONT
    void remove_data();

    [[nodiscard]] const std::string& socket_path() const noexcept { return socket_path_; }
    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

private:
    std::string folder_;
    std::string socket_path_;
    pid_t pid_ = -1;
};

}  // namespace latchd::testing
