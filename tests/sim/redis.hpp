// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan.hpp"
#include "timeline.hpp"

#include <latchd/core/authority/clock_offset.hpp>
#include <latchd/core/authority/machine.hpp>
#include <latchd/core/lock/table.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace latchd::sim {

class World;
namespace authority = core::authority;

// What the scripts check before anything else.
struct Guard {
    Epoch epoch = 0;
    authority::Nonce nonce;
    std::uint32_t counter_seen = 0;
    std::optional<authority::StoreMs> expected;  // absent: unchecked
};

// What nodes send to Redis.
struct Hello {};  // asks for the identity
struct KillFormer {
    std::vector<std::uint64_t> connections;
};
struct Probe {
    Guard guard;
};
struct Guarded {
    Guard guard;
    core::Operation operation;
};
using Call = std::variant<Hello,
                          KillFormer,
                          authority::LookUp,
                          authority::Settle,
                          authority::Open,
                          Probe,
                          Guarded>;

// What it answers.
struct Stale {};
struct ClockOff {};
struct Probed {
    authority::StoreMs shown{};
    std::uint32_t counter = 0;
};
using Said = std::variant<std::monostate,
                          authority::Identity,
                          authority::Sight,
                          Stale,
                          ClockOff,
                          Probed,
                          core::OperationReply>;

struct Connection {
    std::uint64_t id = 0;
    std::uint64_t run = 0;
    std::size_t node = 0;
    bool is_heard = true;        // the node listens to it
    bool is_open = true;         // the server takes calls from it
    bool loses_replies = false;  // from now on
    Moment arrives{};            // the last call; calls keep their order
    Moment returns{};
    Moment held_up_until{};  // what was sent arrives then, even if the node has given it up
    std::deque<Call> inbox;  // arrived while the server stood still
};
using ConnectionPtr = std::shared_ptr<Connection>;

// One redis-server: its process, its data, its connections. Locks are a core::Table, which the Lua
// scripts are tested against.
class Redis {
public:
    Redis(World& world, HostClock clock);

    [[nodiscard]] ConnectionPtr connect(std::size_t node);
    void send(const ConnectionPtr& connection, Call call);
    // The node gave the connection up. What it sent may still be executed.
    void abandon(const ConnectionPtr& connection);

    // Faults.
    enum class Data : std::uint8_t { none, snapshot, all };
    void restart(Data data, Duration away);
    void freeze(Duration duration);
    void flush();
    void break_connection(std::size_t node, bool answers_only);
    void save_snapshot();

    // For the end of a run: the locks that are still kept.
    [[nodiscard]] std::vector<core::GrantRecord> locks();
    [[nodiscard]] const HostClock& clock() const noexcept { return clock_; }
    // How often an epoch was opened so far.
    [[nodiscard]] std::uint64_t openings() const noexcept { return openings_; }

private:
    struct Snapshot {
        std::optional<authority::Record> record;
        std::optional<authority::Marker> marker;
        std::vector<core::GrantRecord> locks;
        Time at{};
    };

    void arrived(const ConnectionPtr& connection, Call&& call);
    void execute(const ConnectionPtr& connection, Call&& call);
    void thaw();
    [[nodiscard]] Said carry_out(std::size_t node, Hello& call);
    [[nodiscard]] Said carry_out(std::size_t node, KillFormer& call);
    [[nodiscard]] Said carry_out(std::size_t node, authority::LookUp& call);
    [[nodiscard]] Said carry_out(std::size_t node, authority::Settle& call);
    [[nodiscard]] Said carry_out(std::size_t node, authority::Open& call);
    [[nodiscard]] Said carry_out(std::size_t node, Probe& call);
    [[nodiscard]] Said carry_out(std::size_t node, Guarded& call);
    [[nodiscard]] std::optional<Said> refusal(const Guard& guard) const;
    [[nodiscard]] core::OperationReply apply(std::size_t node, const core::Operation& operation);
    void observe(const LockKey& key);
    void note_opening(Epoch epoch);
    void replace_table(Epoch epoch, std::uint32_t counter);
    [[nodiscard]] authority::Sight sight() const;
    [[nodiscard]] Time local_now() const;
    [[nodiscard]] authority::StoreMs shown() const;

    World& world_;
    HostClock clock_;
    std::uint64_t run_ = 1;
    bool is_up_ = true;
    Moment frozen_until_{};
    std::optional<authority::Record> record_;
    std::optional<authority::Marker> marker_;
    core::Table table_;
    Snapshot snapshot_;
    std::uint64_t connection_count_ = 0;
    std::vector<ConnectionPtr> connections_;
    std::uint64_t openings_ = 0;
    Epoch highest_epoch_ = 0;
    bool is_reused_ = false;                          // the open epoch was open before
    std::map<LockKey, Fence> highest_;                // granted by any process
    std::map<LockKey, core::GrantRecord> last_seen_;  // for mutants
};

}  // namespace latchd::sim
