// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../dialect/identity.hpp"
#include "../dialect/keys.hpp"
#include "../dialect/replies.hpp"
#include "backoff.hpp"
#include "link.hpp"

#include <latchd/runtime/deadline.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/store/redis/arbiter.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace latchd::store::redis {

// The fleet's record in one Redis server. Loop thread only.
//
// A connection goes through: greeting (AUTH, SELECT, names), identity, the end of its predecessor
// if that left a call in doubt; then calls, one at a time, each behind a look at the identity.
//
// Invariants:
// 1. expected_ has exactly one entry for each reply that will come on link_, in order.
// 2. Only calls_.front() can be under way; a call is in calls_ until it was answered.
// 3. No call is sent before a connection of ours that may still carry one out was killed, unless
//    the server forbids that.
class RedisArbiter final : public Arbiter, private Link::User {
public:
    RedisArbiter(boost::asio::io_context& context,
                 Options options,
                 FleetSink& sink,
                 std::function<Time()> boot_now);
    ~RedisArbiter() override;

    void start() override;
    void stop() override;
    void act(core::authority::ArbiterDo&& action) override;
    [[nodiscard]] Health health() const override;

private:
    enum class Kind : std::uint8_t { greeting, wish, client_id, identity, identity_end, call };
    struct Call {
        core::authority::ArbiterDo wanted;
        Time due{};   // answered until then, or failed
        Time sent{};  // before it left
    };
    // A connection of ours that may still have a call to execute in the server.
    struct Former {
        std::string run_id;
        std::int64_t client_id = 0;
    };

    void link_opened() override;
    void link_replied(resp::Value&& value) override;
    void link_idle() override { arm(); }
    void link_closed(const std::string& reason, bool refused) override;
    void connect();
    void drop(const std::string& reason);
    void lost(const std::string& reason);
    void expect(Kind kind);
    void ask_identity();
    void identified();
    void kill_former();
    void send_next();
    void send(Call& call, bool whole_text);
    void answered(const resp::Value& value);
    void refused(const Refusal& refusal);
    void finish(core::authority::FleetEvent&& event);
    void fail_front(bool is_down, const std::string& text);
    void on_time();
    void arm();

    [[nodiscard]] Time now() const { return boot_now_(); }
    [[nodiscard]] std::string user() const {
        return options_.username.empty() ? "default" : options_.username;
    }

    boost::asio::io_context& context_;
    const Options options_;
    FleetSink& sink_;
    std::function<Time()> boot_now_;
    Keys keys_;
    runtime::RandomNames random_;
    runtime::Deadline timer_;
    Backoff backoff_;
    bool is_running_ = false;
    std::deque<Call> calls_;

    // The connection.
    std::shared_ptr<Link> link_;
    std::deque<Kind> expected_;
    std::optional<Time> connect_at_;
    Time greeted_at_{};      // when the greeting was sent
    bool is_ready_ = false;  // greeted; calls may be sent
    bool is_sent_ = false;   // calls_.front() is under way
    bool is_whole_ = false;  // … as text, so NOSCRIPT can't be
    std::string identity_text_;
    ServerInfo server_;
    std::int64_t client_id_ = 0;  // 0: unknown
    std::vector<Former> former_;

    std::string last_error_ = "-";
    std::uint64_t answered_ = 0;
    std::uint64_t failed_ = 0;
    Duration last_round_trip_{};
};

}  // namespace latchd::store::redis
