// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/table.hpp>
#include <latchd/server/server.hpp>
#include <latchd/store/port.hpp>

#include <boost/asio/io_context.hpp>

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::test {

// A store that answers when the test says so: the core's table, with a queue before it.
class SlowStore final : public store::Store {
public:
    explicit SlowStore(store::Sink& sink) : sink_(sink) {}

    void start() override;
    void stop() override {}
    void submit(core::OperationId id, core::Operation&& operation) override;
    [[nodiscard]] store::Health health() const override;

    // Carries out what waits at this place of the queue and answers it.
    void answer(std::size_t index = 0);
    [[nodiscard]] std::size_t waiting() const noexcept { return queue_.size(); }
    [[nodiscard]] core::Table& table() noexcept { return table_; }
    bool at_once = true;

private:
    struct Asked {
        core::OperationId id;
        core::Operation operation;
    };
    store::Sink& sink_;
    core::Table table_{7};
    std::deque<Asked> queue_;
};

// A node with everything real but the store. One thread: the test runs the loop while it waits.
class Fixture {
public:
    explicit Fixture(const std::function<void(server::Options&)>& change = {});
    ~Fixture();

    // Runs the loop until it holds. False: it did not within ten seconds.
    [[nodiscard]] bool wait_for(const std::function<bool()>& holds);
    // Runs what is ready and no more.
    void turn();

    boost::asio::io_context context;
    std::unique_ptr<SlowStore> store;
    std::unique_ptr<server::Server> server;
    std::vector<server::Endpoint> endpoints;
    bool finished = false;
    bool journal_is_full = false;
    std::size_t journal_room = 1'000;
    std::vector<std::string> journal;  // "put a/1#7.1", in the order of the calls

private:
    class Names;
    class Grants;
    std::unique_ptr<Names> names_;
    std::unique_ptr<Grants> grants_;
    core::Registry registry_;
};

// A path for a Unix socket, in a folder of its own that goes with it.
class SocketFile {
public:
    SocketFile();
    ~SocketFile();
    SocketFile(const SocketFile&) = delete;
    SocketFile& operator=(const SocketFile&) = delete;
    [[nodiscard]] std::string path() const { return folder_ / "socket"; }
    // For the Fixture's constructor.
    [[nodiscard]] std::function<void(server::Options&)> on_it() const;

private:
    std::filesystem::path folder_;
};

// A client that speaks plain bytes.
class Peer {
public:
    // `receive_bytes`: of the kernel's buffer for what isn't read; 0: as it comes.
    Peer(Fixture& fixture, const server::Endpoint& to, int receive_bytes = 0);
    explicit Peer(Fixture& fixture) : Peer(fixture, fixture.endpoints.front()) {}
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    // As much as the kernel takes; how much that was.
    std::size_t send_some(std::string_view bytes);
    // All of it.
    void send(std::string_view bytes);
    // Runs the loop until so many bytes have come or the connection has ended.
    [[nodiscard]] std::string read(std::size_t count);
    // ... until these bytes are at the end of what has come.
    [[nodiscard]] std::string read_up_to(std::string_view end);
    // What is there now.
    [[nodiscard]] std::string read_ready();
    // Everything up to the end of the connection.
    [[nodiscard]] std::string read_all();
    [[nodiscard]] bool is_ended() const noexcept { return ended_; }
    // Asks and returns the reply's bytes.
    [[nodiscard]] std::string ask(std::string_view request, std::string_view end = "\r\n");

    void end_output();  // half-close
    void close();
    void reset();  // closes with RST

private:
    bool receive();

    Fixture& fixture_;
    int fd_;
    std::string received_;
    bool ended_ = false;
};

// "*2\r\n$4\r\nPING\r\n..."
[[nodiscard]] std::string request(const std::vector<std::string_view>& words);

}  // namespace latchd::test
