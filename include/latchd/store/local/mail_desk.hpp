// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/store/desk.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace latchd::store::local {

struct DeskLimits {
    // Of one loop: given to the owner and not answered yet; above, operations fail as unsent.
    std::size_t operations_max = 65'536;
    // Records of one loop that it sees over, not taken yet by the owner.
    std::size_t forgotten_max = 1'000'000;
    // For one loop, not taken yet; above, it is told that messages were missed.
    std::size_t messages_max = 65'536;
    // An owner that has not answered for so long is as good as away.
    Duration operation_timeout = std::chrono::seconds(1);
};

struct DeskLoop {
    NodeName node;
    boost::asio::io_context* context = nullptr;
};

// A desk between loops of one process, by two mailboxes each. What gathers in a turn of a loop goes
// in one batch. Made before the threads are, outlives the stores on all loops and is destroyed when
// their threads have ended.
class MailDesk final : public Desk {
public:
    // The first loop is the owner's.
    explicit MailDesk(const std::vector<DeskLoop>& loops, const DeskLimits& limits = {});
    ~MailDesk() override;

    void open(Keeper& keeper) override;
    void close() override;
    void tell(std::vector<core::Table::Told>&& told) override;

    // Of loop 1, 2, …; one each. `boot_now`: CLOCK_BOOTTIME. Sink and desk outlive it.
    [[nodiscard]] std::unique_ptr<Window> make_window(std::size_t loop,
                                                      std::function<Time()> boot_now,
                                                      Sink& sink);

    class Lane;

private:
    class Counter;
    std::unique_ptr<Counter> counter_;
};

}  // namespace latchd::store::local
