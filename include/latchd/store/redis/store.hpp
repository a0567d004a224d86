// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/core/authority/types.hpp>
#include <latchd/store/port.hpp>
#include <latchd/store/redis/options.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace latchd::store::redis {

// What the store needs of its host.
struct Surroundings {
    std::function<Time()> boot_now;         // CLOCK_BOOTTIME
    std::function<std::int64_t()> wall_ms;  // Unix time; only ever raises an epoch
    core::authority::Known known;           // from the state directory
    std::function<void(const core::authority::Known&)> save;  // to it; may be empty
};

// Locks in one Redis server, by the scripts in lua/. One pipelined connection for operations, one
// for messages. All calls, and the sink's, on the thread that runs `context`.
[[nodiscard]] std::unique_ptr<Store> make_store(boost::asio::io_context& context,
                                                Options options,
                                                Surroundings surroundings,
                                                Sink& sink);

}  // namespace latchd::store::redis
