// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tier.hpp"
#include "truth.hpp"

#include <latchd/core/lock/table.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace latchd::sim {

// Draws names that are never used twice in a run.
class Names final : public core::NameSource {
public:
    explicit Names(std::string prefix) : prefix_(std::move(prefix)) {}
    [[nodiscard]] std::string draw() override {
        std::string number = std::to_string(++count_);
        return prefix_ + std::string(22 - prefix_.size() - number.size(), '0') + number;
    }

private:
    std::string prefix_;
    std::uint64_t count_ = 0;
};

// A host with one node on it: its clock, what survives its process, and the process itself: a real
// core::Node under a real core::authority::Fleet, and the adapters of its tiers and its arbiter.
class Member {
public:
    Member(World& world, std::size_t index, HostClock clock);
    ~Member();

    void start();
    enum class Left : std::uint8_t { journal, state, nothing };  // what a killed process leaves
    void kill(Left left);
    void pause(Duration duration, bool with_clock);
    void leave();  // SIGTERM
    void command(authority::Command command);
    void change(authority::BasisWanted wish);
    void stall_arbiter(Duration duration);  // its way to the arbiter, not that to the tiers
    [[nodiscard]] bool has_unsent() const noexcept;

    // Something reaches the process; while it is paused it waits, once it is dead it is lost.
    void enter(std::function<void()> what);
    // Within the process.
    void feed(core::Event event);
    void tell(authority::FleetEvent event);
    void flush_later();

    [[nodiscard]] std::size_t index() const noexcept { return index_; }
    [[nodiscard]] bool is_turned() const noexcept;
    [[nodiscard]] std::uint64_t incarnation() const noexcept { return incarnation_; }
    [[nodiscard]] bool is_alive() const noexcept { return process_ != nullptr; }
    [[nodiscard]] bool is_paused() const noexcept { return is_paused_; }
    [[nodiscard]] bool is_leaving() const noexcept { return is_leaving_; }
    [[nodiscard]] bool is_closed() const noexcept;  // to clients, as it leaves
    [[nodiscard]] Time resumed_at() const noexcept { return resumed_at_; }
    [[nodiscard]] Time now() const;
    [[nodiscard]] const HostClock& clock() const noexcept { return clock_; }
    [[nodiscard]] core::Node& node() noexcept;
    [[nodiscard]] authority::Fleet& fleet() noexcept;
    [[nodiscard]] const NodeName& name() const noexcept { return name_; }
    [[nodiscard]] std::string label() const { return "node " + name_.str(); }

    // What its node was told last.
    [[nodiscard]] bool is_open() const noexcept;
    [[nodiscard]] Epoch epoch() const noexcept;
    [[nodiscard]] const std::string& tier_name() const noexcept;
    [[nodiscard]] bool is_confirmed() const noexcept;
    [[nodiscard]] bool is_local() const noexcept;
    [[nodiscard]] std::uint64_t serving_run() const noexcept;
    // Of the host's own table.
    [[nodiscard]] const Truth& local_truth() const noexcept { return local_truth_; }
    [[nodiscard]] bool has(Phase phase) noexcept;

private:
    struct Process;
    struct Kept {
        core::GrantRecord record;
        Time at{};
    };

    void drain_events();
    void step_node(core::Event&& event);
    void step_fleet(authority::FleetEvent&& event);
    void take(authority::FleetActions& actions);
    void carry_out(core::Action& action);
    void submit(core::OperationId id, core::Operation&& operation);
    void serve_locally(core::OperationId id, const core::Operation& operation);
    void note_told(const core::Event& event);
    void permit(core::PermitChanged&& permit);
    void claims_given(core::ClaimsGiven&& given);
    void restore_journal();
    void goes_on();
    void run(std::function<void()>& what);
    void arm();
    void woken(std::uint64_t incarnation, Moment armed);
    void ended();

    World& world_;
    std::size_t index_;
    HostClock clock_;
    NodeName name_;
    // What survives the process.
    authority::Known known_;
    std::map<LockKey, Kept> journal_;
    std::optional<std::uint64_t> former_;
    bool has_journal_ = false;
    std::uint32_t local_floor_ = 0;
    Truth local_truth_;
    std::optional<Duration> arbiter_clock_;
    std::optional<authority::FleetRecord> kept_record_;

    std::uint64_t incarnation_ = 0;
    std::unique_ptr<Process> process_;
    bool is_paused_ = false;
    bool is_leaving_ = false;
    Time resumed_at_{};
    mutable Time shown_{};           // never goes back
    std::optional<Time> stands_at_;  // its clock, while its host is paused
    std::deque<std::function<void()>> inbox_;
    std::optional<Moment> armed_;
};

}  // namespace latchd::sim
