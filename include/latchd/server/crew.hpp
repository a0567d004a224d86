// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace latchd::server {

class CrewMember;

// The loops of one process. To who comes in by its one port they are one server: clients are
// counted together, are listed and ended from any loop, and hear of events wherever they happened.
// A loop never looks at another: it sends it a piece of work. Nothing of this is on a lock's path.
//
// Made before the threads are, and destroyed when they have ended. Any thread, but for join().
class Crew {
public:
    explicit Crew(std::size_t loops = 1);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

    // Before the threads start. Loops count from 0.
    void join(std::size_t loop, boost::asio::io_context& context, CrewMember& member);
    // It ends: nothing is run on it any more. Its own thread, or when the threads have ended.
    void leave(std::size_t loop) noexcept;

    // To be run on that loop, in order with what was sent before. False: too much waits there.
    [[nodiscard]] bool post(std::size_t loop, std::function<void(CrewMember&)> work);
    // On all but this one. How many of them take no more.
    std::size_t post_to_others(std::size_t loop, const std::function<void(CrewMember&)>& work);

    // SIGTERM, and what ends at once: of all loops.
    void finish();
    void stop();

    // How a loop is doing, by its own word; a few times a second.
    struct Pulse {
        std::atomic<std::uint64_t> beats = 0;  // stands still while the loop hangs
        std::atomic<std::uint64_t> held = 0;
        std::atomic<std::uint64_t> waiting = 0;
        std::atomic<bool> is_ok = false;
    };
    [[nodiscard]] Pulse& pulse(std::size_t loop) noexcept;

    // Connections of the process.
    std::atomic<std::size_t> clients = 0;
    // Loops on which somebody subscribed to something: the others tell them of events.
    std::atomic<std::size_t> listening = 0;

private:
    struct Place;
    void send(const Place& place, std::function<void(CrewMember&)> work);

    std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace latchd::server
