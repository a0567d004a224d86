// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace latchd::sim {

// Draws names that are never used twice in a run.
class Names final : public core::NameSource {
public:
    explicit Names(std::string prefix) : prefix_(std::move(prefix)) {}
    [[nodiscard]] std::string draw() override {
        // As long as real ones: the authority makes a UUID of one.
        std::string number = std::to_string(++count_);
        return prefix_ + std::string(22 - prefix_.size() - number.size(), '0') + number;
    }

private:
    std::string prefix_;
    std::uint64_t count_ = 0;
};

// A host with one node on it: its clock, what survives its process, and the process itself.
class Member {
public:
    Member(World& world, std::size_t index, HostClock clock);
    ~Member();

    void start();
    void kill(bool with_journal);
    void pause(Duration duration);

    // Something reaches the process; while it is paused it waits, once it is dead it is lost.
    void enter(std::function<void()> what);
    // Within the process.
    void feed(core::Event event);
    void save(const authority::Known& known) { known_ = known; }

    [[nodiscard]] std::size_t index() const noexcept { return index_; }
    [[nodiscard]] std::uint64_t incarnation() const noexcept { return incarnation_; }
    [[nodiscard]] bool is_alive() const noexcept { return process_ != nullptr; }
    [[nodiscard]] bool is_paused() const noexcept { return is_paused_; }
    [[nodiscard]] Time resumed_at() const noexcept { return resumed_at_; }
    [[nodiscard]] Time now() const;
    [[nodiscard]] const HostClock& clock() const noexcept { return clock_; }
    [[nodiscard]] core::Node& node() noexcept;
    [[nodiscard]] Link& link() noexcept;
    [[nodiscard]] const NodeName& name() const noexcept { return name_; }
    // It served this epoch and was answered by the store while that settled again.
    [[nodiscard]] bool would_object(Epoch epoch) const;
    [[nodiscard]] std::string label() const { return "node " + name_.str(); }

private:
    struct Process;
    struct Kept {
        core::GrantRecord record;
        Time at{};
    };

    void carry_out(core::Action& action);
    void restore_journal();
    void run(std::function<void()>& what);
    void arm();
    void woken(std::uint64_t incarnation, Moment armed);

    World& world_;
    std::size_t index_;
    HostClock clock_;
    NodeName name_;
    authority::Known known_;
    std::map<LockKey, Kept> journal_;
    std::uint64_t incarnation_ = 0;
    std::unique_ptr<Process> process_;
    bool is_paused_ = false;
    Time resumed_at_{};
    std::deque<std::function<void()>> inbox_;
    std::optional<Moment> armed_;
};

}  // namespace latchd::sim
