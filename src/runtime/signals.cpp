// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/runtime/signals.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>

namespace latchd::runtime {

class Signals::Impl {
public:
    Impl(boost::asio::io_context& context, SignalHandlers handlers)
        : signals_(context, SIGTERM, SIGINT, SIGHUP), handlers_(std::move(handlers)) {
        signals_.add(SIGQUIT);
        std::signal(SIGPIPE, SIG_IGN);
        std::signal(SIGUSR1, SIG_IGN);
        wait();
    }

private:
    void wait() {
        signals_.async_wait([this](boost::system::error_code error, int number) {
            if (error) return;
            wait();
            handle(number);
        });
    }

    void handle(int number) {
        if (number == SIGHUP) return handlers_.reload();
        if (number == SIGQUIT || draining_) return handlers_.stop();
        draining_ = true;
        handlers_.drain();
    }

    boost::asio::signal_set signals_;
    SignalHandlers handlers_;
    bool draining_ = false;
};

Signals::Signals(boost::asio::io_context& context, SignalHandlers handlers)
    : impl_(std::make_unique<Impl>(context, std::move(handlers))) {}
Signals::~Signals() = default;

}  // namespace latchd::runtime
