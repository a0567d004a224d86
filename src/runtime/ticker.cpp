// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/runtime/ticker.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace latchd::runtime {

class Ticker::Impl {
public:
    Impl(boost::asio::io_context& context,
         std::chrono::milliseconds period,
         std::function<void()> on_tick)
        : timer_(context), period_(period), on_tick_(std::move(on_tick)) {}

    void start() {
        timer_.expires_after(period_);
        timer_.async_wait([this](boost::system::error_code error) {
            if (error) return;
            start();  // first, so that on_tick may stop()
            on_tick_();
        });
    }

    void stop() { timer_.cancel(); }

private:
    boost::asio::steady_timer timer_;
    std::chrono::milliseconds period_;
    std::function<void()> on_tick_;
};

Ticker::Ticker(boost::asio::io_context& context,
               std::chrono::milliseconds period,
               std::function<void()> on_tick)
    : impl_(std::make_unique<Impl>(context, period, std::move(on_tick))) {}
Ticker::~Ticker() = default;
void Ticker::start() { impl_->start(); }
void Ticker::stop() { impl_->stop(); }

}  // namespace latchd::runtime
