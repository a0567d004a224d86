// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "replies.hpp"

#include "record_json.hpp"
#include "script_reply.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace latchd::store::redis {
namespace {

// Every error here comes before a script's first write, so nothing was executed: Redis checks its
// state before each command of a script until that script has written.
struct ErrorCode {
    std::string_view word;
    core::Failure failure;
    Cause cause;
};
constexpr std::array<ErrorCode, 20> error_codes = {{
    {"NOSCRIPT", core::Failure::stale, Cause::script_missing},
    {"READONLY", core::Failure::refused, Cause::role},
    {"MASTERDOWN", core::Failure::refused, Cause::role},
    {"MOVED", core::Failure::refused, Cause::role},
    {"ASK", core::Failure::refused, Cause::role},
    {"LOADING", core::Failure::refused, Cause::loading},
    {"OOM", core::Failure::refused, Cause::unwell},
    {"MISCONF", core::Failure::refused, Cause::unwell},
    {"NOREPLICAS", core::Failure::refused, Cause::unwell},
    {"BUSY", core::Failure::refused, Cause::unwell},
    {"CLUSTERDOWN", core::Failure::refused, Cause::unwell},
    {"TRYAGAIN", core::Failure::refused, Cause::unwell},
    {"CROSSSLOT", core::Failure::refused, Cause::unwell},
    {"NOAUTH", core::Failure::refused, Cause::access},
    {"WRONGPASS", core::Failure::refused, Cause::access},
    {"NOPERM", core::Failure::refused, Cause::access},
    {"NOPROTO", core::Failure::refused, Cause::access},
    {"DENIED", core::Failure::refused, Cause::access},
    {"WRONGTYPE", core::Failure::refused, Cause::foreign},
    {"NOGOODSLAVE", core::Failure::refused, Cause::unwell},
}};

const ErrorCode* find_code(std::string_view word) noexcept {
    for (const ErrorCode& code : error_codes) {
        if (code.word == word) return &code;
    }
    return nullptr;
}

std::string_view first_word(std::string_view text) noexcept {
    return text.substr(0, text.find(' '));
}

// Redis before 7 wraps a command's error: "ERR Error running script (call to f_...):
// @user_script:9: @user_script: 9: -OOM command not allowed".
const ErrorCode* find_wrapped(std::string_view error) noexcept {
    std::size_t at = error.find(": ");
    while (at != std::string_view::npos) {
        std::string_view rest = error.substr(at + 2);
        if (rest.starts_with('-')) rest.remove_prefix(1);
        if (const ErrorCode* const code = find_code(first_word(rest))) return code;
        at = error.find(": ", at + 2);
    }
    return nullptr;
}

const ErrorCode* classify(std::string_view error) noexcept {
    static constexpr ErrorCode full{"", core::Failure::refused, Cause::unwell};
    static constexpr ErrorCode forbidden{"", core::Failure::refused, Cause::access};
    // Not in the codes' list: a hand-over may have released before it may not grant.
    static constexpr ErrorCode half{"", core::Failure::in_doubt, Cause::access};
    if (error.starts_with("ERR The user executing the script can't")) return &half;
    if (error.starts_with("ERR Error running script")) return find_wrapped(error);
    if (error.starts_with("ERR max number of clients")) return &full;
    if (error.starts_with("ERR unknown command")) return &forbidden;  // renamed away
    return find_code(first_word(error));
}

constexpr std::array<std::pair<std::string_view, core::Status>, 18> statuses = {{
    {"granted", core::Status::granted},
    {"released", core::Status::released},
    {"held", core::Status::held},
    {"renewed", core::Status::renewed},
    {"reentered", core::Status::reentered},
    {"adopted", core::Status::adopted},
    {"cancelled", core::Status::cancelled},
    {"holds_full", core::Status::holds_full},
    {"hold_removed", core::Status::hold_removed},
    {"renew_limit", core::Status::renew_limit},
    {"not_held", core::Status::not_held},
    {"held_by_other", core::Status::held_by_other},
    {"undone", core::Status::undone},
    {"ended", core::Status::ended},
    {"nothing", core::Status::nothing},
    {"restored", core::Status::restored},
    {"found", core::Status::found},
    {"foreign_value", core::Status::foreign_value},
}};

std::optional<core::Status> status_of(std::string_view word) noexcept {
    for (const auto& [name, status] : statuses) {
        if (name == word) return status;
    }
    return std::nullopt;
}

}  // namespace

