// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/node.hpp>
#include <latchd/runtime/deadline.hpp>
#include <latchd/server/grant_log.hpp>
#include <latchd/store/port.hpp>

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace latchd::server {

// Who hears what the node says.
class Audience {
public:
    virtual ~Audience() = default;
    virtual void answered(const core::Ticket& ticket, const core::Outcome& outcome) = 0;
    virtual void happened(const core::Happened& happened) = 0;
    virtual void drained() = 0;
    // Everything that was ready has been handled: write what has gathered. May handle more events.
    virtual void turn_ended() = 0;
};

// How the store serves, as the node was told last.
struct StoreView {
    bool open = false;
    std::string tier;  // of the last opening
    Epoch epoch = 0;
    std::uint64_t openings = 0;
    std::string reason = "starting";  // why it is not open
};

// Runs the core: feeds it events, carries out its actions in order, keeps its one timer. Decides
// nothing.
//
// A turn is what happens between two waits of the loop: any number of events, then one flush.
// Invariants: (1) step() never nests, what is delivered meanwhile queues; (2) actions of one step
// are carried out before the next step; (3) each turn ends with Audience::turn_ended().
class NodeShell final : public store::Sink {
public:
    struct Parts {
        core::NodeOptions options;
        core::Registry* registry = nullptr;
        core::NameSource* names = nullptr;
        GrantLog* grants = nullptr;
    };

    NodeShell(boost::asio::io_context& context, Parts parts, Audience& audience);
    ~NodeShell() override;

    void attach(store::Store& store) noexcept { store_ = &store; }

    // The reading of the clock that this turn goes by.
    [[nodiscard]] Time now() const noexcept { return now_; }
    void refresh_now() noexcept;

    void begin_turn();
    void end_turn();
    [[nodiscard]] bool is_in_turn() const noexcept { return in_turn_ || stepping_; }

    // Within a turn.
    void handle(core::Event&& event);
    // From anywhere on the loop; outside of a turn the turn ends behind the handlers that are
    // ready.
    void deliver(core::Event&& event) override;

    // In a turn of its own, soon.
    void later(std::function<void()> what);

    // No step after this.
    void stop();

    [[nodiscard]] const core::Node& node() const noexcept { return node_; }
    [[nodiscard]] const StoreView& store_view() const noexcept { return view_; }
    [[nodiscard]] const store::Store* store() const noexcept { return store_; }
    [[nodiscard]] store::Store* store() noexcept { return store_; }
    // About the log of grants, standing; empty: none.
    [[nodiscard]] std::string grant_log_warning() const;

private:
    void step(core::Event&& event);
    void look_at_room();
    void tell_room(std::size_t room);
    void carry_out(core::Action& action);
    void note_store(const core::Event& event);
    void on_deadline();

    boost::asio::io_context& context_;
    Audience& audience_;
    GrantLog* grants_;
    std::size_t told_room_ = std::numeric_limits<std::size_t>::max();  // as the node knows it
    bool put_since_told_ = false;                                      // it counts each as one less
    core::Node node_;
    runtime::Deadline deadline_;
    store::Store* store_ = nullptr;
    StoreView view_;
    Time now_;

    std::vector<core::Event> queue_;
    std::vector<core::Event> taken_;  // of the queue, being handled
    core::Actions actions_;
    bool stepping_ = false;
    bool in_turn_ = false;
    bool end_posted_ = false;
    bool stopped_ = false;
};

}  // namespace latchd::server
