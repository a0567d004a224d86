// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_tier_fixture.hpp"

#include <algorithm>
#include <stdexcept>

namespace latchd::testing {

using namespace core::authority;

TierRun::TierRun(const RedisProcess& server,
                 std::string node,
                 const std::function<void(store::redis::Options&)>& tweak)
    : node_(std::move(node)) {
    store::redis::Options options;
    options.path = server.socket_path();
    options.node = NodeName(node_);
    if (tweak) tweak(options);
    const auto boot_now = [this] { return runtime::boot_time() + skew; };
    tier_ = store::redis::make_tier(context_, options, boot_now, 3, *this, *this);
    tier_->start();
}

bool TierRun::run_until(const std::function<bool()>& is_done, std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!is_done()) {
        if (context_.run_one_until(until) == 0) return is_done();
    }
    return true;
}

void TierRun::deliver(core::Event&& event) {
    if (auto* replied = std::get_if<core::StoreReplied>(&event)) {
        outcomes_.emplace_back(replied->id, std::move(replied->reply));
    } else if (auto* failed = std::get_if<core::StoreFailed>(&event)) {
        outcomes_.emplace_back(failed->id, *failed);
    } else if (auto* message = std::get_if<core::NodeMessage>(&event)) {
        messages_.push_back(*message);
    } else if (std::holds_alternative<core::MessagesResumed>(event)) {
        ++resumed_;
    } else if (!std::holds_alternative<core::MessagesLost>(event)) {
        // That messages are lost is told with a server's end, or just after a test's.
        ADD_FAILURE() << "a tier delivers no event of kind " << event.index();
    }
}

void TierRun::happened(FleetEvent&& event) {
    std::visit(
        [](const auto& each) {
            if constexpr (requires { each.tier; }) {
                EXPECT_EQ(each.tier, 3u);
            }
        },
        event);
    if (const auto* identified = std::get_if<TierIdentified>(&event)) {
        identity_ = identified->identity;
    }
    events_.push_back(std::move(event));
}

TierDone TierRun::done(TierInitialise action) {
    const CallId id = action.id;
    act(std::move(action));
    return next<TierDone>([id](const TierDone& each) { return each.id == id; });
}
TierDone TierRun::done(TierLoad action) {
    const CallId id = action.id;
    act(std::move(action));
    return next<TierDone>([id](const TierDone& each) { return each.id == id; });
}
TierRead TierRun::read(TierCloseAndRead action) {
    const CallId id = action.id;
    act(std::move(action));
    return next<TierRead>([id](const TierRead& each) { return each.id == id; });
}
TierReady TierRun::ready(TierServe action) {
    act(std::move(action));
    return next<TierReady>();
}

Marker TierRun::marker_of(Epoch epoch, const char* nonce) const {
    return {ClusterUuid("a-cluster"), epoch, Nonce(nonce), identity_.run_id, 0};
}

void TierRun::open(Epoch epoch, const char* nonce, core::Claims claims) {
    const auto identified = next<TierIdentified>();
    served_ = marker_of(epoch, nonce);
    const TierDone initialised = done(TierInitialise{3, call(), identified.marker, served_});
    if (!initialised.done) throw std::runtime_error("not initialised: " + initialised.text);
    const TierDone loaded = done(TierLoad{3, call(), epoch, served_.nonce, std::move(claims)});
    if (!loaded.done) throw std::runtime_error("not loaded: " + loaded.text);
    serve_again();
}

void TierRun::serve_again() {
    (void)ready(TierServe{3, served_.epoch, served_.nonce, 0, std::nullopt, false});
}

core::OperationId TierRun::submit(core::Operation operation) {
    const core::OperationId id{++number_};
    tier_->submit(id, std::move(operation));
    return id;
}

TierRun::Outcome TierRun::outcome(core::OperationId id) {
    const auto is_it = [id](const auto& each) { return each.first == id; };
    const bool came =
        run_until([&] { return std::any_of(outcomes_.begin(), outcomes_.end(), is_it); });
    if (!came) throw std::runtime_error("an operation was never answered");
    const auto at = std::find_if(outcomes_.begin(), outcomes_.end(), is_it);
    Outcome outcome = std::move(at->second);
    outcomes_.erase(at);
    return outcome;
}

core::OperationReply TierRun::reply(core::Operation operation) {
    Outcome got = outcome(submit(std::move(operation)));
    if (const auto* failed = std::get_if<core::StoreFailed>(&got)) {
        throw std::runtime_error("not answered: " + failed->text);
    }
    return std::get<core::OperationReply>(std::move(got));
}

core::StoreFailed TierRun::failure(core::Operation operation) {
    Outcome got = outcome(submit(std::move(operation)));
    if (auto* failed = std::get_if<core::StoreFailed>(&got)) return std::move(*failed);
    throw std::runtime_error("answered, not refused");
}

core::Acquire TierRun::acquire(const LockKey& key) {
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
