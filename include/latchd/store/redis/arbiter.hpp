// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/store/redis/options.hpp>
#include <latchd/store/tier.hpp>

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace latchd::store::redis {

// The fleet's record in a Redis server, over a connection of its own: docs/arbiter.md. All calls,
// and the sink's, on the thread that runs `context`. `boot_now`: CLOCK_BOOTTIME.
[[nodiscard]] std::unique_ptr<Arbiter> make_arbiter(boost::asio::io_context& context,
                                                    Options options,
                                                    FleetSink& sink,
                                                    std::function<Time()> boot_now);

}  // namespace latchd::store::redis
