// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace boost::asio {
class io_context;
}

namespace latchd::store::mysql {

// Runs after the handlers that are ready now: the end of the loop's turn.
void at_end_of_turn(boost::asio::io_context& context, std::function<void()> work);

}  // namespace latchd::store::mysql
