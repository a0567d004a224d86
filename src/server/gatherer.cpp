// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "gatherer.hpp"

#include "crew_member.hpp"

#include <latchd/server/crew.hpp>

#include <utility>

namespace latchd::server {
namespace {

constexpr auto report_max = std::chrono::milliseconds(500);

}  // namespace

Gatherer::Gatherer(Crew& crew, std::size_t loop, Done done)
    : crew_(crew), loop_(loop), done_(std::move(done)) {}

void Gatherer::begin(const core::Ticket& ticket, Time now, command::Gathering&& gathering) {
    const std::uint64_t number = ++last_;
    const auto shared = std::make_shared<const command::Gathering>(std::move(gathering));
    const std::size_t refused =
        crew_.post_to_others(loop_, [shared, asker = loop_, number](CrewMember& member) {
            member.report(*shared, asker, number);
        });
    Open open{ticket, now, {shared, {}, refused}, crew_.size() - 1 - refused};
    const auto it = open_.emplace(number, std::move(open)).first;
    if (it->second.missing == 0) end(it);
}

void Gatherer::reported(std::uint64_t number, std::shared_ptr<const command::Report> report) {
    const auto it = open_.find(number);
    if (it == open_.end()) return;  // too late
    it->second.gathered.reports.push_back(std::move(report));
    if (--it->second.missing == 0) end(it);
}

void Gatherer::on_tick(Time now) {
    while (!open_.empty() && now - open_.begin()->second.began >= report_max) end(open_.begin());
}

void Gatherer::end(std::map<std::uint64_t, Open>::iterator it) {
    Open open = std::move(it->second);
    open_.erase(it);
    open.gathered.silent += open.missing;
    done_(open.ticket, std::move(open.gathered));
}

}  // namespace latchd::server
