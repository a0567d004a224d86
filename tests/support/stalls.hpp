// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace latchd::test {

// How long this process has been kept from running since this was made, as far as a thread that
// sleeps and looks at the clock can see: what a test that measures time may add to its limit on a
// machine that has other things to do.
class Stalls {
public:
    Stalls() : thread_([this] { measure(); }) {}
    Stalls(const Stalls&) = delete;
    Stalls& operator=(const Stalls&) = delete;
    ~Stalls() {
        {
            const std::scoped_lock lock(mutex_);
            is_over_ = true;
        }
        over_.notify_one();
        thread_.join();
    }

    [[nodiscard]] std::chrono::nanoseconds sum() const {
        const std::scoped_lock lock(mutex_);
        return sum_;
    }

private:
    void measure() {
        constexpr auto step = std::chrono::milliseconds(5);
        std::unique_lock lock(mutex_);
        auto looked = std::chrono::steady_clock::now();
        while (!over_.wait_until(lock, looked + step, [this] { return is_over_; })) {
            const auto now = std::chrono::steady_clock::now();
            sum_ += now - looked - step;
            looked = now;
        }
    }

    mutable std::mutex mutex_;
    std::condition_variable over_;
    bool is_over_ = false;
    std::chrono::nanoseconds sum_{};
    std::thread thread_;  // last: it uses the others
};

}  // namespace latchd::test
