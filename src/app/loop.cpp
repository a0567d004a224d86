// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// One node. What differs between the loops of a process is only where the grants are kept: of a
// fleet's nodes each has its own folders and its own journal, as hosts have. Of the embedded table
// the first loop is the owner; its journal has what the table has, whatever loop it came from, so
// that a process with another number of loops goes on with all of it.

#include "loop.hpp"

#include "fleet.hpp"
#include "mapping.hpp"
#include "process.hpp"

#include <latchd/runtime/clock.hpp>
#include <latchd/server/listeners.hpp>
#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>

#include <limits>
#include <utility>

namespace latchd::app {
namespace {

using telemetry::Level;

std::string node_name(const config::Options& options, std::size_t index) {
    return index == 0 ? options.node : options.node + "/" + std::to_string(index + 1);
}

}  // namespace

// What the node writes down, and where. With a table that other loops use, too, nothing is dropped
// by the node's word alone: the lock may have gone on through another loop.
class Loop::Grants final : public server::GrantLog {
public:
    // nullptr: the owner of the table has written it down before it answers.
    // `warning`: of that owner.
    Grants(Keeping* keeping, std::string warning)
        : keeping_(keeping), warning_(std::move(warning)) {}

    // Once the store is there.
    void attach(store::local::SharedStore& store) {
        forget_ = [&store](const LockKey& key, Fence fence) { store.forget(key, fence); };
    }
    void attach(store::local::WindowStore& store) {
        forget_ = [&store](const LockKey& key, Fence fence) { store.forget(key, fence); };
        room_ = [&store] { return store.room(); };
    }

