// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server.hpp"

#include <latchd/core/authority/clock_offset.hpp>
#include <latchd/core/authority/fleet.hpp>
#include <latchd/core/lock/node.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace latchd::sim {

class Member;

// Whether the store checks its clock before it carries this out.
[[nodiscard]] bool may_grant(const core::Operation& operation) noexcept;

// One tier of one node, as store::Tier promises it: one connection at a time, the identity before
// anything else, probes, kill then look, nothing delivered after a withdrawal.
class Tier final : public Ear {
public:
    Tier(World& world, Member& member, authority::TierIndex index, Site site);
    ~Tier() override;

    void start();
    void submit(core::OperationId id, core::Operation&& operation);
    void act(authority::TierLook&& action);
    void act(authority::TierInitialise&& action);
    void act(authority::TierLoad&& action);
    void act(authority::TierCloseAndRead&& action);
    void act(authority::TierServe&& action);
    void act(authority::TierNote&& action);
    void act(authority::TierWithdraw&& action);
    // What was submitted since leaves now; a pause of the node may come before.
    void flush();

    void said(const ConnectionPtr& connection, Said&& said) override;
    void reset(const ConnectionPtr& connection) override;
    void on_time();
    [[nodiscard]] std::optional<Time> next_deadline() const;

    [[nodiscard]] bool has(Phase phase) const noexcept;
    [[nodiscard]] bool has_unsent() const noexcept { return !outbox_.empty(); }
    [[nodiscard]] bool is_serving() const noexcept { return serving_.has_value(); }
    [[nodiscard]] Site site() const noexcept { return site_; }
    [[nodiscard]] std::uint64_t run() const noexcept { return connection_ ? connection_->run : 0; }

private:
    struct Request {
        core::OperationId id{};
        core::Operation operation;
        Time submitted{};
        bool clock_refused = false;  // once already
    };
    enum class Kind : std::uint8_t { hello, kill, probe, operation, act, read, note };
    struct Pending {
        Kind kind{};
        Time sent{};
        bool is_failed_probe = false;
        bool is_withdrawn = false;  // nothing of its answer is delivered
        std::optional<Request> request;
        authority::CallId call{};
    };
    struct Serving {
        Epoch epoch = 0;
        authority::Nonce nonce;
        std::uint32_t counter_seen = 0;
        std::optional<Duration> first_clock;
        bool is_ready = false;
    };

    void connect();
    Pending& send(Kind kind, Call call);
    void send(Request&& request);
    void lost(const std::string& reason, authority::TierFailed::Evidence evidence);
    void tell(authority::FleetEvent&& event);
    void fail(const Request& request, core::Failure failure, const std::string& text);
    void answered(Pending& pending, Said&& said);
    void answered(Request&& request, Said&& said, Time sent);
    void probed(const Said& said, Time sent);
    void send_probe();
    void ready();
    [[nodiscard]] Guard guard(const core::Operation* operation) const;
    [[nodiscard]] Time now() const;

    World& world_;
    Member& member_;
    authority::TierIndex index_;
    Site site_;

    ConnectionPtr connection_;
    bool is_identified_ = false;  // on this connection
    std::deque<Pending> pending_;
    std::deque<Request> outbox_;
    std::optional<Time> connect_at_;
    Duration backoff_ = std::chrono::milliseconds(50);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> former_;  // run, connection
    std::optional<Serving> serving_;
    std::optional<Time> probe_at_;
    std::optional<std::uint32_t> good_run_;  // of probes, since one failed; none: none has
    authority::ClockOffset clock_;           // the store's, while this serves
    bool checks_clock_ = false;
};

// One node's way to its arbiter, as store::Arbiter promises it.
class ArbiterLink final : public Ear {
public:
    ArbiterLink(World& world, Member& member, Site site);
    ~ArbiterLink() override;

    void act(authority::ArbiterDo&& action);
    // Nothing leaves before that.
    void stall(Duration duration);
    void said(const ConnectionPtr& connection, Said&& said) override;
    void reset(const ConnectionPtr& connection) override;
    void on_time();
    [[nodiscard]] std::optional<Time> next_deadline() const;

private:
    struct Pending {
        authority::CallId id{};
        Time sent{};
    };
    void lost(const std::string& reason);
    void spoil(authority::ArbiterCall& call) const;
    void spoil(authority::ArbiterReply& reply) const;
    [[nodiscard]] Time now() const;

    World& world_;
    Member& member_;
    Site site_;
    ConnectionPtr connection_;
    std::deque<Pending> pending_;
    Moment stalled_until_{};
};

}  // namespace latchd::sim
