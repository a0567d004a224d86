// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "tier.hpp"

#include <latchd/resp/command_writer.hpp>

#include <algorithm>
#include <string>
#include <utility>

// Notes of nodes that have lost the arbiter, each a key that goes by itself. A server that refuses
// them shows none: then nobody goes on for longer, which is what a missing note says anyway.
namespace latchd::store::redis {

namespace authority = core::authority;

namespace {

std::string text_of(const authority::TierNote& note) {
    return std::to_string(note.epoch) + ' ' + note.nonce.str();
}

}  // namespace

void RedisTier::act(authority::TierNote&& action) {
    if (!driver_.is_open() || noting_) return;
    noting_.emplace();
    noting_->sent = driver_.now();
    const std::string fresh = std::to_string(to_ms(action.fresh));
    resp::append_command(
        driver_.out(),
        {"SET", driver_.keys().lost_note(action.name), text_of(action), "PX", fresh});
    driver_.expect_authority(true);
    steps_.push_back({Step::Kind::note_left, 0});
    for (const NodeName& other : action.others) {
        resp::append_command(driver_.out(), {"GET", driver_.keys().lost_note(other)});
        driver_.expect_authority(true);
        steps_.push_back({Step::Kind::note_shown, 0});
    }
    noting_->wish = std::move(action);
    driver_.arm();
}

void RedisTier::note_left(const resp::Value& value) {
    if (value.is(resp::Value::Type::error)) driver_.set_error(value.string);
    end_noting();
}

void RedisTier::note_shown(const resp::Value& value) {
    const NodeName& other = noting_->wish.others[noting_->answered++];
    if (value.string == text_of(noting_->wish)) noting_->fresh.push_back(other);
    end_noting();
}

// Once all are answered.
void RedisTier::end_noting() {
    if (noting_->answered < noting_->wish.others.size()) return;
    TierNoting noting = std::move(*noting_);
    noting_.reset();
    tell(authority::TierNoted{index_, noting.sent, std::move(noting.fresh)});
}

}  // namespace latchd::store::redis
