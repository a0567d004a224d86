// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The composition root. Order of the start: bind (the port is part of the node's name), take the
// node's folders, read what a former process left, build, open the store, accept, tell the service
// manager. No step waits for a store: a node without one answers -NOSTORE, which helps its clients
// more than a refused connection.

#include "process.hpp"

#include "keeping.hpp"
#include "mapping.hpp"

#include <latchd/core/authority/epoch.hpp>
#include <latchd/runtime/clock.hpp>
#include <latchd/runtime/notify.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/runtime/signals.hpp>
#include <latchd/runtime/ticker.hpp>
#include <latchd/server/server.hpp>
#include <latchd/store/local/store.hpp>
#include <latchd/store/redis/store.hpp>
#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace latchd::app {
namespace {

using telemetry::Level;

class Names final : public core::NameSource {
public:
    [[nodiscard]] std::string draw() override { return random_.draw(); }
    [[nodiscard]] std::uint64_t draw_number() { return random_.draw_number(); }

    // 40 hexadecimal digits, as Redis's run id.
    [[nodiscard]] std::string draw_run_id() {
        constexpr char digits[] = "0123456789abcdef";
        std::string id;
        while (id.size() < 40) id += digits[random_.draw_number() & 15u];
        return id;
    }

private:
    runtime::RandomNames random_;
};

std::int64_t wall_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

class Process {
public:
    explicit Process(const config::Invocation& invocation)
        : options_(invocation.options),
          server_options_(server_options(options_)),
          listeners_(std::make_unique<server::Listeners>(context_, server_options_.listeners)),
          endpoints_(listeners_->endpoints()) {
        server_options_.config_file = invocation.config_file;
        server_options_.run_id = names_.draw_run_id();
        name_by_real_port();
        fill_registry(options_, registry_);
    }

    // False: another process is this node.
    [[nodiscard]] bool take_folders() {
        std::string refusal;
        keeping_ = Keeping::open(options_, runtime::boot_time(), refusal);
        if (keeping_) return true;
        telemetry::log(Level::error, "node.refused", refusal);
        return false;
    }

    // False: no epoch can be chosen without an operator.
    [[nodiscard]] bool build() {
        core::NodeOptions node = node_options(options_);
        node.incarnation = names_.draw_number();
        server::Parts parts;
        parts.options = server_options_;
        parts.listeners = std::move(listeners_);
        parts.command = command_options(options_);
        parts.settings = settings(options_);
        parts.node = std::move(node);
        parts.registry = &registry_;
        parts.names = &names_;
        parts.grants = keeping_.get();
        parts.on_finished = [this] { context_.stop(); };
        server_ = std::make_unique<server::Server>(context_, std::move(parts));
        return make_store();
    }

    void run() {
        const runtime::Signals signals(
            context_,
            {.drain = [this] { drain(); },
             .stop = [this] { context_.stop(); },
             .reload =
                 [] {
                     telemetry::log(
                         Level::warning,
                         "config.reload",
                         "not part of this version: the configuration is read at the start");
                 }});
        store_->start();
        server_->serve();
        announce();
        runtime::Ticker ticker(context_, std::chrono::seconds(1), [this] { tell_status(); });
        ticker.start();
        const auto watchdog = start_watchdog();
        context_.run();
        store_->stop();
    }

private:
    // With port 0 the name says which port it became: two such nodes of a host are two nodes.
    void name_by_real_port() {
        const server::Endpoint& first = endpoints_.front();
        constexpr std::string_view unknown = ":0";
        if (first.is_unix() || !options_.node.ends_with(unknown)) return;
        options_.node.resize(options_.node.size() - unknown.size());
        options_.node += ":" + std::to_string(first.port);
    }

    [[nodiscard]] bool make_store() {
        const config::Store& chosen = options_.stores.front();
        std::vector<core::GrantRecord> records = keeping_->take_records();
        if (!records.empty()) {
            telemetry::log(
                Level::info,
                "node.restarted",
                std::to_string(records.size()) + " grants of the former process are taken over");
            server_->sink().deliver(core::Restarted{records});
        }
        store_ = chosen.kind == config::StoreKind::redis ? make_redis(chosen)
                                                         : make_local(chosen, std::move(records));
        if (store_) server_->attach(*store_);
        return store_ != nullptr;
    }

