// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <latchd/runtime/deadline.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/store/mysql/arbiter.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace latchd::store::mysql {

// The fleet's record in one MySQL server. Loop thread only.
//
// A connection goes through: opening (who answers, the session), the end of its predecessor if
// that left a call in doubt, the schema, the cluster's row; then calls, one at a time, each one
// text.
//
// Invariants:
// 1. Only calls_.front() can be under way; a call is in calls_ until it was answered.
// 2. No call is sent before a connection of ours that may still carry one out was killed.
class MysqlArbiter final : public Arbiter {
public:
    MysqlArbiter(boost::asio::io_context& context,
                 Options options,
                 FleetSink& sink,
                 std::function<Time()> boot_now);
    ~MysqlArbiter() override;

    void start() override;
    void stop() override;
    void act(core::authority::ArbiterDo&& action) override;
    [[nodiscard]] Health health() const override;

private:
    struct Call {
        core::authority::ArbiterDo wanted;
        Time due{};   // answered until then, or failed
        Time sent{};  // before it left
        std::uint32_t deadlocks = 0;
    };
    // A connection of ours that may still have a call to execute in the server.
    struct Former {
        std::string run_id;
        std::uint64_t connection_id = 0;
        std::int64_t started_s = 0;
    };

    void connect();
    void opened(const Session& session);
    void looked(const Answer& answer);
    void migrated(std::optional<Error> error);
    void ready();
    void closed(const Error& error);
    void drop(const Error& error);
    void send_next();
    void send();
    void answered(Answer&& answer);
    void refused(const Error& error);
    void finish(core::authority::FleetEvent&& event);
    void fail_front(bool is_down, const std::string& text);
    void on_time();
    void arm();

    [[nodiscard]] Time now() const { return boot_now_(); }

    boost::asio::io_context& context_;
    const Options options_;
    FleetSink& sink_;
    std::function<Time()> boot_now_;
    runtime::RandomNames random_;
    runtime::Deadline timer_;
    bool is_running_ = false;
    std::deque<Call> calls_;

    // The connection.
    std::unique_ptr<Connection> connection_;
    std::optional<Time> connect_at_;
    Duration backoff_;       // the next one, before it is drawn
    bool is_ready_ = false;  // calls may be sent
    bool is_sent_ = false;   // calls_.front() is under way
    Session session_;
    std::int64_t started_s_ = 0;  // the process, by its own clock
    std::optional<Former> former_;

    std::string last_error_ = "-";
    std::uint64_t answered_ = 0;
    std::uint64_t failed_ = 0;
    Duration last_round_trip_{};
};

}  // namespace latchd::store::mysql
