// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_tier_fixture.hpp"

#include <stdexcept>

namespace latchd::testing {

using namespace core::authority;

TierRun::TierRun(const RedisProcess& server,
                 std::string node,
                 const std::function<void(store::redis::Options&)>& tweak)
    : OperationRun(std::move(node)) {
    store::redis::Options options;
    options.path = server.socket_path();
    options.node = NodeName(node_);
    if (tweak) tweak(options);
    const auto boot_now = [this] { return runtime::boot_time() + skew; };
    tier_ = store::redis::make_tier(context_, options, boot_now, 3, *this, *this);
    tier_->start();
}

void TierRun::deliver(core::Event&& event) {
    if (keep_outcome(event)) return;
    if (auto* message = std::get_if<core::NodeMessage>(&event)) {
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

}  // namespace latchd::testing
