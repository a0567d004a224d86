// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/store/mysql/options.hpp>
#include <latchd/store/tier.hpp>

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace latchd::store::mysql {

// The fleet's record in a MySQL server, over a connection of its own: docs/arbiter.md. Its
// operation time-out is half a second longer than that of a connection, so that a row lock that is
// waited for in vain (1 s) is told from a server that does not answer. All calls, and the sink's,
// on the thread that runs `context`. `boot_now`: CLOCK_BOOTTIME.
[[nodiscard]] std::unique_ptr<Arbiter> make_arbiter(boost::asio::io_context& context,
                                                    Options options,
                                                    FleetSink& sink,
                                                    std::function<Time()> boot_now);

}  // namespace latchd::store::mysql
