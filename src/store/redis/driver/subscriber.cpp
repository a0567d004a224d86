// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "subscriber.hpp"

#include "../dialect/replies.hpp"
#include "access.hpp"

#include <latchd/resp/command_writer.hpp>
#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>

namespace latchd::store::redis {

namespace {

constexpr Duration ask_every = std::chrono::seconds(1);
constexpr Duration silence_max = std::chrono::seconds(3);

}  // namespace

Subscriber::Subscriber(boost::asio::io_context& context,
                       const Options& options,
                       const std::function<Time()>& boot_now,
                       const Keys& keys,
                       Sink& sink)
    : context_(context),
      options_(options),
      boot_now_(boot_now),
      keys_(keys),
      sink_(sink),
      timer_(context, [this] { on_time(); }),
      backoff_(options.backoff_min, options.backoff_max) {}

Subscriber::~Subscriber() { stop(); }

void Subscriber::start() {
    if (is_running_) return;
    is_running_ = true;
    connect();
}

void Subscriber::stop() {
    is_running_ = false;
    confirmed_ = 0;
    timer_.stop();
    if (link_) link_->close();
    link_.reset();
}

void Subscriber::connect() {
    connect_at_.reset();
    confirmed_ = 0;
    heard_ = asked_ = boot_now_();
    link_ = std::make_shared<Link>(context_, options_, static_cast<Link::User&>(*this));
    link_->open();
    arm();
}

void Subscriber::link_opened() {
    heard_ = boot_now_();
    std::string& out = link_->out();
    (void)link_->append_login();
    resp::append_command(out,
                         {"SUBSCRIBE", keys_.node_channel(options_.node), keys_.nodes_channel()});
    link_->flush_soon();
}

void Subscriber::link_replied(resp::Value&& value) {
    heard_ = boot_now_();
    if (value.is(resp::Value::Type::error)) {
        const std::string user = options_.username.empty() ? "default" : options_.username;
        const std::string reason = with_missing_rule(value.string, user);
        link_->close();
        refused(reason);
        return lost(reason);
    }
    if (!value.is(resp::Value::Type::array) || value.elements.size() != 3) return;  // OK, pong
    const std::string& what = value.elements[0].string;
    if (what == "subscribe") {
        if (++confirmed_ == 2) confirmed();
    } else if (what == "message") {
        if (auto message = read_message(keys_, value.elements[2].string)) {
            sink_.deliver(std::move(*message));
        }
    }
}

// Unlike a lost connection this is not seen by the main one, and lasts until somebody mends it.
void Subscriber::refused(const std::string& reason) {
    if (std::exchange(refusal_, reason) == reason) return;
    telemetry::log(
        telemetry::Level::warning, "store.messages_refused", options_.name + ": " + warning());
}

std::string Subscriber::warning() const {
    if (refusal_.empty()) return {};
    return "messages of other nodes are missed, waiters look every now and then instead: " +
           refusal_;
}

void Subscriber::confirmed() {
    backoff_.reset();
    refusal_.clear();
    // The first time, too: the node may have granted before it could hear.
    sink_.deliver(core::MessagesResumed{});
}

void Subscriber::link_closed(const std::string& reason, bool) { lost(reason); }

void Subscriber::lost(const std::string& reason) {
    telemetry::log(telemetry::Level::debug,
                   "store.messages_lost",
                   options_.name + ": " + reason + "; messages of other nodes are missed");
    link_.reset();
    confirmed_ = 0;
    if (!is_running_) return;
    sink_.deliver(core::MessagesLost{});
    connect_at_ = boot_now_() + backoff_.next(random_.draw_number());
    arm();
}

void Subscriber::on_time() {
    if (!is_running_) return;
    const Time now = boot_now_();
    if (connect_at_) {
        if (now >= *connect_at_) connect();
    } else if (link_ && now - heard_ >= silence_max) {
        link_->close();
        lost("no sign of the server for 3 s");
    } else if (link_ && is_listening() && now - std::max(heard_, asked_) >= ask_every) {
        asked_ = now;
        resp::append_command(link_->out(), {"PING"});
        link_->flush_soon();
    }
    arm();
}

void Subscriber::arm() {
    const Time now = boot_now_();
    timer_.arm(now, connect_at_ ? *connect_at_ : now + ask_every / 2);
}

}  // namespace latchd::store::redis
