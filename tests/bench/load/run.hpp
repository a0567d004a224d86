// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "course.hpp"
#include "histogram.hpp"
#include "judge.hpp"
#include "settings.hpp"
#include "speaker.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace latchd::load {

// What was measured, from the end of the warming up to the end of the run.
struct Figures {
    double seconds = 0;
    std::uint64_t cycles = 0;        // UNLOCKs that were answered
    std::uint64_t refused = 0;       // LOCKs that were answered: held
    std::uint64_t away = 0;          // LOCKs and UNLOCKs: the store is away, asked patiently
    std::uint64_t failed = 0;        // anything else
    std::uint64_t not_released = 0;  // UNLOCKs that found nothing to release
    std::uint64_t grants_ever = 0;   // warming up and the end included
    std::uint64_t late_max = 0;      // open loop: the most cycles that waited for a free client
    std::string first_failure;
    Histogram lock;                           // open loop: from when it should have been sent
    Histogram unlock;                         // from when it was sent
    std::vector<std::int64_t> cpu_ns;         // by Settings::processes
    std::vector<std::uint64_t> bytes_before;  // the same: memory before the idle and the held
    std::vector<std::uint64_t> bytes_idle;    // with the idle connections
    std::vector<std::uint64_t> bytes_held;    // and with the held locks
    std::int64_t own_cpu_ns = 0;
};

// One thread that plays all the clients. A lane is one cycle of a connection that may be under way:
// there are `pipeline` of them on each.
class Run {
public:
    Run(const Settings& settings, Speaker& speaker);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Returns "" or why it could not be carried out.
    std::string go();

    [[nodiscard]] const Figures& figures() const noexcept { return figures_; }
    [[nodiscard]] const Judge& judge() const noexcept { return judge_; }
    [[nodiscard]] const Course& course() const noexcept { return course_; }
    // By CLOCK_MONOTONIC: when the measuring began.
    [[nodiscard]] std::int64_t begun_ns() const noexcept { return begun_ns_; }

private:
    enum class State : std::uint8_t { idle, locking, holding, unlocking, pausing };
    struct Lane {
        Cycle cycle;
        State state = State::idle;
        std::int64_t wanted_ns = 0;  // when it should have begun
        std::int64_t sent_ns = 0;
    };
    struct Connection {
        int fd = -1;
        bool is_blocked = false;  // the socket takes no more
        std::string in;
        std::string out;
        std::deque<std::size_t> awaited;  // lanes, in the order of their replies
    };
    using Queue = std::deque<std::pair<std::int64_t, std::size_t>>;  // (due, lane): in order

    // ---- run_setup.cpp: blocking, before anything is measured
    [[nodiscard]] std::string open_all();
    [[nodiscard]] std::string open_idle();
    [[nodiscard]] std::string take_held();
    [[nodiscard]] std::string ask(int fd, const std::string& bytes, std::size_t replies);
    [[nodiscard]] std::vector<std::uint64_t> memory() const;

    // ---- run_io.cpp
    void wait(std::int64_t until_ns);
    void receive(std::size_t index);
    void take_replies(std::size_t index);
    void flush(std::size_t index);
    void fail(const std::string& what);

    // ---- run.cpp
    void loop_until(std::int64_t end_ns);
    void fire_due();
    void begin_cycle(std::size_t lane, std::int64_t wanted_ns);
    void begin_later(std::size_t lane, std::int64_t due_ns);  // no earlier than any before
    void send_lock(std::size_t lane);
    void send_unlock(std::size_t lane);
    void replied(std::size_t lane, const Reply& reply);
    void locked(std::size_t lane, const Reply& reply);
    void granted(std::size_t lane);
    void unlocked(std::size_t lane, const Reply& reply);
    void end_cycle(std::size_t lane);
    [[nodiscard]] std::size_t next_lock();
    void begin_to_measure();
    void end_to_measure();
    void drain();
    [[nodiscard]] std::size_t connection_of(std::size_t lane) const noexcept {
        return lane / settings_.pipeline;
    }

    const Settings& settings_;
    Speaker& speaker_;
    Judge judge_;
    Course course_;
    Figures figures_;
    std::mt19937_64 random_;
    int poll_fd_ = -1;
    std::vector<Connection> connections_;
    std::vector<int> others_;  // idle connections, and the one that prepares
    std::vector<Lane> lanes_;
    std::deque<std::size_t> free_;   // open loop: lanes without a cycle
    std::deque<std::int64_t> late_;  // open loop: begins that found no free lane
    Queue holding_;
    Queue pausing_;
    std::int64_t now_ns_ = 0;
    std::int64_t next_begin_ns_ = 0;
    std::int64_t begun_ns_ = 0;
    std::size_t next_lock_ = 0;
    bool is_measuring_ = false;
    bool is_ending_ = false;
};

[[nodiscard]] std::int64_t clock_ns() noexcept;

}  // namespace latchd::load
