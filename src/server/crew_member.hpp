// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "accepted.hpp"

#include <latchd/command/dispatcher.hpp>
#include <latchd/core/lock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace latchd::server {

// What the loops of a process do for each other. Called on its own loop, outside of a turn.
class CrewMember {
public:
    virtual ~CrewMember() = default;
    // A client that came in on another loop.
    virtual void take_in(Accepted&& accepted) = 0;
    virtual void kill_client(ClientId id) = 0;
    virtual void hear(const core::Happened& happened) = 0;
    virtual void set_resource(const core::authority::WriteResource& resource) = 0;
    // Its part of a command of another loop's client; what comes of it goes to reported() there.
    virtual void report(const command::Gathering& gathering,
                        std::size_t asker,
                        std::uint64_t number) = 0;
    virtual void reported(std::uint64_t number, std::shared_ptr<const command::Report> report) = 0;
    // A page of LOCKS, which has these rows of the loops before, and its answer.
    virtual void list(const core::ListCommand& command, std::vector<core::LockView> rows) = 0;
    virtual void answered(const core::Ticket& ticket, const core::Outcome& outcome) = 0;
    virtual void begin_drain() = 0;
    virtual void finish() = 0;
    virtual void stop() = 0;
};

}  // namespace latchd::server
