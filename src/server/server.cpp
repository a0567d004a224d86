// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The end of a node, in this order: no new connections; the core is told to drain (waiters are
// answered, KEEP locks renewed once more); when it has done so, or after drain_max, no session runs
// a further command and each is closed when its replies have left, which releases ONCLOSE locks;
// when the last is gone and these are released, or after flush_max, a fleet's node hands what it
// still holds to the arbiter, for leave_max; then the process may end. All three bounds are there
// because neither a dead store nor a client that doesn't read may keep a service from stopping.

#include "accepted.hpp"
#include "crew_member.hpp"
#include "node_host.hpp"
#include "node_shell.hpp"
#include "sessions.hpp"

#include <latchd/command/dispatcher.hpp>
#include <latchd/runtime/ticker.hpp>
#include <latchd/server/crew.hpp>
#include <latchd/server/server.hpp>
#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/socket.h>
#include <utility>

namespace latchd::server {
namespace {

// The core gives its drain two seconds.
constexpr auto drain_max = std::chrono::milliseconds(2'500);
constexpr auto flush_max = std::chrono::milliseconds(500);
constexpr auto leave_max = std::chrono::milliseconds(2'000);
constexpr auto tick = std::chrono::milliseconds(250);
constexpr int ticks_per_second = 4;
// A loop that was late by so much is worth an entry in LATENCY.
constexpr auto lag_min = std::chrono::milliseconds(20);

}  // namespace

class Server::Impl final : public Audience, public CrewMember {
public:
    Impl(boost::asio::io_context& context, Parts parts)
        : context_(context),
          options_(std::move(parts.options)),
          own_crew_(parts.crew == nullptr ? std::make_unique<Crew>() : nullptr),
          crew_(parts.crew == nullptr ? *own_crew_ : *parts.crew),
          loop_(parts.loop),
          registry_(*parts.registry),
          listeners_(std::move(parts.listeners)),
          on_finished_(std::move(parts.on_finished)),
          on_left_(std::move(parts.on_left)),
          incarnation_(parts.node.incarnation),
          shell_(context,
                 {.options = std::move(parts.node),
                  .registry = parts.registry,
                  .names = parts.names,
                  .grants = parts.grants},
                 *this),
          sessions_(options_.session, options_.tcp, shell_, crew_, loop_),
          host_({.options = &options_,
                 .settings = std::move(parts.settings),
                 .registry = parts.registry,
                 .shell = &shell_,
                 .sessions = &sessions_,
                 .endpoints = &listeners_->endpoints(),
                 .crew = &crew_,
                 .loop = loop_,
                 .drain = [this] { begin_drain(); },
                 .incarnation = incarnation_}),
          dispatcher_(std::move(parts.command), host_),
          ticker_(context, tick, [this] { on_tick(); }),
          end_timer_(context) {
        sessions_.attach(dispatcher_);
        crew_.join(loop_, context, *this);
        ticker_.start();
    }

    ~Impl() override {
        crew_.leave(loop_);
        shell_.stop();
        sessions_.close_all();
    }

    store::Sink& sink() noexcept { return shell_; }
    void attach(store::Store& store) noexcept { shell_.attach(store); }

    void serve() {
        listeners_->start([this](Accepted&& accepted) {
            if (accepted.family == AF_UNIX && hand_round(accepted)) return;
            take_in(std::move(accepted));
        });
    }

    void tell(const core::authority::Changed& change) {
        shell_.later([this, change] { dispatcher_.publish(change); });
    }

    [[nodiscard]] std::string status_line() const {
        const command::NodeStatus status = host_.status();
        const core::NodeCounts counts = shell_.node().counts();
        std::string line = status.state;
        if (status.reason != "-") line += ": " + status.reason;
        if (status.state == "ok" || status.state == "degraded") {
            line += ": tier " + status.tier + ", epoch " + std::to_string(status.epoch);
        }
        std::uint64_t held = counts.held;
        std::uint64_t waiting = counts.waiting;
        std::size_t unwell = 0;
        for (std::size_t i = 0; i < crew_.size(); ++i) {
            if (i == loop_) continue;
            const Crew::Pulse& pulse = crew_.pulse(i);
            held += pulse.held.load();
            waiting += pulse.waiting.load();
            if (!pulse.is_ok.load()) ++unwell;
        }
        line +=
            "; " + std::to_string(held) + " locks held, " + std::to_string(waiting) + " waiting";
        if (unwell == 0) return line;
        return line + "; of the other loops " + std::to_string(unwell) + " not ok";
    }

    // CrewMember
    void take_in(Accepted&& accepted) override {
        shell_.begin_turn();
        sessions_.accept(context_, std::move(accepted));
        shell_.end_turn();
    }
    void kill_client(ClientId id) override {
        in_turn([this, id] { host_.kill_client(id); });
    }
    void hear(const core::Happened& event) override {
        in_turn([this, &event] { dispatcher_.publish(event); });
    }
    void set_resource(const core::authority::WriteResource& resource) override {
        if (resource.settings) {
            registry_.set(resource.name, *resource.settings);
        } else {
            registry_.erase(resource.name.view());
        }
    }
    void report(const command::Gathering& gathering,
                std::size_t asker,
                std::uint64_t number) override {
        shell_.refresh_now();
        // Refused, the asker does without.
        (void)crew_.post(asker,
                         [number, report = dispatcher_.report(gathering)](CrewMember& member) {
                             member.reported(number, report);
                         });
    }
    void reported(std::uint64_t number, std::shared_ptr<const command::Report> report) override {
        sessions_.gatherer().reported(number, std::move(report));
    }
    void list(const core::ListCommand& command, std::vector<core::LockView> rows) override {
        in_turn([&] { sessions_.list(core::ListCommand(command), std::move(rows)); });
    }
    void begin_drain() override { drain(Ending::draining); }
    void stop() override { end(); }

    void finish() override {
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
        end_after(flush_max, &Impl::leave);
        shell_.begin_turn();
        sessions_.finish_all();
        shell_.end_turn();
    }

    // The clients are gone, and what they gave back by that is under way.
    void await_releases() {
        if (leaving_ || std::exchange(releasing_, true)) return;
        shell_.deliver(core::DrainStarted{});
    }

    // What the node still holds goes to the fleet before the node is silent.
    void leave() {
        if (std::exchange(leaving_, true)) return;
        store::FleetDesk* const desk =
            shell_.store() == nullptr ? nullptr : shell_.store()->fleet();
        if (desk == nullptr) return end();
        end_after(leave_max, &Impl::end);
        desk->leave([this](bool done, const std::string&) {
            telemetry::log(telemetry::Level::info,
                           "node.left",
                           done ? "the locks of this node are with the arbiter"
                                : "the arbiter was not told: this node counts as lost for a while");
            if (done && on_left_) on_left_();
            end();
        });
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

    template <class Work>
    void in_turn(Work&& work) {
        shell_.begin_turn();
        work();
        shell_.end_turn();
    }

    // SO_REUSEPORT does not spread Unix sockets: the first loop accepts for all.
    bool hand_round(Accepted& accepted) {
        next_loop_ = (next_loop_ + 1) % crew_.size();
        if (next_loop_ == loop_) return false;
        const auto parcel = std::make_shared<Accepted>(std::move(accepted));
        if (crew_.post(next_loop_,
                       [parcel](CrewMember& member) { member.take_in(std::move(*parcel)); })) {
            return true;
        }
        accepted = std::move(*parcel);
        return false;
    }

    void beat() {
        Crew::Pulse& pulse = crew_.pulse(loop_);
        const core::NodeCounts counts = shell_.node().counts();
        pulse.held.store(counts.held);
        pulse.waiting.store(counts.waiting);
        pulse.is_ok.store(host_.status().state == "ok");
        pulse.beats.fetch_add(1);
    }

    void on_tick() {
        shell_.begin_turn();
        note_lag();
        if (crew_.size() > 1) beat();
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

    // As Audience within a turn; as CrewMember outside of one, of which it then makes one.
    void answered(const core::Ticket& ticket, const core::Outcome& outcome) override {
        if (shell_.is_in_turn()) return sessions_.answered(ticket, outcome);
        in_turn([this, &ticket, &outcome] { sessions_.answered(ticket, outcome); });
    }
    void happened(const core::Happened& happened) override {
        dispatcher_.publish(happened);
        if (crew_.size() == 1 || crew_.listening.load() == 0) return;
        const std::size_t deaf =
            crew_.post_to_others(loop_, [happened](CrewMember& member) { member.hear(happened); });
        if (deaf == 0) return;
        telemetry::log(telemetry::Level::warning,
                       "event.dropped",
                       "subscribers on " + std::to_string(deaf) +
                           " other loops miss an event: too much waits for these loops");
    }
    void drained() override {
        drained_ = true;
        // After the answers of this step.
        if (releasing_) {
            boost::asio::post(context_, [this] { leave(); });
        } else if (finishing_) {
            boost::asio::post(context_, [this] { close_sessions(); });
        }
    }
    void turn_ended() override {
        sessions_.flush_turn();
        if (closing_ && sessions_.size() == 0) await_releases();
    }

    boost::asio::io_context& context_;
    Options options_;
    std::unique_ptr<Crew> own_crew_;
    Crew& crew_;
    std::size_t loop_;
    core::Registry& registry_;
    std::size_t next_loop_ = 0;
    std::unique_ptr<Listeners> listeners_;
    std::function<void()> on_finished_;
    std::function<void()> on_left_;
    core::authority::Incarnation incarnation_;
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
    bool releasing_ = false;
    bool leaving_ = false;
    bool ended_ = false;
};

Server::Server(boost::asio::io_context& context, Parts parts)
    : impl_(std::make_unique<Impl>(context, std::move(parts))) {}
Server::~Server() = default;
store::Sink& Server::sink() noexcept { return impl_->sink(); }
void Server::attach(store::Store& store) { impl_->attach(store); }
void Server::serve() { impl_->serve(); }
void Server::tell(const core::authority::Changed& change) { impl_->tell(change); }
std::string Server::status_line() const { return impl_->status_line(); }
void Server::finish() { impl_->finish(); }

}  // namespace latchd::server
