// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../dialect/calls.hpp"
#include "../dialect/identity.hpp"
#include "../dialect/keys.hpp"
#include "../dialect/replies.hpp"
#include "../dialect/scripts.hpp"
#include "authority.hpp"
#include "backoff.hpp"
#include "link.hpp"
#include "pending.hpp"
#include "replicas.hpp"
#include "subscriber.hpp"

#include <latchd/base/batch_depths.hpp>
#include <latchd/core/authority/clock_offset.hpp>
#include <latchd/runtime/deadline.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/store/port.hpp>
#include <latchd/store/redis/options.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::store::redis {

// The store of one node in one Redis server. Carries out what its authority decides and what the
// node submits; of locks it has no opinion. Loop thread only.
//
// A connection goes through: greeting (AUTH, SELECT, identity), the end of its predecessor, what
// the authority asks, scripts, one good probe, open. Nothing of a former connection is waited for.
//
// Invariants:
// 1. pending_ has exactly one entry for each reply that will come on link_, in order.
// 2. While reloading_, nothing of the node is sent: held_ keeps the order of submission.
// 3. What is gathered_ comes behind all that is in pending_, and before all that is appended next.
// 4. No operation travels before the authority called serve() for the identity of this very
//    connection, and former connections with unanswered operations were killed or can't be.
class Driver final : private Link::User {
public:
    Driver(boost::asio::io_context& context,
           Options options,
           std::function<Time()> boot_now,
           Sink& sink,
           Authority& authority);
    ~Driver() override;

    void start();
    void stop();
    void submit(core::OperationId id, core::Operation&& operation);
    // All but state and epoch.
    [[nodiscard]] Health health() const;

    // ---- for the authority -------------------------------------------------------------------
    struct Serving {
        Epoch epoch = 0;
        std::string nonce;
        std::uint32_t counter = 0;
        bool same_epoch = false;  // clock offset and counter stay
        bool is_fresh = true;     // opens with the next good probe
        bool sweeps = false;
        std::optional<Duration> clock;  // the server's less this node's boot-time clock
    };
    // Only on a connection whose process is identified; else nothing happens.
    void serve(Serving&& serving);
    void close() { is_open_ = false; }
    // Nothing that was submitted is answered any more. What is under way stays in doubt: its
    // connection, should it be lost, is killed like any other.
    void withdraw();
    // Closes the connection for what was seen on it.
    void drop(const std::string& reason, Evidence evidence = Evidence::failed);

    void ask_identity(bool is_patient);
    void kill_former();
    void load_authority();
    void forget_authority_scripts() { authority_loaded_ = false; }
    void send_probe();
    // Append one command to out(), then announce its reply.
    [[nodiscard]] std::string& out() {
        append_gathered();
        return link_->out();
    }
    void expect_authority(bool is_patient = false) {
        expect(Kind::authority).is_patient = is_patient;
    }
    void listen() { subscriber_.start(); }
    void stop_listening() { subscriber_.stop(); }
    void set_error(const std::string& text) { last_error_ = text; }
    // The server does its work: the next connection need not wait for long.
    void went_well();
    void arm();

