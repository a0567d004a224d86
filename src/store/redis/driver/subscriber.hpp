// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../dialect/keys.hpp"
#include "backoff.hpp"
#include "link.hpp"

#include <latchd/runtime/deadline.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/store/port.hpp>
#include <latchd/store/redis/options.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace latchd::store::redis {

// The connection on which a node hears what other nodes did to its locks. Messages only make
// things quicker: whatever is missed is found at the next look, so this connection needs no
// identity, and its end closes nothing. Loop thread only.
class Subscriber final : private Link::User {
public:
    Subscriber(boost::asio::io_context& context,
               const Options& options,
               const std::function<Time()>& boot_now,
               const Keys& keys,
               Sink& sink);
    ~Subscriber() override;

    void start();
    void stop();
    [[nodiscard]] bool is_listening() const noexcept { return confirmed_ == 2; }
    // That the server forbids it, and what helps; empty: it doesn't.
    [[nodiscard]] std::string warning() const;

private:
    void link_opened() override;
    void link_replied(resp::Value&& value) override;
    void link_idle() override {}
    void link_closed(const std::string& reason, bool refused) override;
    void connect();
    void lost(const std::string& reason);
    void refused(const std::string& reason);
    void confirmed();
    void on_time();
    void arm();

    boost::asio::io_context& context_;
    const Options& options_;
    const std::function<Time()>& boot_now_;
    const Keys& keys_;
    Sink& sink_;
    runtime::RandomNames random_;
    runtime::Deadline timer_;
    Backoff backoff_;
    std::shared_ptr<Link> link_;
    bool is_running_ = false;
    int confirmed_ = 0;    // channels
    std::string refusal_;  // of the last try, empty: it was not refused
    std::optional<Time> connect_at_;
    Time heard_{};  // anything from the server
    Time asked_{};  // PING
};

}  // namespace latchd::store::redis
