// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace boost::asio {
class io_context;
}

namespace latchd::runtime {

// The one timer of a loop. Re-armed only when the earliest deadline gets earlier: each arming is
// a system call, and deadlines mostly move away. So it may go off early; the callee looks at the
// time and arms it again. Sleeps for at most a second when a deadline is set, because the kernel's
// timer stands still while the host is suspended and the deadlines don't.
class Deadline {
public:
    Deadline(boost::asio::io_context& context, std::function<void()> on_due);
    ~Deadline();
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

    // `when` absent: nothing is due; an armed timer may still go off once.
    void arm(Time now, std::optional<Time> when);
    void stop();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace latchd::runtime
