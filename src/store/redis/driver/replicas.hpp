// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/core/lock/node.hpp>
#include <latchd/core/lock/operation.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace latchd::store::redis {

// wait_replicas: what was written on a connection is answered once a WAIT behind it was. One WAIT
// is under way at a time, and covers all that was sent before it; what is sent meanwhile waits for
// the next one. Too few replicas are no error: what was done is answered as it is, counted, and for
// a while nothing waits, so that a replica that is gone costs a time-out a second and not one a
// turn.
class Replicas {
public:
    struct Kept {
        std::uint64_t end = 0;  // position in the stream after the operation's last byte
        core::OperationId id{};
        core::OperationReply reply;
    };

    explicit Replicas(std::uint32_t wanted) noexcept : wanted_(wanted) {}

    [[nodiscard]] std::uint32_t wanted() const noexcept { return wanted_; }
    // How many writes were answered without the replicas' word.
    [[nodiscard]] std::uint64_t unconfirmed() const noexcept { return unconfirmed_; }
    [[nodiscard]] bool are_missing() const noexcept { return are_missing_; }
    // Why the server of this connection takes no WAIT; empty: it does.
    [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

    // Something that writes is being sent.
    void written(Time now) noexcept {
        is_due_ |= wanted_ != 0 && refusal_.empty() && now >= resumes_at_;
    }
    // Whether a WAIT has to be appended now; it counts as under way then.
    [[nodiscard]] bool begin() noexcept {
        if (!is_due_ || is_waiting_) return false;
        is_due_ = false;
        is_waiting_ = true;
        return true;
    }
    // Whether an answer that came has to wait.
    [[nodiscard]] bool holds_back() const noexcept { return is_waiting_ || is_due_; }
    void keep(Kept&& kept) { kept_.push_back(std::move(kept)); }
    void passed_unconfirmed() noexcept { ++unconfirmed_; }

    // The WAIT whose last byte is at `end` was answered. Returns what may be answered now.
    [[nodiscard]] std::vector<Kept> confirmed(std::uint64_t end);
    // As confirmed(), but by too few, or not at all: the server knows no WAIT, or allows none.
    [[nodiscard]] std::vector<Kept> missed(Time now, std::string refusal);
    // The connection ended: the server had answered these.
    [[nodiscard]] std::vector<Kept> ended();
    // Nobody waits for the answers any more. What is under way on the connection stays so.
    void withdraw() noexcept { kept_.clear(); }
    // Whether a further WAIT is wanted, once flushed.
    [[nodiscard]] bool is_due() const noexcept { return is_due_ && !is_waiting_; }

private:
    [[nodiscard]] std::vector<Kept> take_all();

    const std::uint32_t wanted_;
    std::string refusal_;      // by the server of this connection
    bool is_waiting_ = false;  // a WAIT is under way
    bool is_due_ = false;      // something was sent that none covers
    bool are_missing_ = false;
    Time resumes_at_{};
    std::uint64_t unconfirmed_ = 0;
    std::deque<Kept> kept_;  // in the order of their ends
};

}  // namespace latchd::store::redis
