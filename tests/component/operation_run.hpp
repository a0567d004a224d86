// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/node.hpp>
#include <latchd/core/lock/operation.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace latchd::testing {

inline const LockKey settle_1001{ResourceName("order:settle"), LockId("1001")};

// One node's lock operations on a store, and what became of them. Everything runs in run_until(),
// which has a deadline and waits on what the store says, never for a time.
class OperationRun {
public:
    explicit OperationRun(std::string node) : node_(std::move(node)) {}
    virtual ~OperationRun() = default;
    OperationRun(const OperationRun&) = delete;
    OperationRun& operator=(const OperationRun&) = delete;

    bool run_until(const std::function<bool()>& is_done,
                   std::chrono::milliseconds patience = std::chrono::seconds(15));
    // Carries out what is ready, such as the write of what was submitted.
    void turn() { context_.poll(); }

    core::OperationId submit(core::Operation operation);
    using Outcome = std::variant<core::OperationReply, core::StoreFailed>;
    Outcome outcome(core::OperationId id);
    // Submit and wait; end the test with what was said instead of a reply, or of a failure.
    core::OperationReply reply(core::Operation operation);
    core::StoreFailed failure(core::Operation operation);
    core::Status status(core::Operation operation) {
        return reply(std::move(operation)).reply.status;
    }
    [[nodiscard]] std::size_t outcomes() const { return outcomes_.size(); }
    [[nodiscard]] std::size_t unanswered() const { return outstanding_; }

    core::Acquire acquire(const LockKey& key = settle_1001);
    core::Release release(const core::Acquire& of) const {
        return {of.key, of.token, of.node, std::nullopt};
    }
    core::Renew renew(const core::Acquire& of) const {
        return {of.key, of.token, of.node, std::nullopt, false};
    }
    core::Undo undo(const core::Acquire& of) const {
        return {of.key, of.request, of.attempt, of.node, std::nullopt};
    }

protected:
    virtual void give(core::OperationId id, core::Operation&& operation) = 0;
    // Keeps the outcome of an operation. False: the event is none.
    bool keep_outcome(core::Event& event);

    boost::asio::io_context context_{1};
    std::string node_;

private:
    std::vector<std::pair<core::OperationId, Outcome>> outcomes_;
    std::size_t outstanding_ = 0;
    std::uint64_t number_ = 0;
};

}  // namespace latchd::testing
