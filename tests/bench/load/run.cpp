// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include "processes.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <limits>
#include <unistd.h>

namespace latchd::load {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t drain_ns = 2 * second_ns;
constexpr std::int64_t patience_us = 10'000;  // between two asks of a store that is away
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// SIGTERM: what is measured ends now, and is printed.
volatile std::sig_atomic_t is_over = 0;

std::int64_t ns_of(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

std::int64_t clock_ns() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

Run::Run(const Settings& settings, Speaker& speaker)
    : settings_(settings),
      speaker_(speaker),
      judge_(settings.locks, settings.connections * settings.pipeline, settings.servers.size()),
      course_(settings.slice_ms * 1'000'000),
      random_(settings.seed),
      connections_(settings.connections),
      lanes_(settings.connections * settings.pipeline) {}

std::string Run::go() {
    std::signal(SIGTERM, [](int) { is_over = 1; });
    if (auto wrong = open_all(); !wrong.empty()) return wrong;
    now_ns_ = clock_ns();
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        if (settings_.rate > 0) {
            free_.push_back(lane);
        } else if (settings_.poll_us > 0) {
            // Spread over the first pause: clients that poll don't do so all at once.
            const auto share = static_cast<std::int64_t>(lane * 1000 / lanes_.size());
            begin_later(lane, now_ns_ + share * settings_.poll_us);
        } else {
            begin_cycle(lane, now_ns_);
        }
    }
    for (std::size_t i = 0; i < connections_.size(); ++i) flush(i);
    next_begin_ns_ = settings_.rate > 0 ? now_ns_ : never;
    loop_until(now_ns_ + ns_of(settings_.warm_s));
    begin_to_measure();
    loop_until(now_ns_ + ns_of(settings_.run_s));
    end_to_measure();
    drain();
    return {};
}

void Run::loop_until(std::int64_t end_ns) {
    while (now_ns_ < end_ns && figures_.failed < lanes_.size() + 1000) {
        if (is_measuring_ && settings_.cycles > 0 && figures_.cycles >= settings_.cycles) return;
        if (is_over != 0 && !is_ending_) return;
        std::int64_t next = std::min(end_ns, next_begin_ns_);
        if (!holding_.empty()) next = std::min(next, holding_.front().first);
        if (!pausing_.empty()) next = std::min(next, pausing_.front().first);
        wait(next);
        fire_due();
    }
}

void Run::fire_due() {
    while (!holding_.empty() && holding_.front().first <= now_ns_) {
        const std::size_t lane = holding_.front().second;
        holding_.pop_front();
        send_unlock(lane);
        flush(connection_of(lane));
    }
    while (!pausing_.empty() && pausing_.front().first <= now_ns_) {
        const std::size_t lane = pausing_.front().second;
        pausing_.pop_front();
        send_lock(lane);
        flush(connection_of(lane));
    }
    while (next_begin_ns_ <= now_ns_ && !is_ending_) {
        if (free_.empty()) {
            late_.push_back(next_begin_ns_);
            figures_.late_max = std::max<std::uint64_t>(figures_.late_max, late_.size());
        } else {
            const std::size_t lane = free_.front();
            free_.pop_front();
            begin_cycle(lane, next_begin_ns_);
            flush(connection_of(lane));
        }
        std::exponential_distribution<double> gap(settings_.rate);
        next_begin_ns_ += std::max<std::int64_t>(ns_of(gap(random_)), 1);
    }
}

std::size_t Run::next_lock() {
    if (settings_.is_in_turn) return next_lock_++ % settings_.locks;
    return random_() % settings_.locks;
}

void Run::begin_cycle(std::size_t index, std::int64_t wanted_ns) {
    Lane& lane = lanes_[index];
    lane.cycle.lock = next_lock();
    lane.wanted_ns = wanted_ns;
    judge_.asked(index, lane.cycle.lock);
    send_lock(index);
}

void Run::begin_later(std::size_t index, std::int64_t due_ns) {
    Lane& lane = lanes_[index];
    lane.cycle.lock = next_lock();
    lane.wanted_ns = due_ns;
    lane.state = State::pausing;
    judge_.asked(index, lane.cycle.lock);
    pausing_.emplace_back(due_ns, index);
}

void Run::send_lock(std::size_t index) {
    Lane& lane = lanes_[index];
    Connection& connection = connections_[connection_of(index)];
    lane.state = State::locking;
    lane.sent_ns = now_ns_;
    speaker_.append_lock(connection.out, lane.cycle);
    connection.awaited.push_back(index);
}

void Run::send_unlock(std::size_t index) {
    Lane& lane = lanes_[index];
    Connection& connection = connections_[connection_of(index)];
    lane.state = State::unlocking;
    lane.sent_ns = now_ns_;
    judge_.releasing(index, lane.cycle.lock, now_ns_);
    speaker_.append_unlock(connection.out, lane.cycle);
    connection.awaited.push_back(index);
}

void Run::replied(std::size_t index, const Reply& reply) {
    if (lanes_[index].state == State::locking) return locked(index, reply);
    unlocked(index, reply);
}

void Run::locked(std::size_t index, const Reply& reply) {
    Lane& lane = lanes_[index];
    Answer answer = speaker_.read_lock(reply, lane.cycle);
    if (answer == Answer::failed && settings_.is_patient && reply.is_store_away()) {
        answer = Answer::away;
    }
    const std::int64_t asked_ns = settings_.rate > 0 ? lane.wanted_ns : lane.sent_ns;
    course_.answered(asked_ns, now_ns_, answer, lane.cycle.fence);
    if (answer == Answer::granted) return granted(index);
    if (answer == Answer::failed) fail(std::string(reply[0].text));
    if (answer == Answer::away) ++figures_.away;
    if (answer == Answer::refused && is_measuring_) ++figures_.refused;
    std::int64_t pause_us = settings_.poll_us;
    if (pause_us < 0 && answer == Answer::away) pause_us = patience_us;
    if (pause_us < 0 || is_ending_) return end_cycle(index);
    lane.state = State::pausing;
    pausing_.emplace_back(now_ns_ + pause_us * 1000, index);
}

void Run::granted(std::size_t index) {
    Lane& lane = lanes_[index];
    ++figures_.grants_ever;
    judge_.granted({.client = index,
                    .server = connection_of(index) % settings_.servers.size(),
                    .lock = lane.cycle.lock,
                    .fence = lane.cycle.fence,
                    .now_ns = now_ns_,
                    .lease_end_ns = lane.sent_ns + lane.cycle.ttl_ms * 1'000'000});
    if (is_measuring_) figures_.lock.add(now_ns_ - lane.wanted_ns);
    if (settings_.hold_us == 0) return send_unlock(index);
    lane.state = State::holding;
    holding_.emplace_back(now_ns_ + settings_.hold_us * 1000, index);
}

void Run::unlocked(std::size_t index, const Reply& reply) {
    if (settings_.is_patient && reply.is_store_away()) {
        ++figures_.away;
    } else if (!speaker_.is_released(reply)) {
        ++figures_.not_released;
    }
    if (is_measuring_) {
        ++figures_.cycles;
        figures_.unlock.add(now_ns_ - lanes_[index].sent_ns);
    }
    end_cycle(index);
}

void Run::end_cycle(std::size_t index) {
    lanes_[index].state = State::idle;
    if (is_ending_) return;
    if (settings_.poll_us > 0 && settings_.rate == 0) {
        // Who polls lets the others have a turn: else one client would keep the lock to itself.
        return begin_later(index, now_ns_ + settings_.poll_us * 1000);
    }
    if (settings_.rate == 0) return begin_cycle(index, now_ns_);
    if (late_.empty()) {
        free_.push_back(index);
        return;
    }
    const std::int64_t wanted = late_.front();
    late_.pop_front();
    begin_cycle(index, wanted);
}

void Run::begin_to_measure() {
    judge_.begin_to_measure();
    figures_.late_max = 0;
    for (const Process& process : settings_.processes) {
        figures_.cpu_ns.push_back(-cpu_ns(process.pid));
    }
    figures_.own_cpu_ns = -cpu_ns(getpid());
    begun_ns_ = clock_ns();
    course_.begin(begun_ns_);
    is_measuring_ = true;
}

void Run::end_to_measure() {
    course_.end(clock_ns());
    figures_.seconds = static_cast<double>(clock_ns() - begun_ns_) / 1e9;
    for (std::size_t i = 0; i < settings_.processes.size(); ++i) {
        figures_.cpu_ns[i] += cpu_ns(settings_.processes[i].pid);
    }
    figures_.own_cpu_ns += cpu_ns(getpid());
    is_measuring_ = false;
    is_ending_ = true;
    next_begin_ns_ = never;
}

// What is held is given back, so that the next run finds nothing; the judge goes on.
void Run::drain() {
    for (const auto& pausing : pausing_) lanes_[pausing.second].state = State::idle;
    pausing_.clear();
    const std::int64_t end = now_ns_ + drain_ns + settings_.wait_ms * 1'000'000;
    const auto is_busy = [](const Lane& lane) { return lane.state != State::idle; };
    while (now_ns_ < end && std::ranges::any_of(lanes_, is_busy) &&
           figures_.failed < lanes_.size() + 1000) {
        loop_until(std::min(end, now_ns_ + 10'000'000));
    }
}

}  // namespace latchd::load
