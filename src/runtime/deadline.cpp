// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/runtime/deadline.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>

namespace latchd::runtime {

class Deadline::Impl {
public:
    Impl(boost::asio::io_context& context, std::function<void()> on_due)
        : timer_(context), on_due_(std::move(on_due)) {}

    void arm(Time now, std::optional<Time> when) {
        if (!when) return;
        const Time capped = std::min(*when, now + std::chrono::seconds(1));
        if (armed_for_ && *armed_for_ <= capped) return;
        armed_for_ = capped;
        // Rounded up by a millisecond, so that the deadline is over when the timer goes off.
        timer_.expires_after(std::max(capped - now, Duration::zero()) +
                             std::chrono::milliseconds(1));
        timer_.async_wait([this](boost::system::error_code error) {
            if (error) return;  // re-armed for an earlier time, or stopped
            armed_for_.reset();
            on_due_();
        });
    }

    void stop() {
        armed_for_.reset();
        timer_.cancel();
    }

private:
    boost::asio::steady_timer timer_;
    std::function<void()> on_due_;
    std::optional<Time> armed_for_;
};

Deadline::Deadline(boost::asio::io_context& context, std::function<void()> on_due)
    : impl_(std::make_unique<Impl>(context, std::move(on_due))) {}
Deadline::~Deadline() = default;
void Deadline::arm(Time now, std::optional<Time> when) { impl_->arm(now, when); }
void Deadline::stop() { impl_->stop(); }

}  // namespace latchd::runtime
