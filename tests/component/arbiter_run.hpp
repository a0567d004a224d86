// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/runtime/clock.hpp>
#include <latchd/store/tier.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace latchd::testing {

// A node's arbiter on a real server, driven through its port. Everything runs in run_until(), which
// has a deadline and waits on what the arbiter says, never for a time.
class ArbiterRun final : private store::FleetSink {
public:
    using Make = std::function<std::unique_ptr<store::Arbiter>(
        boost::asio::io_context&, store::FleetSink&, std::function<Time()> boot_now)>;
    using Call = core::authority::ArbiterCall;
    using Reply = core::authority::ArbiterReply;
    using Failed = core::authority::ArbiterFailed;
    using Outcome = std::variant<core::authority::ArbiterAnswered, Failed>;

    explicit ArbiterRun(const Make& make)
        : arbiter_(make(context_, *this, [] { return runtime::boot_time(); })) {
        arbiter_->start();
    }
    ~ArbiterRun() override { arbiter_->stop(); }

    bool run_until(const std::function<bool()>& is_done,
                   std::chrono::milliseconds patience = std::chrono::seconds(15)) {
        const auto until = std::chrono::steady_clock::now() + patience;
        context_.restart();
        while (!is_done()) {
            if (context_.run_one_until(until) == 0) return is_done();
        }
        return true;
    }

    // `process`: run id of the arbiter that it is for; empty: any.
    std::uint64_t send(Call call, std::string process = {}) {
        arbiter_->act(core::authority::ArbiterDo{
            core::authority::CallId{++number_}, std::move(call), std::move(process)});
        return number_;
    }
    // Carries out what is ready, such as the write of what was sent.
    void turn() {
        context_.restart();
        context_.poll();
    }
    Outcome outcome(std::uint64_t id) {
        if (!run_until([&] { return outcomes_.contains(id); })) {
            throw std::runtime_error("a call was never answered");
        }
        Outcome outcome = std::move(outcomes_.at(id));
        outcomes_.erase(id);
        return outcome;
    }
    Outcome ask(Call call) { return outcome(send(std::move(call))); }
    Reply reply(Call call) {
        Outcome got = ask(std::move(call));
        if (auto* failed = std::get_if<Failed>(&got)) throw std::runtime_error(failed->text);
        return std::move(std::get<core::authority::ArbiterAnswered>(got).reply);
    }
    Failed failure(Call call) {
        Outcome got = ask(std::move(call));
        if (auto* failed = std::get_if<Failed>(&got)) return std::move(*failed);
        throw std::runtime_error("answered, not failed");
    }
    // Sends it until it is answered: the server may be about to come back.
    Reply reply_in_the_end(const Call& call) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(15);
        for (;;) {
            Outcome got = ask(call);
            if (auto* answered = std::get_if<core::authority::ArbiterAnswered>(&got)) {
                return std::move(answered->reply);
            }
            if (std::chrono::steady_clock::now() > until) {
                throw std::runtime_error(std::get<Failed>(got).text);
            }
        }
    }

    [[nodiscard]] store::Health health() const { return arbiter_->health(); }
    [[nodiscard]] std::size_t waiting() const { return outcomes_.size(); }

private:
    void happened(core::authority::FleetEvent&& event) override {
        if (auto* answered = std::get_if<core::authority::ArbiterAnswered>(&event)) {
            add(answered->id, std::move(*answered));
        } else if (auto* failed = std::get_if<Failed>(&event)) {
            add(failed->id, std::move(*failed));
        }
    }
    void add(core::authority::CallId id, Outcome&& outcome) {
        const auto number = static_cast<std::uint64_t>(id);
        if (!outcomes_.emplace(number, std::move(outcome)).second) {
            throw std::runtime_error("a call was answered twice");
        }
    }

    boost::asio::io_context context_{1};
    std::map<std::uint64_t, Outcome> outcomes_;
    std::uint64_t number_ = 0;
    std::unique_ptr<store::Arbiter> arbiter_;
};

}  // namespace latchd::testing
