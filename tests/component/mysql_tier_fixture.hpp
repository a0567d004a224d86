// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mysql_fixture.hpp"

#include <latchd/store/mysql/store.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace latchd::testing {

// A tier and both of its sinks; what it says is kept for the test.
class TierHost final : public store::Sink, public store::FleetSink {
public:
    using Outcome = std::variant<core::OperationReply, core::StoreFailed>;

    TierHost(boost::asio::io_context& context, store::mysql::Options options);
    ~TierHost() override;

    void deliver(core::Event&& event) override;
    void happened(core::authority::FleetEvent&& event) override;

    store::Tier& tier() { return *tier_; }
    // Ends it, as a process that is killed would.
    void kill() { tier_.reset(); }
    core::OperationId submit(core::Operation operation);
    [[nodiscard]] bool is_answered(core::OperationId id) const { return outcomes_.contains(id); }

    template <class Event>
    [[nodiscard]] std::size_t count() const {
        std::size_t n = 0;
        for (const auto& event : events) n += std::holds_alternative<Event>(event) ? 1 : 0;
        return n;
    }
    template <class Event>
    [[nodiscard]] const Event* last() const {
        for (auto it = events.rbegin(); it != events.rend(); ++it) {
            if (const auto* event = std::get_if<Event>(&*it)) return event;
        }
        return nullptr;
    }
    // Since it lost its connection last.
    template <class Event>
    [[nodiscard]] bool has_told() const {
        for (auto it = events.rbegin(); it != events.rend(); ++it) {
            if (std::holds_alternative<Event>(*it)) return true;
            const auto* failed = std::get_if<core::authority::TierFailed>(&*it);
            if (failed != nullptr && !failed->is_connected) return false;
        }
        return false;
    }

    std::map<core::OperationId, Outcome> outcomes_;
    std::vector<core::authority::FleetEvent> events;
    std::vector<core::NodeMessage> messages;
    std::size_t resumed = 0;

private:
    std::uint64_t ids_ = 0;
    std::unique_ptr<store::Tier> tier_;
};

class MysqlTierTest : public MysqlTest {
protected:
    void TearDown() override;

    [[nodiscard]] store::mysql::Options tier_options(const std::string& node) const;
    TierHost& make(const store::mysql::Options& options);
    TierHost& make(const std::string& node) { return make(tier_options(node)); }
    // Until it serves: asked again whenever a connection ended meanwhile, as the fleet would.
    void serve(TierHost& host, Epoch epoch, const std::string& nonce);
    // Identified, placed and serving.
    TierHost& serving(const std::string& node);
    TierHost& serving(const store::mysql::Options& options);

    core::Acquire acquire(const std::string& id);
    core::OperationReply reply(TierHost& host, core::OperationId id);
    core::OperationReply reply(TierHost& host, core::Operation operation) {
        return reply(host, host.submit(std::move(operation)));
    }
    core::StoreFailed failure(TierHost& host, core::OperationId id);
    // Asks until it is replied, as a node would, each time served in epoch 7 by the nonce "n".
    core::OperationReply insist(
        TierHost& host,
        const core::Operation& operation,
        const std::function<void(int attempt)>& once_submitted = [](int) {});

    std::vector<std::unique_ptr<TierHost>> hosts_;
    std::uint64_t number_ = 0;
};

}  // namespace latchd::testing
