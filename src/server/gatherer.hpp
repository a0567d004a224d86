// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/command/dispatcher.hpp>
#include <latchd/core/lock/command.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace latchd::server {

class Crew;

// What came of a command about all loops.
struct Gathered {
    std::shared_ptr<const command::Gathering> gathering;
    command::Reports reports;
    std::size_t silent = 0;  // loops that did not report in time
};

// Asks the other loops for their reports, and waits for them no longer than report_max. Loop
// thread only.
class Gatherer {
public:
    using Done = std::function<void(const core::Ticket&, Gathered&&)>;

    Gatherer(Crew& crew, std::size_t loop, Done done);

    void begin(const core::Ticket& ticket, Time now, command::Gathering&& gathering);
    void reported(std::uint64_t number, std::shared_ptr<const command::Report> report);
    // A few times a second.
    void on_tick(Time now);

private:
    struct Open {
        core::Ticket ticket;
        Time began;
        Gathered gathered;
        std::size_t missing = 0;
    };
    void end(std::map<std::uint64_t, Open>::iterator it);

    Crew& crew_;
    std::size_t loop_;
    Done done_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Open> open_;  // in the order of their beginnings
};

}  // namespace latchd::server
