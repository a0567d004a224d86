// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../support/redis_process.hpp"
#include "operation_run.hpp"
#include "redis_server.hpp"

#include <latchd/core/resource/registry.hpp>
#include <latchd/runtime/clock.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/store/fleet/store.hpp>
#include <latchd/store/redis/arbiter.hpp>
#include <latchd/store/redis/store.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace latchd::testing {

// One node's store on a real server that arbitrates about itself: a fleet's tier, its arbiter and
// what decides, driven through the store's port.
class StoreRun final : public OperationRun, private store::Sink {
public:
    StoreRun(const RedisProcess& server,
             std::string node,
             const std::function<void(store::redis::Options&)>& tweak = {});
    ~StoreRun() override { store_->stop(); }

    // The next of these, leaving out what else comes (nothing within the patience: a failure).
    core::StoreOpened opened();
    core::StoreClosed closed();
    core::NodeMessage message();

    // The tier's, whether it serves or not.
    [[nodiscard]] store::Health health() const { return store_->fleet()->stores().front(); }
    // What the tier and the arbiter say.
    [[nodiscard]] std::string troubles() const {
        return health().last_error + "; " + store_->fleet()->arbiter().last_error;
    }
    [[nodiscard]] const core::authority::Known& known() const { return known_; }
    [[nodiscard]] std::size_t closings() const { return closings_; }  // since opened()

    Duration skew{};  // of this host's boot-time clock, from now on

private:
    void give(core::OperationId id, core::Operation&& operation) override {
        store_->submit(id, std::move(operation));
    }
    void deliver(core::Event&& event) override;
    template <class Wanted>
    Wanted take();

    struct Names final : core::NameSource {
        [[nodiscard]] std::string draw() override { return random.draw(); }
        runtime::RandomNames random;
    };

    Names names_;
    core::Registry registry_;
    core::authority::Known known_;
    std::deque<core::Event> events_;
    std::size_t closings_ = 0;
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
