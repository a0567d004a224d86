// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/core/authority/fleet.hpp>
#include <latchd/store/mysql/options.hpp>
#include <latchd/store/tier.hpp>

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace latchd::store::mysql {

// Locks in one MySQL or MariaDB server, which is the fleet's arbiter, too: its placement row says
// whether locks may be granted there. docs/mysql.md. All calls, and the sinks', on the thread that
// runs `context`. `boot_now`: CLOCK_BOOTTIME.
[[nodiscard]] std::unique_ptr<Tier> make_tier(boost::asio::io_context& context,
                                              Options options,
                                              std::function<Time()> boot_now,
                                              core::authority::TierIndex index,
                                              Sink& sink,
                                              FleetSink& fleet);

}  // namespace latchd::store::mysql
