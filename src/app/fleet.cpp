// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet.hpp"

#include "mapping.hpp"

#include <latchd/runtime/clock.hpp>
#include <latchd/store/fleet/store.hpp>
#include <latchd/store/mysql/arbiter.hpp>
#include <latchd/store/mysql/store.hpp>
#include <latchd/store/redis/arbiter.hpp>
#include <latchd/store/redis/store.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace latchd::app {
namespace {

namespace authority = core::authority;

using MakeTier = std::function<std::unique_ptr<store::Tier>(store::FleetSink&, store::Sink&)>;

MakeTier redis_tier(boost::asio::io_context& context,
                    store::redis::Options options,
                    authority::TierIndex index) {
    return [&context, options = std::move(options), index](store::FleetSink& fleet,
                                                           store::Sink& sink) {
        return store::redis::make_tier(context, options, runtime::boot_time, index, sink, fleet);
    };
}

MakeTier mysql_tier(boost::asio::io_context& context,
                    store::mysql::Options options,
                    authority::TierIndex index) {
    return [&context, options = std::move(options), index](store::FleetSink& fleet,
                                                           store::Sink& sink) {
        return store::mysql::make_tier(context, options, runtime::boot_time, index, sink, fleet);
    };
}

store::fleet::Makers makers(boost::asio::io_context& context, const config::Options& options) {
    store::fleet::Makers out;
    const auto arbiter = config::arbiter_index(options);
    for (std::size_t i = 0; i < options.stores.size(); ++i) {
        const config::Store& store = options.stores[i];
        if (store.kind == config::StoreKind::redis) {
            out.tiers.push_back(redis_tier(context, redis_options(options, store), i));
            if (arbiter != i) continue;
            out.arbiter = [&context,
                           mapped = redis_options(options, store)](store::FleetSink& fleet) {
                return store::redis::make_arbiter(context, mapped, fleet, runtime::boot_time);
            };
        } else if (store.kind == config::StoreKind::mysql) {
            out.tiers.push_back(mysql_tier(context, mysql_options(options, store), i));
            if (arbiter != i) continue;
            out.arbiter = [&context,
                           mapped = mysql_options(options, store)](store::FleetSink& fleet) {
                return store::mysql::make_arbiter(context, mapped, fleet, runtime::boot_time);
            };
        }
    }
    return out;
}

store::fleet::Surroundings surroundings(const FleetParts& parts) {
    store::fleet::Surroundings around;
    Keeping& keeping = parts.keeping;
    around.boot_now = runtime::boot_time;
    around.wall_ms = wall_ms;
    around.save = [&keeping](const authority::Known& known) { keeping.save(known); };
    around.save_local_floor = [&keeping](Fence floor) { keeping.save_local_floor(floor); };
    around.keep_cancelled = [&keeping](const core::CancelledRequest& cancelled, Time now) {
        keeping.keep_cancelled(cancelled, now);
    };
    around.keep_offset = [&keeping](Duration offset) {
        keeping.keep_offset(offset, runtime::boot_time());
    };
    around.keep_record = [&keeping](const authority::FleetRecord& record) {
        keeping.keep_record(record);
    };
    around.changed = parts.changed;
    around.registry = &parts.registry;
    return around;
}

}  // namespace

std::int64_t wall_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::unique_ptr<store::Store> make_fleet(boost::asio::io_context& context,
                                         const FleetParts& parts,
                                         store::Sink& sink) {
    authority::FleetOptions fleet = fleet_options(parts.options);
    const Keeping::Former& former = parts.keeping.former();
    fleet.incarnation = parts.incarnation;
    if (former.incarnation != 0) fleet.former = former.incarnation;
    fleet.has_journal = former.has_journal;
    fleet.arbiter_clock = former.arbiter_clock;
    fleet.kept_record = former.record;
    fleet.started_ms = wall_ms();

    store::fleet::Options options;
    const config::Store& last = parts.options.stores.back();
    if (last.kind == config::StoreKind::local) options.local_name = last.name;
    options.local_fence_floor = parts.keeping.local_fence_floor();
    options.desk = parts.desk;
    options.former_of_host = parts.former_of_host;
    if (!parts.window) options.cancelled_of_host = parts.keeping.take_cancelled();
    for (const auto& [name, settings] : parts.registry.all()) {
        options.proposed.emplace_back(ResourceName(name), settings);
    }
    store::fleet::Makers made = makers(context, parts.options);
    made.window = parts.window;
    made.decider = store::fleet::make_decider(std::move(fleet), parts.keeping.known(), parts.names);
    return store::fleet::make_store(
        context, std::move(options), surroundings(parts), std::move(made), sink);
}

}  // namespace latchd::app
