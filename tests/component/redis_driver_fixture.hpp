// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../support/redis_process.hpp"
#include "redis_server.hpp"

#include <latchd/core/resource/registry.hpp>
#include <latchd/runtime/clock.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/store/fleet/store.hpp>
#include <latchd/store/redis/arbiter.hpp>
#include <latchd/store/redis/store.hpp>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace latchd::testing {

inline const LockKey settle_1001{ResourceName("order:settle"), LockId("1001")};

// One node's store on a real server that arbitrates about itself: a fleet's tier, its arbiter and
// what decides, driven through the store's port. Everything runs in run_until(),
// which has a deadline and waits on what the store says, never for a time.
class StoreRun final : private store::Sink {
public:
    StoreRun(const RedisProcess& server,
             std::string node,
             const std::function<void(store::redis::Options&)>& tweak = {});
    ~StoreRun() override { store_->stop(); }

    bool run_until(const std::function<bool()>& is_done,
                   std::chrono::milliseconds patience = std::chrono::seconds(15));

    // Carries out what is ready, such as the write of what was submitted.
    void turn() { context_.poll(); }

    // The next of these, leaving out what else comes (nothing within the patience: a failure).
    core::StoreOpened opened();
    core::StoreClosed closed();
    core::NodeMessage message();

    core::OperationId submit(core::Operation operation);
    using Outcome = std::variant<core::OperationReply, core::StoreFailed>;
    Outcome outcome(core::OperationId id);
    // Submits and waits; ends the test with what was said instead of a reply.
    core::OperationReply reply(core::Operation operation);
    core::StoreFailed failure(core::Operation operation);
    core::Status status(core::Operation operation) {
        return reply(std::move(operation)).reply.status;
    }

    core::Acquire acquire(const LockKey& key = settle_1001);
    core::Release release(const core::Acquire& of) const {
        return {of.key, of.token, of.node, std::nullopt};
    }
    core::Undo undo(const core::Acquire& of) const {
        return {of.key, of.request, of.attempt, of.node, std::nullopt};
    }

    // The tier's, whether it serves or not.
    [[nodiscard]] store::Health health() const { return store_->fleet()->stores().front(); }
    // What the tier and the arbiter say.
    [[nodiscard]] std::string troubles() const {
        return health().last_error + "; " + store_->fleet()->arbiter().last_error;
    }
    [[nodiscard]] const core::authority::Known& known() const { return known_; }
    [[nodiscard]] std::size_t closings() const { return closings_; }  // since opened()
    [[nodiscard]] std::size_t unanswered() const { return outstanding_; }

    Duration skew{};  // of this host's boot-time clock, from now on

private:
    void deliver(core::Event&& event) override;
    template <class Wanted>
    Wanted take();

    struct Names final : core::NameSource {
        [[nodiscard]] std::string draw() override { return random.draw(); }
        runtime::RandomNames random;
    };

    boost::asio::io_context context_{1};
    Names names_;
    core::Registry registry_;
    core::authority::Known known_;
    std::string node_;
    std::deque<core::Event> events_;
    std::vector<std::pair<core::OperationId, Outcome>> outcomes_;
    std::size_t outstanding_ = 0;
    std::size_t closings_ = 0;
    std::uint64_t number_ = 0;
    std::unique_ptr<store::Store> store_;
};

// A server of its own for each test.
class RedisDriver : public ::testing::Test {
protected:
    void SetUp() override {
        if (!RedisProcess::is_installed()) GTEST_SKIP() << "redis-server is not installed";
        server_.start();
    }
    resp::Value command(std::initializer_list<std::string_view> arguments) {
        return RedisClient(server_.socket_path()).command(arguments);
    }
    // How often the server was asked for this, since it started or CONFIG RESETSTAT.
    int calls(const std::string& name) {
        const std::string stats = command({"INFO", "commandstats"}).string;
        const std::string field = "cmdstat_" + name + ":calls=";
        const auto at = stats.find(field);
        return at == std::string::npos ? 0 : std::stoi(stats.substr(at + field.size()));
    }

    RedisProcess server_;
};

}  // namespace latchd::testing
