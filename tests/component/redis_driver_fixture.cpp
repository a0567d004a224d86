// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_driver_fixture.hpp"

#include <boost/asio/post.hpp>

#include <stdexcept>
#include <utility>

namespace latchd::testing {

namespace {

std::int64_t wall_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

StoreRun::StoreRun(const RedisProcess& server,
                   std::string node,
                   const std::function<void(store::redis::Options&)>& tweak)
    : OperationRun(std::move(node)) {
    store::redis::Options options;
    options.path = server.socket_path();
    options.node = NodeName(node_);
    if (tweak) tweak(options);
    const auto boot_now = [this] { return runtime::boot_time() + skew; };

    core::authority::FleetOptions fleet;
    fleet.name = options.node;
    fleet.incarnation = names_.random.draw_number() >> 12;
    fleet.tiers.push_back({"redis", "redis", {}, true});
    fleet.basis.stores = {"redis"};
    fleet.started_ms = wall_ms();
    store::fleet::Makers makers;
    makers.tiers.push_back([this, options, boot_now](store::FleetSink& to, store::Sink& sink) {
        return store::redis::make_tier(context_, options, boot_now, 0, sink, to);
    });
    makers.arbiter = [this, options, boot_now](store::FleetSink& to) {
        return store::redis::make_arbiter(context_, options, to, boot_now);
    };
    makers.decider = store::fleet::make_decider(std::move(fleet), {}, names_);
    store::fleet::Surroundings around;
    around.boot_now = boot_now;
    around.wall_ms = wall_ms;
    around.save = [this](const core::authority::Known& known) { known_ = known; };
    around.registry = &registry_;
    store_ = store::fleet::make_store(context_, {}, std::move(around), std::move(makers), *this);
    store_->start();
}

void StoreRun::deliver(core::Event&& event) {
    if (keep_outcome(event)) return;
    if (auto* wanted = std::get_if<core::ClaimsWanted>(&event)) {
        // This node holds nothing that it could hand over.
        boost::asio::post(context_, [this, epoch = wanted->epoch] {
            store_->claims_given(core::ClaimsGiven{epoch, {}});
        });
    } else {
        if (std::holds_alternative<core::StoreClosed>(event)) ++closings_;
        events_.push_back(std::move(event));
    }
}

template <class Wanted>
Wanted StoreRun::take() {
    std::optional<Wanted> found;
    run_until([&] {
        while (!found && !events_.empty()) {
            if (auto* wanted = std::get_if<Wanted>(&events_.front())) found = std::move(*wanted);
            events_.pop_front();
        }
        return found.has_value();
    });
    if (!found) throw std::runtime_error(node_ + ": waited in vain; " + health().last_error);
    return std::move(*found);
}

core::StoreOpened StoreRun::opened() {
    auto opened = take<core::StoreOpened>();
    closings_ = 0;
    return opened;
}
core::StoreClosed StoreRun::closed() { return take<core::StoreClosed>(); }
core::NodeMessage StoreRun::message() { return take<core::NodeMessage>(); }

}  // namespace latchd::testing
