// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The end of a node, in this order: no new connections; the core is told to drain (waiters are
// answered, KEEP locks renewed once more, ONCLOSE ones released); when it has done so, or after
// drain_max, no session runs a further command and each is closed when its replies have left; when
// the last is gone, or after flush_max, the process may end. Both bounds are there because neither
// a dead store nor a client that doesn't read may keep a service from stopping.

#include "accepted.hpp"
#include "node_host.hpp"
#include "node_shell.hpp"
#include "sessions.hpp"

#include <latchd/command/dispatcher.hpp>
#include <latchd/runtime/ticker.hpp>
#include <latchd/server/server.hpp>
#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <utility>

namespace latchd::server {
namespace {

// The core gives its drain two seconds.
constexpr auto drain_max = std::chrono::milliseconds(2'500);
constexpr auto flush_max = std::chrono::milliseconds(500);
constexpr auto tick = std::chrono::milliseconds(250);
constexpr int ticks_per_second = 4;
// A loop that was late by so much is worth an entry in LATENCY.
constexpr auto lag_min = std::chrono::milliseconds(20);

}  // namespace

class Server::Impl final : public Audience {
public:
    Impl(boost::asio::io_context& context, Parts parts)
        : context_(context),
          options_(std::move(parts.options)),
          listeners_(std::move(parts.listeners)),
          on_finished_(std::move(parts.on_finished)),
          shell_(context,
                 {.options = std::move(parts.node),
                  .registry = parts.registry,
                  .names = parts.names,
                  .grants = parts.grants},
                 *this),
          sessions_(options_.session, options_.tcp, shell_),
          host_({.options = &options_,
                 .settings = std::move(parts.settings),
                 .registry = parts.registry,
                 .shell = &shell_,
                 .sessions = &sessions_,
                 .endpoints = &listeners_->endpoints(),
                 .drain = [this] { drain(Ending::draining); },
                 .finish = [this] { finish(); },
                 .stop = [this] { end(); }}),
          dispatcher_(std::move(parts.command), host_),
          ticker_(context, tick, [this] { on_tick(); }),
          end_timer_(context) {
        sessions_.attach(dispatcher_);
        ticker_.start();
    }

    ~Impl() override {
        shell_.stop();
        sessions_.close_all();
    }

    store::Sink& sink() noexcept { return shell_; }
    void attach(store::Store& store) noexcept { shell_.attach(store); }

    void serve() {
        listeners_->start([this](Accepted&& accepted) {
            shell_.begin_turn();
            sessions_.accept(context_, std::move(accepted));
            shell_.end_turn();
        });
    }

    [[nodiscard]] std::string status_line() const {
        const command::NodeStatus status = host_.status();
        const core::NodeCounts counts = shell_.node().counts();
        std::string line = status.state;
        if (status.reason != "-") line += ": " + status.reason;
        if (status.state == "ok") {
            line += ": tier " + status.tier + ", epoch " + std::to_string(status.epoch);
        }
        return line + "; " + std::to_string(counts.held) + " locks held, " +
               std::to_string(counts.waiting) + " waiting";
    }

    void finish() {
        if (finishing_) return;
        finishing_ = true;
        listeners_->stop();
        if (drained_) return drained();
        end_after(drain_max, &Impl::close_sessions);
        drain(Ending::finishing);
    }

private:
    void drain(Ending ending) {
        host_.set_ending(ending);
        if (std::exchange(draining_, true)) return;
        telemetry::log(telemetry::Level::info, "node.draining", "no new locks are given");
        shell_.deliver(core::DrainStarted{});
    }

    // Replies of commands that were already run still leave.
    void close_sessions() {
        if (std::exchange(closing_, true)) return;
        end_after(flush_max, &Impl::end);
        shell_.begin_turn();
        sessions_.finish_all();
        shell_.end_turn();
    }

    void end() {
        if (std::exchange(ended_, true)) return;
        end_timer_.cancel();
        ticker_.stop();
        listeners_->stop();
        shell_.stop();
        // Not from here: the caller may be one of the sessions.
        boost::asio::post(context_, [this] { on_finished_(); });
    }

    void end_after(std::chrono::milliseconds time, void (Impl::*next)()) {
        end_timer_.expires_after(time);
        end_timer_.async_wait([this, next](boost::system::error_code error) {
            if (!error) (this->*next)();
        });
    }

    void on_tick() {
        shell_.begin_turn();
        note_lag();
        sessions_.on_tick();
        if (++ticks_ % ticks_per_second == 0) {
            host_.sample(dispatcher_.commands_processed());
            telemetry::sum_up_log();
        }
        shell_.end_turn();
    }

    // The ticker is the one thing that is known to be due.
    void note_lag() {
        const Time now = shell_.now();
        if (last_tick_ != Time{} && now - last_tick_ > tick + lag_min) {
            dispatcher_.note_latency("event-loop", now - last_tick_ - tick);
        }
        last_tick_ = now;
    }

    void answered(const core::Ticket& ticket, const core::Outcome& outcome) override {
        sessions_.answered(ticket, outcome);
    }
    void happened(const core::Happened& happened) override { dispatcher_.publish(happened); }
    void drained() override {
        drained_ = true;
        // After the answers of this step.
        if (finishing_) boost::asio::post(context_, [this] { close_sessions(); });
    }
    void turn_ended() override {
        sessions_.flush_turn();
        if (closing_ && sessions_.size() == 0) end();
    }

    boost::asio::io_context& context_;
    Options options_;
    std::unique_ptr<Listeners> listeners_;
    std::function<void()> on_finished_;
    NodeShell shell_;
    Sessions sessions_;
    NodeHost host_;
    command::Dispatcher dispatcher_;
    runtime::Ticker ticker_;
    boost::asio::steady_timer end_timer_;
    Time last_tick_{};
    int ticks_ = 0;
    bool draining_ = false;
    bool drained_ = false;
    bool finishing_ = false;
    bool closing_ = false;
    bool ended_ = false;
};

Server::Server(boost::asio::io_context& context, Parts parts)
    : impl_(std::make_unique<Impl>(context, std::move(parts))) {}
Server::~Server() = default;
store::Sink& Server::sink() noexcept { return impl_->sink(); }
void Server::attach(store::Store& store) { impl_->attach(store); }
void Server::serve() { impl_->serve(); }
std::string Server::status_line() const { return impl_->status_line(); }
void Server::finish() { impl_->finish(); }

}  // namespace latchd::server
