// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "crew_member.hpp"

#include <latchd/server/crew.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <utility>

namespace latchd::server {
namespace {

// Of pieces of work that wait for one loop. More would wait for one that hangs.
constexpr std::size_t waiting_max = 16'384;

}  // namespace

struct Crew::Place {
    // `member` is the loop's own after join(); what was posted outlives the crew's interest in it.
    struct Shared {
        CrewMember* member = nullptr;
        std::atomic<std::size_t> waiting = 0;
    };
    boost::asio::io_context* context = nullptr;
    std::shared_ptr<Shared> shared = std::make_shared<Shared>();
    Pulse pulse;
};

Crew::Crew(std::size_t loops) {
    for (std::size_t i = 0; i < loops; ++i) places_.push_back(std::make_unique<Place>());
}
Crew::~Crew() = default;

void Crew::join(std::size_t loop, boost::asio::io_context& context, CrewMember& member) {
    places_.at(loop)->context = &context;
    places_.at(loop)->shared->member = &member;
}

void Crew::leave(std::size_t loop) noexcept { places_[loop]->shared->member = nullptr; }

Crew::Pulse& Crew::pulse(std::size_t loop) noexcept { return places_[loop]->pulse; }

void Crew::send(const Place& place, std::function<void(CrewMember&)> work) {
    place.shared->waiting.fetch_add(1);
    boost::asio::post(*place.context, [shared = place.shared, work = std::move(work)] {
        shared->waiting.fetch_sub(1);
        if (shared->member != nullptr) work(*shared->member);
    });
}

bool Crew::post(std::size_t loop, std::function<void(CrewMember&)> work) {
    const Place& place = *places_.at(loop);
    if (place.shared->waiting.load() >= waiting_max) return false;
    send(place, std::move(work));
    return true;
}

std::size_t Crew::post_to_others(std::size_t loop, const std::function<void(CrewMember&)>& work) {
    std::size_t refused = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        if (i != loop && !post(i, work)) ++refused;
    }
    return refused;
}

void Crew::finish() {
    for (const auto& place : places_) {
        send(*place, [](CrewMember& member) { member.finish(); });
    }
}

void Crew::stop() {
    for (const auto& place : places_) {
        send(*place, [](CrewMember& member) { member.stop(); });
    }
}

}  // namespace latchd::server
