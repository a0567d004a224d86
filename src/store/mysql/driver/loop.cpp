// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "loop.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace latchd::store::mysql {

void at_end_of_turn(boost::asio::io_context& context, std::function<void()> work) {
    boost::asio::post(context, std::move(work));
}

}  // namespace latchd::store::mysql
