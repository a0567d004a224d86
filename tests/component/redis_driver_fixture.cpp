// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_driver_fixture.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
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
    : node_(std::move(node)) {
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

bool StoreRun::run_until(const std::function<bool()>& is_done, std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!is_done()) {
        if (context_.run_one_until(until) == 0) return is_done();
    }
    return true;
}

void StoreRun::deliver(core::Event&& event) {
    if (auto* replied = std::get_if<core::StoreReplied>(&event)) {
        --outstanding_;
        outcomes_.emplace_back(replied->id, std::move(replied->reply));
    } else if (auto* failed = std::get_if<core::StoreFailed>(&event)) {
        --outstanding_;
        outcomes_.emplace_back(failed->id, *failed);
    } else if (auto* wanted = std::get_if<core::ClaimsWanted>(&event)) {
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

core::OperationId StoreRun::submit(core::Operation operation) {
    const core::OperationId id{++number_};
    ++outstanding_;
    store_->submit(id, std::move(operation));
    return id;
}

StoreRun::Outcome StoreRun::outcome(core::OperationId id) {
    const auto is_it = [id](const auto& each) { return each.first == id; };
    const bool came =
        run_until([&] { return std::any_of(outcomes_.begin(), outcomes_.end(), is_it); });
    if (!came) throw std::runtime_error("an operation was never answered");
    const auto at = std::find_if(outcomes_.begin(), outcomes_.end(), is_it);
    Outcome outcome = std::move(at->second);
    outcomes_.erase(at);
    return outcome;
}

core::OperationReply StoreRun::reply(core::Operation operation) {
    Outcome got = outcome(submit(std::move(operation)));
    if (const auto* failed = std::get_if<core::StoreFailed>(&got)) {
        throw std::runtime_error("not answered: " + failed->text);
    }
    return std::get<core::OperationReply>(std::move(got));
}

core::StoreFailed StoreRun::failure(core::Operation operation) {
    Outcome got = outcome(submit(std::move(operation)));
    if (auto* failed = std::get_if<core::StoreFailed>(&got)) return std::move(*failed);
    throw std::runtime_error("answered, not refused");
}

core::Acquire StoreRun::acquire(const LockKey& key) {
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
