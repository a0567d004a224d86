// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "node_shell.hpp"

#include <latchd/core/lock/node.hpp>
#include <latchd/store/local/mail_desk.hpp>
#include <latchd/store/local/store.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace latchd::test {

// A place that a thread can be held at until the test lets it go on.
class Gate {
public:
    void close();
    void open();
    // Waits while it is closed.
    void pass();
    // Returns once somebody waits there. False: nobody did within ten seconds.
    [[nodiscard]] bool wait_for_somebody();

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_closed_ = false;
    int waiting_ = 0;
};

// What the owner writes down. Its thread writes, the test may look.
class Paper {
public:
    [[nodiscard]] store::local::Ledger ledger();
    [[nodiscard]] std::map<LockKey, Fence> written();
    void set_room(std::size_t room);
    // False: still written after 20 s.
    [[nodiscard]] bool wait_until_dropped(const LockKey& key, Fence fence);

    Gate gate;  // in front of each put

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<LockKey, Fence> written_;
    std::size_t room_ = 1'000'000;
};

// A loop with its node on a thread of its own. Everything public may be called by the test's
// thread.
class NodeLoop final : public server::Audience {
public:
    struct Answer {
        core::Outcome outcome;
        std::chrono::milliseconds took{};
    };

    NodeLoop(std::string name, std::uint64_t incarnation);
    ~NodeLoop() override;

    // Before start(): makes its store, given its sink.
    void build(const std::function<std::unique_ptr<store::Store>(store::Sink&)>& make);
    void start();
    void stop();

    [[nodiscard]] std::future<Answer> begin(core::ClientCommand command);
    [[nodiscard]] Answer ask(core::ClientCommand command);
    void post(std::function<void()> work);
    // Until it returns, the loop does nothing else.
    void hold_at(Gate& gate);

    boost::asio::io_context context{1};
    const NodeName name;

private:
    class Names;
    class Log;
    void answered(const core::Ticket& ticket, const core::Outcome& outcome) override;
    void happened(const core::Happened&) override {}
    void drained() override {}
    void turn_ended() override {}

    struct Waiting {
        std::promise<Answer> promise;
        std::chrono::steady_clock::time_point asked;
    };
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::unique_ptr<Names> names_;
    std::unique_ptr<Log> log_;
    core::Registry registry_;
    std::unique_ptr<server::NodeShell> shell_;
    std::unique_ptr<store::Store> store_;
    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t slots_ = 0;
    std::thread thread_;
};

// The embedded table with so many loops, the first of which is its owner.
class Loops {
public:
    explicit Loops(std::size_t count, const store::local::DeskLimits& limits = {});
    ~Loops();

    [[nodiscard]] NodeLoop& at(std::size_t loop) { return *loops_.at(loop); }
    [[nodiscard]] std::size_t size() const noexcept { return loops_.size(); }

    Paper paper;

private:
    std::unique_ptr<store::local::MailDesk> desk_;  // outlives the stores
    std::vector<std::unique_ptr<NodeLoop>> loops_;
};

[[nodiscard]] core::LockCommand lock(const std::string& id, int ttl_ms = 20'000, int wait_ms = 0);
[[nodiscard]] core::UnlockCommand unlock(const std::string& id, const Token& token);
[[nodiscard]] core::RenewCommand renew(const std::string& id, const Token& token);
[[nodiscard]] core::ForceCommand force(const std::string& id);
// "granted", "nil", "1", "NOSTORE text", "UNCERTAIN text"
[[nodiscard]] std::string text_of(const core::Outcome& outcome);

}  // namespace latchd::test