    std::unique_ptr<store::Store> make_redis(const config::Store& chosen) {
        store::redis::Surroundings surroundings;
        surroundings.boot_now = runtime::boot_time;
        surroundings.wall_ms = wall_ms;
        surroundings.known = keeping_->known();
        surroundings.save = [this](const core::authority::Known& known) { keeping_->save(known); };
        return store::redis::make_store(
            context_, redis_options(options_, chosen), std::move(surroundings), server_->sink());
    }

    std::unique_ptr<store::Store> make_local(const config::Store& chosen,
                                             std::vector<core::GrantRecord> records) {
        namespace authority = core::authority;
        const auto wall = static_cast<authority::WallMs>(wall_ms());
        const authority::EpochChoice choice =
            authority::choose_epoch({.known = keeping_->known().epoch}, wall);
        if (choice.epoch == 0) {
            telemetry::log(Level::error, "store.refused", choice.refusal);
            return nullptr;
        }
        save_epoch(choice.epoch);
        store::local::Options local;
        local.name = chosen.name;
        local.node = NodeName(options_.node);
        local.epoch = choice.epoch;
        local.counter = authority::counter_start(choice.epoch, wall);
        local.records = std::move(records);
        local.boot_now = runtime::boot_time;
        local.save_epoch = [this](Epoch epoch) { save_epoch(epoch); };
        return store::local::make_store(std::move(local), server_->sink());
    }

    void save_epoch(Epoch epoch) {
        keeping_->save({.uuid = keeping_->known().uuid, .epoch = epoch});
    }

    void announce() {
        const config::Store& chosen = options_.stores.front();
        const std::string from = chosen.kind == config::StoreKind::redis
                                     ? chosen.name + " (" + chosen.address.to_string() + ")"
                                     : "the embedded table";
        std::string where;
        for (const server::Endpoint& endpoint : endpoints_) {
            where += (where.empty() ? "" : ", ") + endpoint.to_string();
        }
        const server::Endpoint& first = endpoints_.front();
        const std::string door =
            first.is_unix() ? "-s " + first.path : "-p " + std::to_string(first.port);
        telemetry::log(Level::info,
                       "node.started",
                       "latchd " LATCHD_VERSION " serves locks on " + where + " from " + from +
                           " as node " + options_.node + "; try: redis-cli " + door +
                           " LOCK order:settle 1001 PX 30000");
        if (runtime::notify_support() == runtime::NotifySupport::missing) {
            telemetry::log(
                Level::error,
                "notify.missing",
                "NOTIFY_SOCKET is set, but this build lacks libsystemd: the service "
                "manager will wait in vain; set Type=exec or build with -Dsystemd=enabled");
        }
        runtime::notify_ready(server_->status_line());
    }

    void tell_status() {
        std::string status = server_->status_line();
        if (status == last_status_) return;
        runtime::notify_status(status);
        last_status_ = std::move(status);
    }

    // On the loop that serves: a loop that hangs doesn't ping. A store's outage changes nothing.
    std::unique_ptr<runtime::Ticker> start_watchdog() {
        const auto period = runtime::watchdog_period();
        if (!period) return nullptr;
        auto ticker = std::make_unique<runtime::Ticker>(
            context_, std::chrono::duration_cast<std::chrono::milliseconds>(*period / 3), [] {
                runtime::notify_watchdog();
            });
        ticker->start();
        return ticker;
    }

    void drain() {
        runtime::notify_stopping("draining");
        server_->finish();
    }

    config::Options options_;
    boost::asio::io_context context_{1};
    Names names_;
    core::Registry registry_;
    server::Options server_options_;
    std::unique_ptr<server::Listeners> listeners_;
    std::vector<server::Endpoint> endpoints_;
    std::unique_ptr<Keeping> keeping_;
    std::unique_ptr<store::Store> store_;
    std::unique_ptr<server::Server> server_;  // before the store goes
    std::string last_status_;
};

}  // namespace

int serve(const config::Invocation& invocation) {
    telemetry::open_log(log_options(invocation.options));
    std::unique_ptr<Process> process;
    try {
        process = std::make_unique<Process>(invocation);
    } catch (const std::runtime_error& error) {
        telemetry::log(Level::error, "node.refused", error.what());
        return exit_unavailable;
    }
    if (!process->take_folders()) return exit_unavailable;
    if (!process->build()) return config::exit_configuration;
    process->run();
    telemetry::log(Level::info, "node.ended", "all done");
    telemetry::sum_up_log();
    return 0;
}

}  // namespace latchd::app
