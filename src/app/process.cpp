// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The composition root. Order of the start: bind (the port is part of the nodes' names), take the
// nodes' folders, read what a former process left, build every loop, start the threads, open the
// stores, accept, tell the service manager. No step waits for a store: a node without one answers
// -NOSTORE, which helps its clients more than a refused connection.
//
// The main thread runs the first loop, which alone hears signals and speaks to the service manager.
// The process ends when every loop has; the first one serves the host's table until then.

#include "process.hpp"

#include "loop.hpp"
#include "mapping.hpp"

#include <latchd/runtime/clock.hpp>
#include <latchd/runtime/notify.hpp>
#include <latchd/runtime/signals.hpp>
#include <latchd/runtime/ticker.hpp>
#include <latchd/server/listeners.hpp>
#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace latchd::app {
namespace {

using telemetry::Level;
using Sharing = server::ListenerOptions::Sharing;

class Process {
public:
    explicit Process(const config::Invocation& invocation)
        : options_(invocation.options), crew_(options_.threads), running_(options_.threads) {
        server::Options server = server_options(options_);
        server.config_file = invocation.config_file;
        server.run_id = Names().draw_run_id();
        listen(std::move(server));
    }

    // False: another process is one of these nodes.
    [[nodiscard]] bool take_folders() {
        return std::all_of(
            loops_.begin(), loops_.end(), [](const auto& loop) { return loop->take_folders(); });
    }

    // Else than 0: what to exit with.
    [[nodiscard]] int build() {
        if (loops_.size() > 1) make_desk();
        std::vector<core::GrantRecord> of_table = share_out_records();
        for (std::size_t i = 0; i < loops_.size(); ++i) {
            const Shared shared{.server = server_options_,
                                .crew = crew_,
                                .desk = desk_.get(),
                                .warning = first().keeping_warning(),
                                .on_finished = [this] { loop_finished(); }};
            const int refused =
                loops_[i]->build(shared, std::move(listeners_[i]), std::move(of_table));
            if (refused != 0) return refused;
            of_table.clear();
        }
        return 0;
    }

    void run() {
        const runtime::Signals signals(
            *contexts_.front(),
            {.drain = [this] { drain(); },
             .stop = [this] { stop(); },
             .reload =
                 [] {
                     telemetry::reopen_log();
                     telemetry::log(Level::info,
                                    "log.reopened",
                                    "SIGHUP: a log file is open anew; the configuration is read "
                                    "at the start only");
                 }});
        first().start();
        start_threads();
        announce();
        runtime::Ticker ticker(
            *contexts_.front(), std::chrono::seconds(1), [this] { tell_status(); });
        ticker.start();
        const auto watchdog = start_watchdog();
        first().run();
        // Until here the first loop has served the others.
        for (std::thread& thread : threads_) thread.join();
    }

private:
    [[nodiscard]] Loop& first() noexcept { return *loops_.front(); }

    // With port 0 the name says which port it became: two such nodes of a host are two nodes.
    void name_by_real_port() {
        const server::Endpoint& first = endpoints_.front();
        constexpr std::string_view unknown = ":0";
        if (first.is_unix() || !options_.node.ends_with(unknown)) return;
        options_.node.resize(options_.node.size() - unknown.size());
        options_.node += ":" + std::to_string(first.port);
    }

    void listen(server::Options server) {
        const bool is_shared = crew_.size() > 1;
        for (server::ListenerOptions& one : server.listeners) {
            one.sharing = is_shared ? Sharing::first : Sharing::alone;
        }
        for (std::size_t i = 0; i < crew_.size(); ++i) {
            contexts_.push_back(std::make_unique<boost::asio::io_context>(1));
        }
        listeners_.push_back(
            std::make_unique<server::Listeners>(*contexts_.front(), server.listeners));
        endpoints_ = listeners_.front()->endpoints();
        name_by_real_port();
        for (std::size_t i = 1; i < crew_.size(); ++i) {
            listeners_.push_back(std::make_unique<server::Listeners>(
                *contexts_[i], listeners_.front()->for_further_loop()));
        }
        for (std::size_t i = 0; i < crew_.size(); ++i) {
            loops_.push_back(std::make_unique<Loop>(*contexts_[i], i, options_));
        }
        server_options_ = std::move(server);
    }

    void make_desk() {
        std::vector<store::local::DeskLoop> ends;
        for (std::size_t i = 0; i < loops_.size(); ++i) {
            ends.push_back({loops_[i]->name(), contexts_[i].get()});
        }
        desk_ = std::make_unique<store::local::MailDesk>(ends);
    }

    // A fleet's local grants: of all loops in one table, which begins with them.
    [[nodiscard]] static std::vector<core::GrantRecord> records_of_host(
        const std::vector<std::vector<core::GrantRecord>>& parts) {
        std::vector<core::GrantRecord> all;
        for (const auto& part : parts) {
            std::copy_if(
                part.begin(),
                part.end(),
                std::back_inserter(all),
                [](const core::GrantRecord& record) { return epoch_of(record.fence) == 0; });
        }
        return all;
    }

