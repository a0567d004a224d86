// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../dialect/batch.hpp"
#include "connection.hpp"

#include <latchd/base/batch_depths.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/store/port.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace latchd::store::mysql {

// A connection of ours that may still have something to carry out in the server.
struct Former {
    std::uint64_t connection_id = 0;
    std::string run_id;  // of the server
    Time opened_at{};    // when it was connected: a server that started later does not have it
    bool is_killed = false;
};

// The connections that carry operations. What was submitted in one turn of the loop, and what came
// while all connections were busy, leaves together; operations on one lock one after another.
class Pool {
public:
    class User {
    public:
        virtual ~User() = default;
        [[nodiscard]] virtual Guard guard() = 0;
        virtual void pool_opened() = 0;  // the first connection since open() can be used
        // Operations on it are in doubt: nothing is sent before release() says that it is gone.
        virtual void pool_left(Former&& former) = 0;
        virtual void pool_doubted() = 0;  // another placement, or a server that is read-only
        virtual void pool_timed_out(const std::string& reason) = 0;
        virtual void pool_letters(std::vector<Letter>&& letters) = 0;
        virtual void pool_waits() = 0;  // next_deadline() may be sooner than it was
    };

    Pool(boost::asio::io_context& context,
         const Options& options,
         std::function<Time()> boot_now,
         Sink& sink,
         User& user);
    ~Pool();

    // Connects to this very process; whatever else answers is not used. Held: until release().
    void open(std::string run_id, bool is_held);
    // Answers everything that is left: what is under way in doubt, the rest unsent. Silent: the
    // caller has answered it.
    void close(const std::string& reason, bool is_silent);
    void release();

    void submit(core::OperationId id, core::Operation&& operation);
    // A query of the house that may wait for rows; forgotten by close().
    void chore(std::string text, Connection::Done done);

    [[nodiscard]] std::optional<Time> next_deadline() const;
    void on_time();

    [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
    // Operations that one statement carried out.
    [[nodiscard]] const BatchDepths& batches() const noexcept { return batches_; }
    [[nodiscard]] std::size_t connections() const noexcept;
    [[nodiscard]] const std::string& last_error() const noexcept { return last_error_; }
    // That it lacks connections because the server turns this node away; empty: it doesn't.
    [[nodiscard]] std::string warning() const;

private:
    struct Pending {
        core::OperationId id{};
        core::Operation operation;
        Time submitted{};
    };
    // Of one lock: what waits, while one is under way or nothing is.
    struct Lane {
        std::deque<Pending> waiting;
        bool is_busy = false;
    };
    struct Worker {
        std::shared_ptr<Connection> connection;
        bool is_open = false;
        Time opened_at{};
        std::unique_ptr<Batch> batch;
        std::optional<Pending> list;
        std::vector<core::OperationId> ids;
        std::vector<LockKey> keys;
        bool has_chore = false;
        std::optional<Time> connect_at;
        std::optional<Time> resume_at;  // after a deadlock

        [[nodiscard]] bool is_idle() const noexcept {
            return is_open && !batch && !list && !has_chore;
        }
    };

    void connect(std::size_t index);
    void opened(std::size_t index, const Session& session);
    void closed(std::size_t index, const Error& error);
    void schedule();
    void pump();
    void take_batch(std::size_t index);
    void send(std::size_t index);
    void answered(std::size_t index, Answer&& answer);
    void finish(std::size_t index);
    void send_list(std::size_t index);
    void send_chore(std::size_t index);
    void listed(std::size_t index, Answer&& answer);
    void leave(Worker& worker);
    void fail(core::OperationId id, core::Failure failure, const std::string& text);
    void fail_late(Time now);
    [[nodiscard]] Duration limit() const;
    [[nodiscard]] Duration unsent_limit() const;

    boost::asio::io_context& context_;
    const Options& options_;
    std::function<Time()> boot_now_;
    Sink& sink_;
    User& user_;
    runtime::RandomNames names_;
    Stamps stamps_;
    std::string run_id_;
    bool is_open_ = false;
    bool is_held_ = false;
    bool was_opened_ = false;
    bool is_scheduled_ = false;
    std::vector<Worker> workers_;
    std::unordered_map<LockKey, Lane> lanes_;
    std::deque<LockKey> ready_;  // lanes with something to send, each once
    std::deque<Pending> lists_;
    std::deque<std::pair<std::string, Connection::Done>> chores_;
    std::optional<Time> oldest_;  // no later than what waits the longest was submitted
    BatchDepths batches_;
    std::size_t in_flight_ = 0;
    std::string last_error_ = "-";
    std::string refusal_;  // why the server let no connection in; empty: all are there
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace latchd::store::mysql
