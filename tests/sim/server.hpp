// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan.hpp"
#include "timeline.hpp"

#include <latchd/core/authority/arbiter.hpp>
#include <latchd/core/authority/fleet.hpp>
#include <latchd/core/lock/operation.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace latchd::sim {

class World;
namespace authority = core::authority;

// ---- what nodes send to servers --------------------------------------------------------------

// What scripts and statements check before anything else.
struct Guard {
    Epoch epoch = 0;
    authority::Nonce nonce;
    std::uint32_t counter_seen = 0;
    std::optional<authority::StoreMs> expected;  // absent: unchecked
    Duration window{};
};
struct Hello {};  // asks for identity and marker
struct KillFormer {
    std::vector<std::uint64_t> connections;
};
struct Probe {
    std::optional<Guard> guard;  // absent: this node does not serve
};
struct Guarded {
    Guard guard;
    core::Operation operation;
};
using Call = std::variant<Hello,
                          KillFormer,
                          Probe,
                          Guarded,
                          authority::TierInitialise,
                          authority::TierLoad,
                          authority::TierCloseAndRead,
                          authority::TierNote,
                          authority::ArbiterCall>;

// ---- what they answer ------------------------------------------------------------------------

struct Known {
    authority::Identity identity;
    std::optional<authority::Marker> marker;
    std::optional<authority::StoreMs> marker_used{};
};
struct Stale {};
struct ClockOff {};
struct Probed {
    authority::StoreMs shown{};
    std::uint32_t counter = 0;
};
struct Finished {
    bool done = false;
    std::string text;
};
struct ReadBack {
    bool done = false;
    core::Claims claims;
};
struct Notes {
    std::vector<NodeName> fresh;
};
using Said = std::variant<std::monostate,
                          Notes,
                          Known,
                          Stale,
                          ClockOff,
                          Probed,
                          Finished,
                          ReadBack,
                          core::OperationReply,
                          authority::ArbiterReply>;

struct Connection;
using ConnectionPtr = std::shared_ptr<Connection>;

// Who reads a connection, within a node's process.
class Ear {
public:
    virtual ~Ear() = default;
    virtual void said(const ConnectionPtr& connection, Said&& said) = 0;
    virtual void reset(const ConnectionPtr& connection) = 0;
};

class Server;

struct Connection {
    std::uint64_t id = 0;
    std::uint64_t run = 0;  // of the server's process
    Server* server = nullptr;
    std::size_t node = 0;
    Ear* ear = nullptr;          // none: the node has given it up
    bool is_open = true;         // the server takes calls from it
    bool loses_replies = false;  // from now on
    Moment arrives{};            // the last call; calls keep their order
    Moment returns{};
    Moment held_up_until{};  // what was sent arrives then, even if the node has given it up
    std::deque<Call> inbox;  // arrived while the server stood still
};

// ---- servers ---------------------------------------------------------------------------------

// One server process after the other on one host: its clock, its connections, what it does to
// them; and the arbiter's table. What else it keeps is its kind's business.
class Server {
public:
    Server(World& world, Site site, HostClock clock);
    virtual ~Server() = default;
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] ConnectionPtr connect(std::size_t node, Ear& ear);
    static void send(const ConnectionPtr& connection, Call call);
    // The node closes it. What it sent may be executed yet.
    static void abandon(const ConnectionPtr& connection);

    // A node's connections are reset, or only lose what is answered.
    void break_connections(std::size_t node, bool answers_only);
    void freeze(Duration duration);
    void step_clock(Duration by) { clock_.step(by); }

    [[nodiscard]] Site site() const noexcept { return site_; }
    [[nodiscard]] virtual std::string label() const = 0;
    [[nodiscard]] authority::ArbiterTable& arbiter() noexcept { return arbiter_; }
    // What it says that it is, as an arbiter.
    [[nodiscard]] const std::string& arbiter_process() const { return arbiter_.identity.run_id; }
    [[nodiscard]] bool is_up() const noexcept { return is_up_; }
    [[nodiscard]] bool is_frozen() const;
    [[nodiscard]] const HostClock& clock() const noexcept { return clock_; }
    [[nodiscard]] Time local_now() const;
    [[nodiscard]] authority::StoreMs shown() const;
    [[nodiscard]] std::uint64_t run() const noexcept { return run_; }

protected:
    [[nodiscard]] virtual Said on(const Connection& from, Hello& call) = 0;
    [[nodiscard]] virtual Said on(const Connection& from, Probe& call) = 0;
    [[nodiscard]] virtual Said on(const Connection& from, Guarded& call) = 0;
    [[nodiscard]] virtual Said on(const Connection& from, authority::TierInitialise& call) = 0;
    [[nodiscard]] virtual Said on(const Connection& from, authority::TierLoad& call) = 0;
    [[nodiscard]] virtual Said on(const Connection& from, authority::TierCloseAndRead& call) = 0;
    [[nodiscard]] virtual Said on(const Connection& from, authority::TierNote& call) = 0;

    // Whether its clock is not what the node expects; unless a mutant doesn't look.
    [[nodiscard]] bool is_clock_off(const Guard& guard) const;
    [[nodiscard]] Said refuse(const Connection& from, const Guarded& call, Said why);
    void go_down();
    void come_up(bool as_another_process);

    World& world_;
    HostClock clock_;
    authority::ArbiterTable arbiter_;

private:
    [[nodiscard]] Said carry_out(const Connection& from, Call& call);
    [[nodiscard]] Said on(const Connection& from, KillFormer& call);
    [[nodiscard]] Said on(const Connection& from, authority::ArbiterCall& call);
    void arrived(const ConnectionPtr& connection, Call&& call);
    void execute(const ConnectionPtr& connection, Call&& call);
    void thaw();
    void reset(const ConnectionPtr& connection);

    Site site_;
    std::uint64_t run_;
    bool is_up_ = true;
    Moment frozen_until_{};
    std::uint64_t connection_count_ = 0;
    std::vector<ConnectionPtr> connections_;
};

}  // namespace latchd::sim
