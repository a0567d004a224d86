// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis_driver_fixture.hpp"

#include <latchd/store/tier.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace latchd::testing {

// A tier of a fleet on a real server; the test is the Fleet. Everything runs in run_until(), which
// has a deadline and waits on what the tier says, never for a time.
class TierRun final : private store::Sink, private store::FleetSink {
public:
    explicit TierRun(const RedisProcess& server,
                     std::string node = "a",
                     const std::function<void(store::redis::Options&)>& tweak = {});
    ~TierRun() override { tier_->stop(); }

    bool run_until(const std::function<bool()>& is_done,
                   std::chrono::milliseconds patience = std::chrono::seconds(15));
    // Carries out what is ready, such as the write of what was submitted.
    void turn() { context_.poll(); }

    // The next of these that is as wanted, leaving out what else comes (nothing within the
    // patience: a failure).
    template <class Wanted>
    Wanted next(const std::function<bool(const Wanted&)>& is_it = [](const Wanted&) {
        return true;
    }) {
        std::optional<Wanted> found;
        run_until([&] {
            while (!found && !events_.empty()) {
                if (auto* wanted = std::get_if<Wanted>(&events_.front());
                    wanted && is_it(*wanted)) {
                    found = std::move(*wanted);
                }
                events_.pop_front();
            }
            return found.has_value();
        });
        if (!found) throw std::runtime_error(node_ + ": waited in vain; " + health().last_error);
        return std::move(*found);
    }
    template <class Wanted>
    [[nodiscard]] bool has() const {
        for (const auto& event : events_) {
            if (std::holds_alternative<Wanted>(event)) return true;
        }
        return false;
    }
    void forget_events() { events_.clear(); }

    template <class Action>
    void act(Action action) {
        tier_->act(std::move(action));
    }
    core::authority::TierDone done(core::authority::TierInitialise action);
    core::authority::TierDone done(core::authority::TierLoad action);
    core::authority::TierRead read(core::authority::TierCloseAndRead action);
    core::authority::TierReady ready(core::authority::TierServe action);

    // From the first identification to TierReady, as a Fleet without any trouble does it.
    void open(Epoch epoch = 1'000, const char* nonce = "open", core::Claims claims = {});
    // The same on a server whose marker is already the one of this run.
    void serve_again();
    [[nodiscard]] core::authority::Marker marker_of(Epoch epoch, const char* nonce) const;
    [[nodiscard]] const core::authority::Identity& identity() const { return identity_; }
    [[nodiscard]] const core::authority::Marker& served() const { return served_; }

    core::OperationId submit(core::Operation operation);
    using Outcome = std::variant<core::OperationReply, core::StoreFailed>;
    Outcome outcome(core::OperationId id);
    core::OperationReply reply(core::Operation operation);
    core::StoreFailed failure(core::Operation operation);
    core::Status status(core::Operation operation) {
        return reply(std::move(operation)).reply.status;
    }
    [[nodiscard]] std::size_t outcomes() const { return outcomes_.size(); }
    [[nodiscard]] const std::vector<core::NodeMessage>& messages() const { return messages_; }
    [[nodiscard]] std::size_t resumed() const { return resumed_; }

    core::Acquire acquire(const LockKey& key = settle_1001);
    core::Release release(const core::Acquire& of) const {
        return {of.key, of.token, of.node, std::nullopt};
    }
    core::Renew renew(const core::Acquire& of) const {
        return {of.key, of.token, of.node, std::nullopt, false};
    }

    [[nodiscard]] store::Health health() const { return tier_->health(); }
    [[nodiscard]] core::authority::CallId call() { return core::authority::CallId{++calls_}; }

    Duration skew{};  // of this host's boot-time clock, from now on

private:
    void deliver(core::Event&& event) override;
    void happened(core::authority::FleetEvent&& event) override;

    boost::asio::io_context context_{1};
    std::string node_;
    std::deque<core::authority::FleetEvent> events_;
    std::vector<std::pair<core::OperationId, Outcome>> outcomes_;
    std::vector<core::NodeMessage> messages_;
    std::size_t resumed_ = 0;
    std::uint64_t number_ = 0;
    std::uint64_t calls_ = 0;
    core::authority::Identity identity_;
    core::authority::Marker served_;
    std::unique_ptr<store::Tier> tier_;
};

// A server of its own for each test.
class RedisTierOn : public ::testing::Test {
protected:
    void SetUp() override {
        if (!RedisProcess::is_installed()) GTEST_SKIP() << "redis-server is not installed";
        server_.start();
    }
    resp::Value command(std::initializer_list<std::string_view> arguments) {
        return RedisClient(server_.socket_path()).command(arguments);
    }

    RedisProcess server_;
};

inline void probe_quickly(store::redis::Options& options) {
    options.check.inter = std::chrono::milliseconds(50);
}

}  // namespace latchd::testing
