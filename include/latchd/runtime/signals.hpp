// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace latchd::runtime {

struct SignalHandlers {
    std::function<void()> drain;   // the first SIGTERM or SIGINT
    std::function<void()> stop;    // the second one, or SIGQUIT: at once
    std::function<void()> reload;  // SIGHUP
};

// Turns signals into calls on the loop. SIGPIPE and SIGUSR1 are ignored for the whole process.
class Signals {
public:
    Signals(boost::asio::io_context& context, SignalHandlers handlers);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace latchd::runtime