    [[nodiscard]] const ServerInfo& server() const noexcept { return server_; }
    [[nodiscard]] bool is_identified() const noexcept { return link_ && is_identified_; }
    [[nodiscard]] bool kill_works() const noexcept { return kill_works_; }
    [[nodiscard]] bool is_serving() const noexcept { return is_serving_; }
    [[nodiscard]] bool is_open() const noexcept { return is_open_; }
    [[nodiscard]] std::uint32_t counter_seen() const noexcept { return counter_seen_; }
    [[nodiscard]] const Scripts& scripts() const noexcept { return scripts_; }
    [[nodiscard]] const Scripts& authority_scripts() const noexcept { return authority_scripts_; }
    [[nodiscard]] const Keys& keys() const noexcept { return keys_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    [[nodiscard]] const std::string& last_error() const noexcept { return last_error_; }
    [[nodiscard]] Time now() const { return boot_now_(); }
    [[nodiscard]] std::string user() const {
        return options_.username.empty() ? "default" : options_.username;
    }
    [[nodiscard]] std::string address() const;

private:
    // A connection of ours that may still have operations to execute in the server.
    struct Former {
        std::string run_id;
        std::int64_t client_id = 0;
    };

    // driver.cpp: connections and time
    void link_opened() override;
    void link_replied(resp::Value&& value) override;
    void link_flushing() override;
    void link_idle() override;
    void link_closed(const std::string& reason, bool refused) override;
    void connect();
    void lost(const std::string& reason, Evidence evidence);
    void forget_link();
    void fail_unanswered(std::deque<Pending>&& pending, std::uint64_t sent);
    void on_time();
    [[nodiscard]] bool is_late(Time now) const;
    [[nodiscard]] std::optional<Time> oldest_sent() const;
    Pending& expect(Kind kind);
    void dispatch(Pending&& pending, resp::Value&& value);

    // dialogue.cpp: who is there, scripts, and serving
    void greet();
    void greeted(const resp::Value& value);
    void wish_answered(const resp::Value& value);
    void identity_part(const Pending& pending, const resp::Value& value);
    void identified(ServerInfo&& server);
    void killed(const resp::Value& value);
    void kill_refused(std::string why);
    void script_loaded(Kind kind, const resp::Value& value);
    void try_open();

    // requests.cpp: operations
    void send(std::unique_ptr<Request> request);
    void append_gathered();
    void many_answered(Pending&& pending, const resp::Value& value);
    void send_alone(std::unique_ptr<Request> request);
    void answered(Pending&& pending, const resp::Value& value);
    void scanned(Pending&& pending, const resp::Value& value);
    void deliver(const Pending& pending, Answered&& answer);
    void hand_out(core::OperationId id, core::OperationReply&& reply);
    void hand_out(std::vector<Replicas::Kept>&& kept);
    void waited(const Pending& pending, const resp::Value& value);
    void refused(Pending&& pending, Refusal&& refusal);
    void note_denied(const std::string& reason);
    void fail(const Request& request, core::Failure failure, const std::string& text);
    void hold(Pending&& pending);
    void hold_before_new(std::unique_ptr<Request> request);
    void resend_held();
    void resend_clock_refused();
    void fail_held(const std::string& text);
    [[nodiscard]] Guard guard(bool is_strict);
    [[nodiscard]] Target target(bool is_strict = false) {
        return {keys_, scripts_, guard(is_strict)};
    }

    // probes.cpp: health, clock, sweep
    void probe_answered(const Pending& pending, const resp::Value& value);
    void probe_refused(const Pending& pending, const Refusal& refusal, bool is_awaited);
    void probe_failed(const std::string& reason, Evidence evidence, bool is_late);
    void probe_timed_out();
    void measure(const Pending& pending, std::int64_t server_ms);
    void eviction_shown(const resp::Value& value);
    void message_sent(const resp::Value& value);
    [[nodiscard]] std::string unsent_warning() const;
    [[nodiscard]] std::string kill_warning() const;
    void sweep_on();
    void sweep_scanned(const resp::Value& value);
    void swept(const resp::Value& value);
    void sweep_paused(const Refusal& refusal);
    [[nodiscard]] std::string warning() const;

    boost::asio::io_context& context_;
    const Options options_;
    std::function<Time()> boot_now_;
    Sink& sink_;
    Authority& authority_;
    Keys keys_;
    runtime::RandomNames random_;
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
    bool kill_works_ = true;
    std::string kill_refusal_;  // empty: it is allowed
    std::string denial_told_;   // a probe that was not permitted, since it was open last

    // The authority.
    bool authority_loaded_ = false;
    const Scripts authority_scripts_;
    Scripts scripts_;
    bool is_serving_ = false;         // the authority's last word
    std::size_t loads_awaited_ = 0;   // of scripts_
    std::uint32_t load_serial_ = 0;   // counts loads
    std::uint32_t epoch_serial_ = 0;  // the first load of the served epoch
    std::uint32_t counter_seen_ = 0;  // of the served epoch
    bool is_open_ = false;            // operations are sent

    // Operations.
    std::size_t in_flight_ = 0;  // submitted, not answered
    std::size_t leaving_ = 0;    // commands of this turn
    BatchDepths batches_;
    std::vector<std::unique_ptr<Request>> gathered_;  // of this turn, to leave as one command
    std::uint32_t withdrawals_ = 0;
    std::deque<std::unique_ptr<Request>> held_;
    std::deque<std::unique_ptr<Request>> clock_refused_;
    bool reloading_ = false;
    Replicas replicas_;

    // Probes.
    bool is_probed_ = false;  // well, since it serves
    std::uint64_t checks_ok_ = 0;
    std::uint64_t checks_failed_ = 0;
    core::authority::ClockOffset clock_;
    std::uint32_t probe_number_ = 0;
    std::uint32_t probe_awaited_ = 0;  // 0: none
    std::optional<Time> probe_at_;     // when the next one is due
    Time probe_sent_{};
    std::optional<Refusal> write_refused_;  // of the probe whose time is still to come
    std::uint32_t late_probes_ = 0;         // in a row
    Duration last_round_trip_{};
    bool far_warned_ = false;
    bool policy_warned_ = false;
    std::optional<std::uint64_t> evicted_shown_;
    std::uint64_t evicted_ = 0;    // seen to rise by
    std::string denied_;           // why an operation was not permitted, the last time that one was
    Time denied_until_{};          // … and until when that is a warning
    std::string messages_unsent_;  // why PUBLISH is refused; empty: it isn't
    Time try_message_at_{};        // while it isn't

    // The sweep of what older epochs left.
    bool is_sweeping_ = false;
    bool sweep_awaited_ = false;
    std::uint64_t sweep_cursor_ = 0;
    std::uint64_t sweep_count_ = 0;
    Time sweep_at_{};
};

}  // namespace latchd::store::redis
