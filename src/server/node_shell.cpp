// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "node_shell.hpp"

#include <latchd/runtime/clock.hpp>
#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace latchd::server {
namespace {

telemetry::Level level_of(core::Notice::Level level) noexcept {
    switch (level) {
        case core::Notice::Level::debug:
            return telemetry::Level::debug;
        case core::Notice::Level::info:
            return telemetry::Level::info;
        case core::Notice::Level::warning:
            return telemetry::Level::warning;
        case core::Notice::Level::error:
            return telemetry::Level::error;
    }
    return telemetry::Level::error;
}

}  // namespace

NodeShell::NodeShell(boost::asio::io_context& context, Parts parts, Audience& audience)
    : context_(context),
      audience_(audience),
      grants_(parts.grants),
      node_(std::move(parts.options), *parts.registry, *parts.names),
      deadline_(context, [this] { on_deadline(); }),
      now_(runtime::boot_time()) {}

NodeShell::~NodeShell() = default;

void NodeShell::refresh_now() noexcept { now_ = std::max(now_, runtime::boot_time()); }

void NodeShell::begin_turn() {
    in_turn_ = true;
    refresh_now();
    look_at_room();
}

void NodeShell::end_turn() {
    if (stopped_) return;
    in_turn_ = true;  // what the flush handles belongs to this turn
    audience_.turn_ended();
    in_turn_ = false;
    if (stopped_) return;
    deadline_.arm(now_, node_.next_deadline());
}

void NodeShell::deliver(core::Event&& event) {
    if (stopped_) return;
    if (in_turn_) return handle(std::move(event));
    refresh_now();
    look_at_room();
    handle(std::move(event));
    if (std::exchange(end_posted_, true)) return;
    boost::asio::post(context_, [this] {
        end_posted_ = false;
        end_turn();
    });
}

void NodeShell::later(std::function<void()> what) {
    boost::asio::post(context_, [this, what = std::move(what)] {
        if (stopped_) return;
        begin_turn();
        what();
        end_turn();
    });
}

void NodeShell::handle(core::Event&& event) {
    if (stopped_) return;
    if (stepping_) {
        queue_.push_back(std::move(event));
        return;
    }
    stepping_ = true;
    step(std::move(event));
    // Carrying out an action may have queued more, and so may the handling of these.
    while (!queue_.empty()) {
        std::swap(queue_, taken_);  // what is queued meanwhile moves none of these
        for (core::Event& next : taken_) step(std::move(next));
        taken_.clear();
    }
    stepping_ = false;
}

void NodeShell::step(core::Event&& event) {
    note_store(event);
    actions_.clear();
    node_.step(now_, std::move(event), actions_);
    for (core::Action& action : actions_) carry_out(action);
}

// The node sends no LOCK that the journal may have no room for. Far from full it need not be told
// each time: within one turn it counts by itself.
void NodeShell::look_at_room() {
    if (grants_ == nullptr) return;
    constexpr std::size_t plenty = 65'536;
    const std::size_t room = grants_->room();
    const bool is_news = room != told_room_ || put_since_told_;
    if (is_news && std::min(room, told_room_) < plenty) tell_room(room);
}

std::string NodeShell::grant_log_warning() const {
    if (grants_ == nullptr) return {};
    if (std::string warning = grants_->warning(); !warning.empty()) return warning;
    if (told_room_ > 0) return {};
    return "no room to write a further grant down, LOCK is answered LIMIT journal: the file system "
           "of runtime_dir is full, or as many locks are held as max_locks says";
}

void NodeShell::tell_room(std::size_t room) {
    told_room_ = room;
    put_since_told_ = false;
    handle(core::JournalRoom{room});
}

void NodeShell::carry_out(core::Action& action) {
    std::visit(
        [this](auto& act) {
            using T = std::decay_t<decltype(act)>;
            if constexpr (std::is_same_v<T, core::Answer>) {
                audience_.answered(act.ticket, act.outcome);
            } else if constexpr (std::is_same_v<T, core::Submit>) {
                store_->submit(act.id, std::move(act.operation));
            } else if constexpr (std::is_same_v<T, core::JournalPut>) {
                put_since_told_ = true;
                if (grants_ != nullptr && !grants_->put(act.record, now_)) tell_room(0);
            } else if constexpr (std::is_same_v<T, core::JournalDrop>) {
                if (grants_ != nullptr) grants_->drop(act.key, act.fence);
            } else if constexpr (std::is_same_v<T, core::Happened>) {
                audience_.happened(act);
            } else if constexpr (std::is_same_v<T, core::Notice>) {
                telemetry::log(level_of(act.level), act.event, act.text);
            } else if constexpr (std::is_same_v<T, core::ClaimsGiven>) {
                store_->claims_given(std::move(act));
            } else if constexpr (std::is_same_v<T, core::UsesGiven>) {
                store_->uses_given(std::move(act));
            } else if constexpr (std::is_same_v<T, core::GrantEnded>) {
                store_->grant_ended(std::move(act));
            } else if constexpr (std::is_same_v<T, core::Asserted>) {
                store_->asserted(act);
            } else if constexpr (std::is_same_v<T, core::StrictAsked>) {
                store_->strict_asked(std::move(act));
            } else {
                static_assert(std::is_same_v<T, core::Drained>);
                audience_.drained();
            }
        },
        action);
}

// The adapters log their changes themselves; this is for INFO.
void NodeShell::note_store(const core::Event& event) {
    if (const auto* opened = std::get_if<core::StoreOpened>(&event)) {
        view_.open = true;
        view_.tier = opened->tier;
        view_.epoch = opened->epoch;
        ++view_.openings;
    } else if (const auto* closed = std::get_if<core::StoreClosed>(&event)) {
        view_.open = false;
        view_.reason = closed->reason;
    }
}

void NodeShell::on_deadline() {
    if (stopped_) return;
    begin_turn();
    handle(core::TimePassed{});
    end_turn();
}

void NodeShell::stop() {
    stopped_ = true;
    deadline_.stop();
}

}  // namespace latchd::server
