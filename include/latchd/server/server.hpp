// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/command/host.hpp>
#include <latchd/command/options.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/server/grant_log.hpp>
#include <latchd/server/listeners.hpp>
#include <latchd/server/options.hpp>
#include <latchd/store/port.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace latchd::server {

class Crew;

// Everything that a Server is made of.
struct Parts {
    Options options;
    std::unique_ptr<Listeners> listeners;  // of this loop
    Crew* crew = nullptr;                  // of the process; outlives the server; nullptr: alone
    std::size_t loop = 0;                  // of the crew's; the first one's Unix sockets are theirs
    command::Options command;
    core::NodeOptions node;
    std::vector<command::Setting> settings;  // what CONFIG GET shows, secrets masked
    core::Registry* registry = nullptr;      // outlives the server
    core::NameSource* names = nullptr;       // outlives the server
    GrantLog* grants = nullptr;              // outlives the server; nullptr: nothing is kept
    // The drain is over and the process was asked to end.
    std::function<void()> on_finished;
    std::function<void()>
        on_left;  // before that: the arbiter has what this node held; may be empty
};

// One node: listeners, sessions, the core and its store, on one loop. Loop thread only.
//
//     Server server(context, std::move(parts));
//     auto store = make_store(server.sink());
//     server.attach(*store);
//     server.listen();                            // throws std::system_error
//     store->start();
//     context.run();
//
// Order at the end: finish() or the server's destructor, the store after it.
class Server {
public:
    Server(boost::asio::io_context& context, Parts parts);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] store::Sink& sink() noexcept;
    void attach(store::Store& store);

    // Accepts clients from now on.
    void serve();

    // For those who subscribed to events.
    void tell(const core::authority::Changed& change);

    // For the service manager: "ok: tier local, epoch 201112; 4 locks held, 0 waiting"; of all
    // loops together.
    [[nodiscard]] std::string status_line() const;

    // Stops accepting, tells waiters, has KEEP locks renewed once more and ONCLOSE ones released,
    // flushes replies, closes connections, then calls on_finished. Takes three seconds at most.
    // Again: no effect.
    void finish();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace latchd::server
