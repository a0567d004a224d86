// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "operation_run.hpp"

#include <algorithm>
#include <stdexcept>

namespace latchd::testing {

bool OperationRun::run_until(const std::function<bool()>& is_done,
                             std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!is_done()) {
        if (context_.run_one_until(until) == 0) return is_done();
    }
    return true;
}

bool OperationRun::keep_outcome(core::Event& event) {
    if (auto* replied = std::get_if<core::StoreReplied>(&event)) {
        outcomes_.emplace_back(replied->id, std::move(replied->reply));
    } else if (auto* failed = std::get_if<core::StoreFailed>(&event)) {
        outcomes_.emplace_back(failed->id, *failed);
    } else {
        return false;
    }
    --outstanding_;
    return true;
}

core::OperationId OperationRun::submit(core::Operation operation) {
    const core::OperationId id{++number_};
    ++outstanding_;
    give(id, std::move(operation));
    return id;
}

OperationRun::Outcome OperationRun::outcome(core::OperationId id) {
    const auto is_it = [id](const auto& each) { return each.first == id; };
    const bool came =
        run_until([&] { return std::any_of(outcomes_.begin(), outcomes_.end(), is_it); });
    if (!came) throw std::runtime_error("an operation was never answered");
    const auto at = std::find_if(outcomes_.begin(), outcomes_.end(), is_it);
    Outcome outcome = std::move(at->second);
    outcomes_.erase(at);
    return outcome;
}

core::OperationReply OperationRun::reply(core::Operation operation) {
    Outcome got = outcome(submit(std::move(operation)));
    if (const auto* failed = std::get_if<core::StoreFailed>(&got)) {
        throw std::runtime_error("not answered: " + failed->text);
    }
    return std::get<core::OperationReply>(std::move(got));
}

core::StoreFailed OperationRun::failure(core::Operation operation) {
    Outcome got = outcome(submit(std::move(operation)));
    if (auto* failed = std::get_if<core::StoreFailed>(&got)) return std::move(*failed);
    throw std::runtime_error("answered, not refused");
}

core::Acquire OperationRun::acquire(const LockKey& key) {
    const std::string text = node_ + "-" + std::to_string(++number_);
    core::Acquire acquire;
    acquire.key = key;
    acquire.request = RequestId("request-" + text);
    acquire.attempt = {7, number_};
    acquire.token = Token("token-" + text);
    acquire.node = NodeName(node_);
    acquire.client = ClientName("a-test");
    acquire.ttl = std::chrono::seconds(30);
    acquire.retry_window = std::chrono::seconds(15);
    return acquire;
}

}  // namespace latchd::testing
