// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../dialect/calls.hpp"
#include "../dialect/identity.hpp"
#include "../dialect/keys.hpp"
#include "../dialect/replies.hpp"
#include "../dialect/scripts.hpp"
#include "link.hpp"
#include "pending.hpp"
#include "pulse.hpp"
#include "subscriber.hpp"

#include <latchd/core/authority/clock_offset.hpp>
#include <latchd/core/authority/machine.hpp>
#include <latchd/runtime/deadline.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/store/port.hpp>
#include <latchd/store/redis/store.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::store::redis {

// The store of one node in one Redis server. Carries out what the authority machine decides and
// what the node submits; of locks it has no opinion. Loop thread only.
//
// A connection goes through: greeting (AUTH, SELECT, identity), the end of its predecessor, record
// and marker, scripts, one good probe, open. Nothing of a former connection is waited for.
//
// Invariants:
// 1. pending_ has exactly one entry for each reply that will come on link_, in order.
// 2. While reloading_, nothing of the node is sent: held_ keeps the order of submission.
// 3. No operation travels before the machine said Serve for the identity of this very connection,
//    and former connections with unanswered operations were killed or can't be.
class Driver final : public Store, private Link::User {
public:
    Driver(boost::asio::io_context& context,
           Options options,
           Surroundings surroundings,
           Sink& sink);
    ~Driver() override;

    void start() override;
    void stop() override;
    void submit(core::OperationId id, core::Operation&& operation) override;
    [[nodiscard]] Health health() const override;

private:
    class Names final : public core::NameSource {
    public:
        [[nodiscard]] std::string draw() override { return names_.draw(); }
        [[nodiscard]] std::uint64_t draw_number() { return names_.draw_number(); }

    private:
        runtime::RandomNames names_;
    };
    // A connection of ours that may still have operations to execute in the server.
    struct Former {
        std::string run_id;
        std::int64_t client_id = 0;
    };

    // driver.cpp: connections and time
    void link_opened() override;
    void link_replied(resp::Value&& value) override;
    void link_idle() override;
    void link_closed(const std::string& reason, bool refused) override;
    void connect();
    void drop(const std::string& reason);
    void lost(const std::string& reason);
    void forget_link();
    void fail_unanswered(std::deque<Pending>&& pending, std::uint64_t sent);
    void on_time();
    void arm();
    [[nodiscard]] bool is_late(Time now) const;
    [[nodiscard]] std::optional<Time> oldest_sent() const;
    Pending& expect(Kind kind);
    void dispatch(Pending&& pending, resp::Value&& value);

    // dialogue.cpp: who is there, and what the authority asks for
    void greet();
    void greeted(const resp::Value& value);
    void ask_identity(bool is_patient);
    void identity_part(const Pending& pending, const resp::Value& value);
    void identified(ServerInfo&& server);
    void kill_former();
    void killed(const resp::Value& value);
    void script_loaded(Kind kind, const resp::Value& value);
    void authority_answered(const resp::Value& value);
    void tell(core::authority::AuthorityEvent&& event);
    void act(core::authority::LookUp&& action);
    void act(core::authority::Settle&& action);
    void act(core::authority::Open&& action);
    void act(core::authority::Serve&& action);
    void act(core::authority::StopServing&& action);
    void act(core::authority::DropConnection&& action);
    void act(core::authority::SaveKnown&& action);
    void act(core::Notice&& action);
    void load_authority();
    void try_open();
    void close_store(const std::string& reason, bool settling);

    // requests.cpp: operations
    void send(std::unique_ptr<Request> request);
    void answered(Pending&& pending, const resp::Value& value);
    void scanned(Pending&& pending, const resp::Value& value);
    void deliver(const Request& request, Answered&& answer);
    void refused(Pending&& pending, Refusal&& refusal);
    void fail(const Request& request, core::Failure failure, const std::string& text);
    void fail_held(const std::string& text);
    void hold(Pending&& pending);
    void resend_held();
    void resend_clock_refused();
    [[nodiscard]] Guard guard();
    [[nodiscard]] Target target() { return {keys_, scripts_, guard()}; }

    // probes.cpp: health, clock, sweep
    void send_probe();
    void probe_answered(const Pending& pending, const resp::Value& value);
    void probe_failed(const std::string& reason, bool is_late);
    void probe_timed_out();
    void measure(const Pending& pending, const Probed& probed);
    void eviction_shown(const resp::Value& value);
    void sweep_on();
    void sweep_scanned(const resp::Value& value);
    void swept(const resp::Value& value);
    void sweep_paused(const Refusal& refusal);
    [[nodiscard]] std::string warning() const;

    [[nodiscard]] Time now() const { return surroundings_.boot_now(); }
    [[nodiscard]] std::string user() const {
        return options_.username.empty() ? "default" : options_.username;
    }
    [[nodiscard]] std::string address() const;

    boost::asio::io_context& context_;
    const Options options_;
    Surroundings surroundings_;
    Sink& sink_;
    Keys keys_;
    Names names_;
    core::authority::Machine machine_;
    runtime::Deadline timer_;
    Subscriber subscriber_;
    bool is_running_ = false;

    // The connection.
    std::shared_ptr<Link> link_;
    bool is_connected_ = false;
    std::deque<Pending> pending_;
    Backoff backoff_;
    std::optional<Time> connect_at_;
    std::string last_error_ = "-";
    std::uint64_t connects_ = 0;

    // Its process.
    ServerInfo server_;
    bool is_identified_ = false;
    std::string identity_text_;
    std::int64_t client_id_ = 0;  // 0: unknown
    std::vector<Former> former_;
    std::deque<Former> killing_;
    bool is_kill_sent_ = false;  // on this connection
    bool kill_works_ = true;

    // The authority.
    std::deque<core::authority::AuthorityEvent> events_;
    bool is_telling_ = false;
    bool authority_loaded_ = false;
    const Scripts authority_scripts_;
    Scripts scripts_;
    bool is_serving_ = false;         // the machine's last word
    std::size_t loads_awaited_ = 0;   // of scripts_
    std::uint32_t load_serial_ = 0;   // counts loads
    std::uint32_t epoch_serial_ = 0;  // the first load of the served epoch
    std::uint32_t counter_seen_ = 0;  // of the served epoch
    bool is_open_ = false;            // StoreOpened was delivered, StoreClosed not yet
    bool is_settling_ = false;
    std::string closed_for_ = "starting";

    // Operations.
    std::size_t in_flight_ = 0;  // submitted, not answered
    std::deque<std::unique_ptr<Request>> held_;
    std::deque<std::unique_ptr<Request>> clock_refused_;
    bool reloading_ = false;

    // Probes.
    Pulse pulse_;
    core::authority::ClockOffset clock_;
    std::uint32_t probe_number_ = 0;
    std::uint32_t probe_awaited_ = 0;  // 0: none
    std::optional<Time> probe_at_;     // when the next one is due
    Time probe_sent_{};
    std::uint32_t late_probes_ = 0;  // in a row
    Duration last_round_trip_{};
    bool far_warned_ = false;
    bool policy_warned_ = false;
    std::optional<std::uint64_t> evicted_shown_;
    std::uint64_t evicted_ = 0;  // seen to rise by

    // The sweep of what older epochs left.
    bool is_sweeping_ = false;
    bool sweep_awaited_ = false;
    std::uint64_t sweep_cursor_ = 0;
    std::uint64_t sweep_count_ = 0;
    Time sweep_at_{};
};

}  // namespace latchd::store::redis