    // Of the embedded table one journal has all records: each goes to the loop of its node's name,
    // and to the first if the process has no such loop any more. Result: all of them.
    [[nodiscard]] std::vector<core::GrantRecord> share_out_records() {
        std::vector<std::vector<core::GrantRecord>> parts;
        for (const auto& loop : loops_) parts.push_back(loop->take_records());
        std::vector<core::GrantRecord> all;
        if (config::arbiter_index(options_)) {
            if (loops_.size() > 1) all = records_of_host(parts);
        } else {
            all = std::exchange(parts.front(), {});
            for (core::GrantRecord& record : all) {
                const auto owner =
                    std::find_if(loops_.begin(), loops_.end(), [&record](const auto& loop) {
                        return loop->name() == record.node;
                    });
                const bool is_left = owner == loops_.end();
                if (is_left) record.node = first().name();
                parts[is_left ? 0 : static_cast<std::size_t>(owner - loops_.begin())].push_back(
                    record);
            }
        }
        for (std::size_t i = 0; i < loops_.size(); ++i) {
            loops_[i]->give_records(std::move(parts[i]));
        }
        return all;
    }

    void start_threads() {
        for (std::size_t i = 1; i < loops_.size(); ++i) {
            threads_.emplace_back([loop = loops_[i].get()] {
                loop->start();
                loop->run();
            });
        }
    }

    // On the thread of the loop that has.
    void loop_finished() {
        if (running_.fetch_sub(1) == 1) stop();
    }

    // Any thread.
    void stop() {
        for (const auto& context : contexts_) context->stop();
    }

    void announce() {
        std::string from;
        for (const config::Store& store : options_.stores) {
            if (!from.empty()) from += ", else ";
            from += store.kind == config::StoreKind::local
                        ? "the embedded table"
                        : store.name + " (" + store.address.to_string() + ")";
        }
        std::string where;
        for (const server::Endpoint& endpoint : endpoints_) {
            where += (where.empty() ? "" : ", ") + endpoint.to_string();
        }
        const server::Endpoint& main = endpoints_.front();
        const std::string door =
            main.is_unix() ? "-s " + main.path : "-p " + std::to_string(main.port);
        const std::string loops =
            loops_.size() == 1 ? "" : " with " + std::to_string(loops_.size()) + " event loops";
        telemetry::log(Level::info,
                       "node.started",
                       "latchd " LATCHD_VERSION " serves locks on " + where + " from " + from +
                           " as node " + options_.node + loops + "; try: redis-cli " + door +
                           " LOCK order:settle 1001 PX 30000");
        if (runtime::notify_support() == runtime::NotifySupport::missing) {
            telemetry::log(
                Level::error,
                "notify.missing",
                "NOTIFY_SOCKET is set, but this build lacks libsystemd: the service "
                "manager will wait in vain; set Type=exec or build with -Dsystemd=enabled");
        }
        runtime::notify_ready(first().server().status_line());
    }

    void tell_status() {
        std::string status = first().server().status_line();
        if (status == last_status_) return;
        runtime::notify_status(status);
        last_status_ = std::move(status);
    }

    // On the loops that serve: if one hangs, nobody pings. A store's outage changes nothing.
    std::unique_ptr<runtime::Ticker> start_watchdog() {
        const auto period = runtime::watchdog_period();
        if (!period) return nullptr;
        auto ticker = std::make_unique<runtime::Ticker>(
            *contexts_.front(),
            std::chrono::duration_cast<std::chrono::milliseconds>(*period / 3),
            [this] {
                if (all_loops_beat()) runtime::notify_watchdog();
            });
        ticker->start();
        return ticker;
    }

    // Since the last call. The first loop is the one that asks.
    bool all_loops_beat() {
        beats_.resize(loops_.size());
        bool all = true;
        for (std::size_t i = 1; i < loops_.size(); ++i) {
            const std::uint64_t beats = crew_.pulse(i).beats.load();
            if (std::exchange(beats_[i], beats) == beats) all = false;
        }
        return all;
    }

    void drain() {
        runtime::notify_stopping("draining");
        crew_.finish();
    }

    config::Options options_;
    server::Options server_options_;
    std::vector<server::Endpoint> endpoints_;
    std::vector<std::unique_ptr<boost::asio::io_context>> contexts_;
    server::Crew crew_;
    std::unique_ptr<store::local::MailDesk> desk_;
    std::vector<std::unique_ptr<server::Listeners>> listeners_;  // until their loops are built
    std::vector<std::unique_ptr<Loop>> loops_;
    std::atomic<std::size_t> running_;  // loops that have not finished
    std::vector<std::uint64_t> beats_;  // of the crew's pulses, as seen last
    std::string last_status_;
    std::vector<std::thread> threads_;
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
    if (const int refused = process->build(); refused != 0) return refused;
    process->run();
    telemetry::log(Level::info, "node.ended", "all done");
    telemetry::sum_up_log();
    return 0;
}

}  // namespace latchd::app
