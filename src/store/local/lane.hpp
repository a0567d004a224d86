// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mail.hpp"

#include <latchd/runtime/mailbox.hpp>
#include <latchd/store/local/mail_desk.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace latchd::store::local {

// The way between the owner and one other loop. Each side sets its receiver before the threads
// start; what the owner says to a loop that has not been served yet is for a window to come.
class MailDesk::Lane {
public:
    Lane(NodeName to, boost::asio::io_context& loop, const DeskLimits& most)
        : node(std::move(to)), context(loop), limits(most) {}

    const NodeName node;
    boost::asio::io_context& context;
    const DeskLimits limits;
    std::unique_ptr<runtime::Mailbox<Request>> requests;  // to the owner
    std::unique_ptr<runtime::Mailbox<Reply>> replies;     // to the loop
    // NodeMessages on their way to the loop: no count of answers bounds these.
    std::atomic<std::size_t> messages = 0;
    // Missed is on its way: it stands for all that are left out before it is taken.
    std::atomic<bool> missed = false;
};

[[nodiscard]] std::unique_ptr<Window> make_lane_window(MailDesk::Lane& lane,
                                                       std::function<Time()> boot_now,
                                                       Sink& sink);

}  // namespace latchd::store::local