Refusal unreadable(std::string_view what) {
    return {core::Failure::in_doubt, Cause::other, "unreadable reply: " + std::string(what), 0};
}

Refusal read_error(std::string_view error) {
    const ErrorCode* const code = classify(error);
    if (code == nullptr) return {core::Failure::in_doubt, Cause::other, std::string(error), 0};
    return {code->failure, code->cause, std::string(error), 0};
}

std::optional<std::int64_t> number_in(const resp::Value& value) noexcept {
    if (value.is(resp::Value::Type::integer)) return value.integer;
    if (!value.is(resp::Value::Type::bulk)) return std::nullopt;
    std::int64_t number = 0;
    const char* const end = value.string.data() + value.string.size();
    const auto [ptr, error] = std::from_chars(value.string.data(), end, number);
    if (error != std::errc() || ptr != end) return std::nullopt;
    return number;
}

std::optional<Refusal> read_refusal(const resp::Value& value, std::int64_t& server_ms) {
    using Type = resp::Value::Type;
    if (value.is(Type::error)) return read_error(value.string);
    if (!value.is(Type::array) || value.elements.size() < 2 || !value.elements[0].is(Type::bulk)) {
        return unreadable("not what a script answers");
    }
    const std::string& word = value.elements[0].string;
    const std::optional<std::int64_t> time = number_in(value.elements[1]);
    if (word == "CLOCK" && time) {
        return Refusal{core::Failure::clock,
                       Cause::clock,
                       "CLOCK: the server's clock shows " + std::to_string(*time),
                       *time};
    }
    if (word == "STALE" && value.elements.size() == 4) {
        const std::string& epoch = value.elements[1].string;
        std::string text = epoch.empty() ? "STALE: there is no marker"
                                         : "STALE: the marker has epoch " + epoch + ", nonce " +
                                               value.elements[2].string + ", counter " +
                                               value.elements[3].string;
        return Refusal{core::Failure::stale, Cause::marker, std::move(text), 0};
    }
    if (!time) return unreadable(word);
    server_ms = *time;
    return std::nullopt;
}

namespace {

// One of the two parts that a reply may have: status, value, left_ms, fence; absent is none.
struct Part {
    const resp::Value* status = nullptr;
    const resp::Value* record = nullptr;
    const resp::Value* left = nullptr;
    const resp::Value* fence = nullptr;
};

std::optional<core::Reply> read_part(const LockKey& key, const Part& part, std::int64_t now_ms) {
    using Type = resp::Value::Type;
    const std::optional<core::Status> status = status_of(part.status->string);
    if (!status) return std::nullopt;
    core::Reply reply;
    reply.status = *status;
    if (part.record != nullptr && part.record->is(Type::bulk) && !part.record->string.empty()) {
        reply.record = parse_record(key, part.record->string, now_ms);
        if (!reply.record) return std::nullopt;
    }
    if (part.left != nullptr) reply.left = from_ms(number_in(*part.left).value_or(0));
    if (part.fence != nullptr) {
        reply.fence_seen = static_cast<Fence>(number_in(*part.fence).value_or(0));
    }
    return reply;
}

}  // namespace

Answer read_operation(const LockKey& key, const resp::Value& value) {
    Answered answered;
    if (std::optional<Refusal> refusal = read_refusal(value, answered.server_ms)) {
        return std::move(*refusal);
    }
    const auto at = [&](std::size_t i) {
        return i < value.elements.size() ? &value.elements[i] : nullptr;
    };
    std::optional<core::Reply> reply =
        read_part(key, {at(0), at(2), at(3), at(4)}, answered.server_ms);
    if (!reply) return unreadable(value.elements[0].string);
    answered.reply.reply = std::move(*reply);
    if (at(5) != nullptr) {
        answered.reply.then = read_part(key, {at(5), at(6), at(7), at(8)}, answered.server_ms);
        if (!answered.reply.then) return unreadable(value.elements[5].string);
    }
    return answered;
}

