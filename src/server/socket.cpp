// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "socket.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace latchd::server {
namespace {

constexpr int backlog = 1024;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
    throw std::runtime_error("can't listen on " + where + ": " + what);
}

std::string last_error() { return std::generic_category().message(errno); }

void set_option(int descriptor, int level, int name, int value) {
    // Keep-alive and the like only help to notice dead peers sooner: not worth a refusal.
    (void)::setsockopt(descriptor, level, name, &value, sizeof value);
}

Descriptor listen_on(const addrinfo& info, ListenerOptions::Sharing sharing) {
    using Sharing = ListenerOptions::Sharing;
    Descriptor socket(::socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) return socket;
    set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (sharing == Sharing::further) set_option(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1);
    // Else "::" would take the IPv4 port as well, and 0.0.0.0 beside it fail.
    if (info.ai_family == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (::bind(socket.get(), info.ai_addr, info.ai_addrlen) != 0) return Descriptor();
    if (sharing == Sharing::first) set_option(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1);
    if (::listen(socket.get(), backlog) != 0) return Descriptor();
    return socket;
}

sockaddr_un unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        fail("unix:" + path,
             "the path is longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

const sockaddr* generic(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

// A socket file whose process died is left behind; one that answers belongs to a living process.
void remove_stale(const std::string& path, const sockaddr_un& address) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return;
    if (!S_ISSOCK(info.st_mode)) fail("unix:" + path, "there is a file that is no socket");
    const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (::connect(probe.get(), generic(address), sizeof address) == 0 || errno == EAGAIN) {
        fail("unix:" + path, "another process answers there");
    }
    if (errno == ECONNREFUSED) ::unlink(path.c_str());
}

}  // namespace

std::vector<Descriptor> listen_on_tcp(const ListenerOptions& options) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    const std::string& host = options.endpoint.host;
    addrinfo* list = nullptr;
    const int code = ::getaddrinfo(host.empty() || host == "*" ? nullptr : host.c_str(),
                                   std::to_string(options.endpoint.port).c_str(),
                                   &hints,
                                   &list);
    if (code != 0) fail(options.endpoint.to_string(), ::gai_strerror(code));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);

    std::vector<Descriptor> sockets;
    for (const addrinfo* info = list; info != nullptr; info = info->ai_next) {
        Descriptor socket = listen_on(*info, options.sharing);
        // A name may stand for an address family that this host doesn't have.
        const bool is_absent = errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT;
        if (!socket.is_open() && (!is_absent || (info->ai_next == nullptr && sockets.empty()))) {
            fail(options.endpoint.to_string(), last_error());
        }
        if (!socket.is_open()) continue;
        sockets.push_back(std::move(socket));
        // With port 0 each address would get a port of its own.
        if (options.endpoint.port == 0) break;
    }
    return sockets;
}

Descriptor listen_on_unix(const std::string& path) {
    const sockaddr_un address = unix_address(path);
    remove_stale(path, address);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // Group members may connect, as with Redis; never others.
    const mode_t before = ::umask(0117);
    const int bound = ::bind(socket.get(), generic(address), sizeof address);
    const int error = errno;
    ::umask(before);
    errno = error;
    if (bound != 0 || ::listen(socket.get(), backlog) != 0) fail("unix:" + path, last_error());
    return socket;
}

Endpoint endpoint_of(const sockaddr_storage& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
        return {text, ntohs(v4.sin_port), {}};
    }
    if (address.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
        return {text, ntohs(v6.sin6_port), {}};
    }
    return {};
}

Endpoint local_endpoint(int descriptor) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    (void)::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
    return endpoint_of(address);
}

std::string Endpoint::to_string() const {
    if (is_unix()) return "unix:" + path;
    const bool is_v6 = host.find(':') != std::string::npos;
    return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Descriptor::~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
}

}  // namespace latchd::server
