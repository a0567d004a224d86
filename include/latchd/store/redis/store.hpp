// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/store/port.hpp>
#include <latchd/store/redis/options.hpp>
#include <latchd/store/tier.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace latchd::store::redis {

// Locks in one Redis server, by the scripts in lua/. One pipelined connection for operations, one
// for messages. All calls, and the sinks', on the thread that runs `context`. `boot_now`:
// CLOCK_BOOTTIME.
//
// A tier of a fleet, which decides when it serves. The end of a connection (TierFailed that says
// so) ends the serving: it begins again with TierServe, after TierIdentified. Each TierServe on an
// identified connection is answered by TierReady, unless the connection ends or it is withdrawn.
[[nodiscard]] std::unique_ptr<Tier> make_tier(boost::asio::io_context& context,
                                              Options options,
                                              std::function<Time()> boot_now,
                                              core::authority::TierIndex index,
                                              Sink& sink,
                                              FleetSink& fleet);

}  // namespace latchd::store::redis
