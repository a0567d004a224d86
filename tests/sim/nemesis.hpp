// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan.hpp"
#include "timeline.hpp"

#include <optional>

namespace latchd::sim {

class Member;
class World;

// Makes things fail, now and then, and often just when something is under way.
class Nemesis {
public:
    explicit Nemesis(World& world) : world_(world) {}

    void start();
    void stop();
    // After each step: strikes when what it waits for is under way.
    void poll();
    void inflict(Fault fault, std::size_t node);

    [[nodiscard]] const Coverage& coverage() const noexcept { return coverage_; }

private:
    struct Aim {
        Fault fault{};
        std::size_t node = 0;
        Phase phase{};
        Moment until{};
    };

    [[nodiscard]] Member& well_from(std::size_t node);
    void plot();
    void take_delayed(std::size_t node, Random& apart);
    void strike(Fault fault, std::size_t node);
    void inflict_on_redis(Fault fault, std::size_t node);
    void inflict_on_mysql(Fault fault, std::size_t node);
    void inflict_on_node(Fault fault, std::size_t node);
    void count(Fault fault, std::size_t node);
    [[nodiscard]] bool is_in(std::size_t node, Phase phase) const;

    World& world_;
    bool is_active_ = false;
    std::uint64_t round_ = 0;
    std::uint64_t commands_ = 0;
    std::optional<Aim> aim_;
    Coverage coverage_{};
};

}  // namespace latchd::sim