    [[nodiscard]] bool put(const core::GrantRecord& record, Time now) override {
        return keeping_ == nullptr || keeping_->put(record, now);
    }
    void drop(const LockKey& key, Fence fence) override {
        if (forget_) {
            forget_(key, fence);
        } else if (keeping_ != nullptr) {
            keeping_->drop(key, fence);
        }
    }
    [[nodiscard]] std::size_t room() override {
        if (keeping_ != nullptr) return keeping_->room();
        return room_ ? room_() : std::numeric_limits<std::size_t>::max();
    }
    [[nodiscard]] std::string warning() const override {
        return keeping_ != nullptr ? keeping_->warning() : warning_;
    }

private:
    Keeping* keeping_;
    std::string warning_;
    std::function<void(const LockKey&, Fence)> forget_;
    std::function<std::size_t()> room_;
};

Loop::Loop(boost::asio::io_context& context, std::size_t index, const config::Options& options)
    : index_(index), options_(options), name_(node_name(options, index)), context_(context) {
    options_.node = name_.str();
    fill_registry(options_, registry_);
}

Loop::~Loop() = default;

bool Loop::is_embedded() const { return !config::arbiter_index(options_); }

bool Loop::take_folders() {
    if (is_embedded() && !is_first()) return true;
    std::string refusal;
    keeping_ = Keeping::open(options_, runtime::boot_time(), refusal);
    if (keeping_) return true;
    telemetry::log(Level::error, "node.refused", refusal);
    return false;
}

std::string Loop::keeping_warning() const { return keeping_ ? keeping_->warning() : ""; }

std::vector<core::GrantRecord> Loop::take_records() {
    return keeping_ ? keeping_->take_records() : std::vector<core::GrantRecord>();
}

int Loop::build(const Shared& shared,
                std::unique_ptr<server::Listeners> listeners,
                std::vector<core::GrantRecord> of_table) {
    incarnation_ = names_.draw_number();
    if (keeping_) keeping_->begin(incarnation_);
    make_server(shared, std::move(listeners));
    if (!records_.empty()) {
        telemetry::log(Level::info,
                       "node.restarted",
                       name_.str() + ": " + std::to_string(records_.size()) +
                           " grants of the former process are taken over");
        server_->sink().deliver(core::Restarted{std::move(records_)});
    }
    store_ = make_store(shared, std::move(of_table));
    if (store_) server_->attach(*store_);
    return refused_with_;
}

void Loop::make_server(const Shared& shared, std::unique_ptr<server::Listeners> listeners) {
    grants_ = std::make_unique<Grants>(keeping_.get(), shared.warning);
    core::NodeOptions node = node_options(options_);
    node.incarnation = incarnation_;
    server::Parts parts;
    parts.options = shared.server;
    parts.listeners = std::move(listeners);
    parts.crew = &shared.crew;
    parts.loop = index_;
    parts.command = command_options(options_);
    parts.command.loop = static_cast<std::uint32_t>(index_ + 1);
    parts.settings = settings(options_);
    parts.node = std::move(node);
    parts.registry = &registry_;
    parts.names = &names_;
    parts.grants = grants_.get();
    parts.on_finished = shared.on_finished;
    parts.on_left = [this] {
        if (keeping_) keeping_->leave();
    };
    server_ = std::make_unique<server::Server>(context_, std::move(parts));
}

std::unique_ptr<store::Store> Loop::make_store(const Shared& shared,
                                               std::vector<core::GrantRecord> of_table) {
    if (is_embedded()) return make_embedded(shared, std::move(of_table));
    FleetParts parts{
        .options = options_,
        .keeping = *keeping_,
        .registry = registry_,
        .names = names_,
        .incarnation = incarnation_,
        .desk = is_first() ? shared.desk : nullptr,
        .former_of_host = std::move(of_table),
        .window = {},
        .changed = [this](const core::authority::Changed& change) { server_->tell(change); }};
    if (!is_first()) {
        parts.window = [this, desk = shared.desk](store::Sink& sink) {
            return desk->make_window(index_, runtime::boot_time, sink);
        };
    }
    return make_fleet(context_, parts, server_->sink());
}

std::unique_ptr<store::Store> Loop::make_embedded(const Shared& shared,
                                                  std::vector<core::GrantRecord> of_table) {
    const std::string& name = options_.stores.front().name;
    if (!is_first()) {
        auto made = store::local::make_window_store(
            name,
            [this, desk = shared.desk](store::Sink& sink) {
                return desk->make_window(index_, runtime::boot_time, sink);
            },
            server_->sink());
        grants_->attach(*made);
        return made;
    }
    namespace authority = core::authority;
    const auto wall = static_cast<authority::WallMs>(wall_ms());
    const Epoch epoch = begin_epoch(wall);
    if (epoch == 0) return nullptr;
    store::local::Options local;
    local.name = name;
    local.node = name_;
    local.epoch = epoch;
    local.counter = authority::counter_start(epoch, wall);
    local.records = std::move(of_table);
    local.cancelled = keeping_->take_cancelled();
    local.boot_now = runtime::boot_time;
    local.keep_cancelled = [this](const core::CancelledRequest& cancelled, Time now) {
        keeping_->keep_cancelled(cancelled, now);
    };
    local.save_epoch = [this](Epoch epoch) { save_epoch(epoch); };
    if (shared.desk == nullptr) return store::local::make_store(std::move(local), server_->sink());
    Keeping& keeping = *keeping_;
    store::local::Ledger ledger;
    ledger.put = [&keeping](const core::GrantRecord& record, Time now) {
        return keeping.put(record, now);
    };
    ledger.drop = [&keeping](const LockKey& key, Fence fence) { keeping.drop(key, fence); };
    ledger.room = [&keeping] { return keeping.room(); };
    auto made = store::local::make_shared_store(
        std::move(local), *shared.desk, std::move(ledger), server_->sink());
    grants_->attach(*made);
    return made;
}

Epoch Loop::begin_epoch(core::authority::WallMs wall) {
    namespace authority = core::authority;
    const authority::EpochChoice choice =
        authority::choose_epoch({.known = keeping_->known().epoch}, wall);
    if (choice.epoch == 0) {
        refused_with_ = config::exit_configuration;
        telemetry::log(Level::error, "store.refused", choice.refusal);
        return 0;
    }
    save_epoch(choice.epoch);
    if (keeping_->leaves_a_trace() || authority::is_by_clock(choice.epoch, wall)) {
        return choice.epoch;
    }
    refused_with_ = exit_unavailable;
    const std::uint64_t ahead = choice.epoch - authority::periods_at(wall);
    telemetry::log(Level::error,
                   "store.refused",
                   "nothing can be written down, and the next process would give the fences of "
                   "epoch " +
                       std::to_string(choice.epoch) + " again: " + keeping_->warning() +
                       "; without that it starts once the clock has come up to this epoch, in " +
                       std::to_string(5 * ahead) + " minutes");
    return 0;
}

void Loop::save_epoch(Epoch epoch) {
    keeping_->save({.uuid = keeping_->known().uuid, .epoch = epoch});
}

void Loop::start() {
    store_->start();
    server_->serve();
}

void Loop::run() {
    context_.run();
    store_->stop();
}

}  // namespace latchd::app