namespace {

struct KeyOf {
    LockKey operator()(const core::List&) const { return {}; }
    LockKey operator()(const core::Restore& restore) const { return restore.record.key; }
    template <class Operation>
    LockKey operator()(const Operation& operation) const {
        return operation.key;
    }
};

std::optional<std::int64_t> cut_number(std::string_view& text) {
    const std::string_view word = first_word(text);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return number;
}

core::Reply granted(const core::Acquire& wish, std::int64_t fence) {
    core::Reply reply;
    reply.status = core::Status::granted;
    reply.record = granted_record(wish, static_cast<Fence>(fence));
    return reply;
}

// A word and numbers between blanks; what is left behind them is a record.
std::optional<Answered> read_short(const core::Operation& operation, std::string_view text) {
    const std::string_view word = first_word(text);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const auto time = cut_number(text);
    if (!time) return std::nullopt;
    Answered answered;
    answered.server_ms = *time;
    core::Reply& reply = answered.reply.reply;
    if (const auto* wish = std::get_if<core::Acquire>(&operation)) {
        const auto first = cut_number(text);
        if (word == "granted" && first) {
            reply = granted(*wish, *first);
            return answered;
        }
        const auto fence = cut_number(text);
        if (word != "held" || !first || !fence) return std::nullopt;
        reply.status = core::Status::held;
        reply.left = from_ms(*first);
        reply.fence_seen = static_cast<Fence>(*fence);
        return answered;
    }
    const auto* release = std::get_if<core::Release>(&operation);
    if (release == nullptr || (word != "released" && word != "handed")) return std::nullopt;
    if (word == "handed") {
        const auto fence = cut_number(text);
        if (!fence || !release->then) return std::nullopt;
        answered.reply.then = granted(*release->then, *fence);
    }
    reply.status = core::Status::released;
    reply.record = parse_record(release->key, text, answered.server_ms);
    if (!reply.record) return std::nullopt;
    return answered;
}

}  // namespace

Answer read_operation(const core::Operation& operation, const resp::Value& value) {
    if (!value.is(resp::Value::Type::bulk)) {
        return read_operation(std::visit(KeyOf{}, operation), value);
    }
    if (auto answered = read_short(operation, value.string)) return std::move(*answered);
    return unreadable(first_word(value.string));
}

std::variant<std::vector<Answer>, Refusal> read_many(
    std::span<const core::Operation* const> operations, const resp::Value& value) {
    const auto is_word = [&](std::string_view word) { return value.elements[0].string == word; };
    const bool are_answers = value.is(resp::Value::Type::array) && !value.elements.empty() &&
                             !is_word("STALE") && !is_word("CLOCK");
    if (!are_answers) {
        std::int64_t server_ms = 0;
        if (auto refusal = read_refusal(value, server_ms)) return std::move(*refusal);
        return unreadable(value.elements[0].string);
    }
    if (value.elements.size() != operations.size()) return unreadable("not an answer for each");
    std::vector<Answer> answers;
    answers.reserve(operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
        answers.push_back(read_operation(*operations[i], value.elements[i]));
    }
    return answers;
}

std::uint32_t counter_shown(const core::OperationReply& reply, Epoch epoch) noexcept {
    std::uint32_t highest = 0;
    const auto show = [&](Fence fence) {
        if (epoch_of(fence) == epoch) highest = std::max(highest, counter_of(fence));
    };
    const auto look = [&](const core::Reply& part) {
        show(part.fence_seen);
        if (part.record) show(part.record->fence);
    };
    look(reply.reply);
    if (reply.then) look(*reply.then);
    for (const core::GrantRecord& row : reply.rows) show(row.fence);
    return highest;
}

}  // namespace latchd::store::redis
