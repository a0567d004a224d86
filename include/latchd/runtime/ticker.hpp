// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace latchd::runtime {

// Calls `on_tick` every `period` for work that needs no deadline of its own: summaries, checks of
// connections that aren't read, the watchdog. The first call is one period after start().
class Ticker {
public:
    Ticker(boost::asio::io_context& context,
           std::chrono::milliseconds period,
           std::function<void()> on_tick);
    ~Ticker();
    Ticker(const Ticker&) = delete;
    Ticker& operator=(const Ticker&) = delete;

    void start();
    void stop();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace latchd::runtime
