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
#include <vector>

namespace latchd::testing {

// A tier of a fleet on a real server; the test is the Fleet.
class TierRun final : public OperationRun, private store::Sink, private store::FleetSink {
public:
    explicit TierRun(const RedisProcess& server,
                     std::string node = "a",
                     const std::function<void(store::redis::Options&)>& tweak = {});
    ~TierRun() override { tier_->stop(); }

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

    [[nodiscard]] const std::vector<core::NodeMessage>& messages() const { return messages_; }
    [[nodiscard]] std::size_t resumed() const { return resumed_; }

    [[nodiscard]] store::Health health() const { return tier_->health(); }
    [[nodiscard]] core::authority::CallId call() { return core::authority::CallId{++calls_}; }

    Duration skew{};  // of this host's boot-time clock, from now on

private:
    void give(core::OperationId id, core::Operation&& operation) override {
        tier_->submit(id, std::move(operation));
    }
    void deliver(core::Event&& event) override;
    void happened(core::authority::FleetEvent&& event) override;

    std::deque<core::authority::FleetEvent> events_;
    std::vector<core::NodeMessage> messages_;
    std::size_t resumed_ = 0;
    std::uint64_t calls_ = 0;
    core::authority::Identity identity_;
    core::authority::Marker served_;
    std::unique_ptr<store::Tier> tier_;
};

class RedisTierOn : public RedisDriver {};

inline void probe_quickly(store::redis::Options& options) {
    options.check.inter = std::chrono::milliseconds(50);
}

}  // namespace latchd::testing
