// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/server/options.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace latchd::server {

struct Accepted;

// Where clients come in. Bound before there is a server, because the port is part of the node's
// name; clients that connect meanwhile wait in the kernel. Loop thread only.
class Listeners {
public:
    // Binds and listens. Throws std::runtime_error whose text names the address and the reason.
    Listeners(boost::asio::io_context& context, const std::vector<ListenerOptions>& options);
    ~Listeners();
    Listeners(const Listeners&) = delete;
    Listeners& operator=(const Listeners&) = delete;

    // As bound: with the kernel's port where 0 was asked for. In the order of the options.
    [[nodiscard]] const std::vector<Endpoint>& endpoints() const noexcept { return endpoints_; }

    // What a further loop of the process has to listen on to share the TCP ports of these. Its Unix
    // sockets' clients come from here.
    [[nodiscard]] std::vector<ListenerOptions> for_further_loop() const;

    // Once.
    void start(std::function<void(Accepted&&)> on_accept);
    // Closes the sockets and removes the files of Unix sockets, where they are still ours.
    void stop();

private:
    class Listener;
    std::vector<std::shared_ptr<Listener>> listeners_;
    std::vector<Endpoint> endpoints_;
};

}  // namespace latchd::server
