// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/runtime/tcp.hpp>

#include <algorithm>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace latchd::runtime {
namespace {

constexpr int probes = 3;

int seconds_of(Duration d) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(d).count();
    return static_cast<int>(std::clamp<std::int64_t>(seconds, 1, 32'767));
}

}  // namespace

void set_tcp_options(int descriptor, const TcpOptions& options) noexcept {
    const auto set = [descriptor](int level, int name, int value) {
        (void)::setsockopt(descriptor, level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    if (options.keepalive > Duration::zero()) {
        set(SOL_SOCKET, SO_KEEPALIVE, 1);
        set(IPPROTO_TCP, TCP_KEEPIDLE, seconds_of(options.keepalive));
        set(IPPROTO_TCP, TCP_KEEPINTVL, seconds_of(options.keepalive / probes));
        set(IPPROTO_TCP, TCP_KEEPCNT, probes);
    }
    if (options.user_timeout > Duration::zero()) {
        set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(to_ms(options.user_timeout)));
    }
}

}  // namespace latchd::runtime
