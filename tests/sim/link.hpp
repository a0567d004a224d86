// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis.hpp"

#include <latchd/core/authority/clock_offset.hpp>
#include <latchd/core/authority/machine.hpp>
#include <latchd/core/lock/node.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace latchd::sim {

class Member;

// The store's adapter of one node, as the port promises it: one connection at a time, kill then
// look, an identity before anything else, probes, and the real authority machine. What it does and
// in which order follows the Redis driver.
class Link {
public:
    Link(World& world, Member& member, authority::Known known, core::NameSource& names);

    void start();
    void submit(core::OperationId id, core::Operation&& operation);
    void said(const ConnectionPtr& connection, Said&& said);
    void reset(const ConnectionPtr& connection);
    void on_time();
    [[nodiscard]] std::optional<Time> next_deadline() const;

    // Whether something of this phase is under way.
    [[nodiscard]] bool has(Phase phase) const noexcept;
    [[nodiscard]] bool is_open() const noexcept { return is_open_; }
    // When the store answered last; none on a new connection.
    [[nodiscard]] std::optional<Time> heard_at() const noexcept { return heard_at_; }

private:
    struct Request {
        core::OperationId id{};
        core::Operation operation;
        bool clock_refused = false;  // once already
    };
    enum class Kind : std::uint8_t { identity, kill, authority, probe, operation };
    struct Pending {
        Kind kind{};
        bool is_patient = false;
        Time sent{};
        std::optional<Request> request;
    };

    void connect();
    void send(Kind kind, Call call, bool is_patient = false);
    void send(Request&& request);
    void lost(const std::string& reason);
    void tell(authority::AuthorityEvent&& event);
    void act(authority::LookUp& action);
    void act(authority::Settle& action);
    void act(authority::Open& action);
    void act(authority::Serve& action);
    void act(authority::StopServing& action);
    void act(authority::DropConnection& action);
    void act(authority::SaveKnown& action);
    void act(core::Notice& action);
    void answered(Request&& request, Said&& said, Time sent);
    void probed(const Said& said, Time sent);
    void send_probe();
    void resend_clock_refused();
    void close(const std::string& reason, bool settling);
    void fail(const Request& request, core::Failure failure, const std::string& text);
    [[nodiscard]] Guard guard() const;
    [[nodiscard]] Time now() const;

    World& world_;
    Member& member_;
    authority::Machine machine_;
    std::deque<authority::AuthorityEvent> events_;
    bool is_telling_ = false;

    ConnectionPtr connection_;
    std::deque<Pending> pending_;
    std::optional<Time> connect_at_;
    Duration backoff_ = std::chrono::milliseconds(50);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> former_;  // run, connection
    std::optional<Time> heard_at_;
    bool was_looked_ = false;  // on this connection

    bool is_serving_ = false;
    bool is_open_ = false;
    Epoch epoch_ = 0;
    authority::Nonce nonce_;
    std::uint32_t counter_seen_ = 0;
    authority::ClockOffset clock_;
    std::deque<Request> clock_refused_;
    std::optional<Time> probe_at_;
    bool is_probing_ = false;
};

}  // namespace latchd::sim
