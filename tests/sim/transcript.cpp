// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "transcript.hpp"

#include <cstdio>
#include <type_traits>
#include <variant>
#include <vector>

namespace latchd::sim {
namespace {

constexpr std::size_t lines_max = 100'000;

std::string ms(Duration duration) { return std::to_string(to_ms(duration)) + "ms"; }

std::string fence_text(Fence fence) {
    return std::to_string(epoch_of(fence)) + ":" + std::to_string(counter_of(fence));
}

std::string text_of(const core::GrantRecord& record) {
    std::string text = "fence " + fence_text(record.fence) + " v" + std::to_string(record.version) +
                       " left " + ms(record.left);
    if (record.delay > Duration::zero()) text += " delay " + ms(record.delay);
    if (!record.owner.empty()) text += " owner " + record.owner.str();
    for (const core::Hold& hold : record.holds) {
        text += " [" + hold.token.str() + " " + hold.request.str();
        for (const Attempt& attempt : hold.attempts) {
            text +=
                " " + std::to_string(attempt.incarnation) + "/" + std::to_string(attempt.number);
        }
        text += "]";
    }
    return text;
}

std::string text_of(const core::Reply& reply) {
    static constexpr const char* names[] = {"granted",
                                            "reentered",
                                            "adopted",
                                            "held",
                                            "cancelled",
                                            "holds_full",
                                            "released",
                                            "hold_removed",
                                            "renewed",
                                            "renew_limit",
                                            "not_held",
                                            "held_by_other",
                                            "undone",
                                            "ended",
                                            "nothing",
                                            "restored",
                                            "found",
                                            "listed",
                                            "foreign_value"};
    std::string text = names[static_cast<int>(reply.status)];
    if (reply.record) text += " " + text_of(*reply.record);
    if (reply.status == core::Status::held) {
        text += " for " + ms(reply.left) + " fence " + fence_text(reply.fence_seen);
    }
    return text;
}

struct OperationText {
    std::string operator()(const core::Acquire& o) const {
        return "acquire " + o.request.str() + " attempt " + std::to_string(o.attempt.incarnation) +
               "/" + std::to_string(o.attempt.number) + " token " + o.token.str() + " ttl " +
               ms(o.ttl) + (o.owner.empty() ? "" : " owner " + o.owner.str()) +
               (o.keep ? " keep" : "") + (o.join_only ? " join_only" : "");
    }
    std::string operator()(const core::Release& o) const {
        return "release " + o.token.str() + (o.then ? " then " + (*this)(*o.then) : "");
    }
    std::string operator()(const core::Renew& o) const {
        return "renew " + o.token.str() + (o.ttl ? " ttl " + ms(*o.ttl) : "");
    }
    std::string operator()(const core::Undo& o) const {
        return "undo " + o.request.str() + " attempt " + std::to_string(o.attempt.incarnation) +
               "/" + std::to_string(o.attempt.number) + (o.tombstone ? " with tombstone" : "");
    }
    std::string operator()(const core::Cancel& o) const { return "cancel " + o.request.str(); }
    std::string operator()(const core::Force& o) const {
        return "force" + (o.fence ? " " + fence_text(*o.fence) : std::string());
    }
    std::string operator()(const core::Inspect&) const { return "inspect"; }
    std::string operator()(const core::Restore& o) const { return "restore " + text_of(o.record); }
    std::string operator()(const core::StepOut& o) const { return "step out " + o.node.str(); }
    std::string operator()(const core::List&) const { return "list"; }
};

}  // namespace

std::string describe(const core::Operation& operation) {
    return std::visit(OperationText{}, operation);
}

std::string describe(const core::OperationReply& reply) {
    std::string text = text_of(reply.reply);
    if (reply.then) text += ", then " + text_of(*reply.then);
    return text;
}

std::string describe(const core::Outcome& outcome) {
    static constexpr const char* words[] = {
        "ERR", "DEGRADED", "NOSTORE", "UNCERTAIN", "LOST", "QUEUEFULL", "LIMIT"};
    if (const auto* granted = std::get_if<core::Granted>(&outcome)) {
        return "granted " + granted->token.str() + " fence " + fence_text(granted->fence) +
               " for " + ms(granted->left) + " holds " + std::to_string(granted->holds);
    }
    if (const auto* number = std::get_if<core::Number>(&outcome)) {
        return std::to_string(number->value);
    }
    if (const auto* error = std::get_if<core::Error>(&outcome)) {
        return std::string("-") + words[static_cast<int>(error->word)] + " " + error->text;
    }
    if (std::holds_alternative<core::Refused>(outcome)) return "nil";
    return std::holds_alternative<core::LockView>(outcome) ? "view" : "list";
}

std::string describe(const core::ClientCommand& command) {
    if (const auto* lock = std::get_if<core::LockCommand>(&command)) {
        std::string text = "LOCK PX " + ms(lock->ttl.value_or(Duration{}));
        if (lock->wait > Duration::zero()) text += " WAIT " + ms(lock->wait);
        if (!lock->owner.empty()) text += " OWNER " + lock->owner.str();
        if (lock->request) text += " REQ " + lock->request->str();
        if (lock->keep) text += lock->release_on_close ? " KEEP ONCLOSE RELEASE" : " KEEP";
        if (lock->hold_max) text += " MAXHOLD " + ms(*lock->hold_max);
        if (lock->delay) text += " DELAY " + ms(*lock->delay);
        return text;
    }
    if (const auto* unlock = std::get_if<core::UnlockCommand>(&command)) {
        return "UNLOCK " + unlock->token.str();
    }
    if (const auto* renew = std::get_if<core::RenewCommand>(&command)) {
        return "RENEW " + renew->token.str() + (renew->keep ? " KEEP" : "");
    }
    if (const auto* cancel = std::get_if<core::CancelCommand>(&command)) {
        return "CANCEL " + cancel->request.str();
    }
    if (const auto* force = std::get_if<core::ForceCommand>(&command)) {
        return "FORCEUNLOCK" +
               (force->fence ? " FENCE " + fence_text(*force->fence) : std::string());
    }
    return std::holds_alternative<core::FenceCommand>(command) ? "FENCE" : "LOCKINFO or LOCKS";
}

const LockKey* key_of(const core::Operation& operation) noexcept {
    return std::visit(
        [](const auto& o) -> const LockKey* {
            using T = std::decay_t<decltype(o)>;
            if constexpr (std::is_same_v<T, core::List>) {
                return nullptr;
            } else if constexpr (std::is_same_v<T, core::Restore>) {
                return &o.record.key;
            } else {
                return &o.key;
            }
        },
        operation);
}

namespace {

std::string name_of(const LockKey& key) { return key.resource.str() + ":" + key.id.str(); }

}  // namespace

void Transcript::write(Moment at, const LockKey* key, std::string text) {
    char time[32];
    std::snprintf(
        time, sizeof time, "%11.6f ", static_cast<double>(at.time_since_epoch().count()) / 1e6);
    const std::string lock = key == nullptr ? "" : name_of(*key);
    lines_.push_back({lock, time + (lock.empty() ? "" : lock + ": ") + text});
    if (lines_.size() > lines_max) lines_.pop_front();
}

std::string Transcript::tail(const LockKey* key, std::size_t count) const {
    std::vector<const Line*> picked;
    for (auto it = lines_.rbegin(); it != lines_.rend() && picked.size() < count; ++it) {
        if (key == nullptr || it->lock.empty() || it->lock == name_of(*key)) picked.push_back(&*it);
    }
    std::string text;
    for (auto it = picked.rbegin(); it != picked.rend(); ++it) text += (*it)->text + '\n';
    return text;
}

}  // namespace latchd::sim
