// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "keeping.hpp"
#include "names.hpp"

#include <latchd/config/options.hpp>
#include <latchd/core/authority/epoch.hpp>
#include <latchd/core/resource/registry.hpp>
#include <latchd/server/crew.hpp>
#include <latchd/server/server.hpp>
#include <latchd/store/local/mail_desk.hpp>
#include <latchd/store/local/store.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace latchd::app {

// What the loops of a process have in common; all of it outlives them.
struct Shared {
    server::Options server;  // with the endpoints of the first loop's listeners
    server::Crew& crew;
    store::local::MailDesk* desk = nullptr;  // nullptr: there is one loop
    std::string warning;                     // about what the first loop keeps, standing
    // Each ends with this, on its own thread.
    std::function<void()> on_finished;
};

// One loop of the process: a node, with everything that is its own. Built on the main thread, then
// used by its own alone.
class Loop {
public:
    // `index` counts from 0. `options` name the process's first node; further ones are named
    // "<first>/2" and so on.
    Loop(boost::asio::io_context& context, std::size_t index, const config::Options& options);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    // The folders of its node. False: another process is this node, which has been logged.
    [[nodiscard]] bool take_folders();
    // What of this node's is not kept in them.
    [[nodiscard]] std::string keeping_warning() const;
    // The embedded table's, of which the first loop's journal has the records of all.
    [[nodiscard]] std::vector<core::GrantRecord> take_records();
    void give_records(std::vector<core::GrantRecord> records) { records_ = std::move(records); }

    // With its listeners. Else than 0: what the process exits with, which has been logged.
    [[nodiscard]] int build(const Shared& shared,
                            std::unique_ptr<server::Listeners> listeners,
                            std::vector<core::GrantRecord> of_table);

    // From here on its own thread.
    void start();
    void run();

    [[nodiscard]] server::Server& server() noexcept { return *server_; }
    [[nodiscard]] const NodeName& name() const noexcept { return name_; }

private:
    class Grants;

    [[nodiscard]] bool is_first() const noexcept { return index_ == 0; }
    [[nodiscard]] bool is_embedded() const;
    void make_server(const Shared& shared, std::unique_ptr<server::Listeners> listeners);
    [[nodiscard]] std::unique_ptr<store::Store> make_store(const Shared& shared,
                                                           std::vector<core::GrantRecord> of_table);
    [[nodiscard]] std::unique_ptr<store::Store> make_embedded(
        const Shared& shared, std::vector<core::GrantRecord> of_table);
    // The epoch that the embedded table begins with. 0: none, which has been logged.
    [[nodiscard]] Epoch begin_epoch(core::authority::WallMs wall);
    void save_epoch(Epoch epoch);

    std::size_t index_;
    config::Options options_;
    NodeName name_;
    boost::asio::io_context& context_;
    Names names_;
    core::authority::Incarnation incarnation_ = 0;
    core::Registry registry_;
    std::unique_ptr<Keeping> keeping_;  // nullptr: the first loop keeps what this one grants
    std::unique_ptr<Grants> grants_;
    std::vector<core::GrantRecord> records_;  // of this node's former self
    std::unique_ptr<store::Store> store_;
    int refused_with_ = 0;
    std::unique_ptr<server::Server> server_;  // before the store goes
};

}  // namespace latchd::app
