// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "record_json.hpp"
#include "replies.hpp"
#include "script_reply.hpp"

#include <charconv>
#include <utility>

namespace latchd::store::redis {
namespace {

using Type = resp::Value::Type;

template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [ptr, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || ptr != end) return std::nullopt;
    return number;
}

std::optional<core::NodeMessage::Kind> kind_of(std::string_view word) {
    using Kind = core::NodeMessage::Kind;
    if (word == "released") return Kind::released;
    if (word == "forced") return Kind::forced;
    if (word == "moved") return Kind::moved;
    if (word == "cancelled") return Kind::cancelled;
    if (word == "offered") return Kind::offered;
    return std::nullopt;
}

// Cuts off and returns what comes before the first blank; without one, everything.
std::string_view cut_word(std::string_view& text) {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
    return word;
}

}  // namespace

std::variant<ScanPage, Refusal> read_scan(const resp::Value& value) {
    if (value.is(Type::error)) return read_error(value.string);
    if (!value.is(Type::array) || value.elements.size() != 2 || !value.elements[0].is(Type::bulk) ||
        !value.elements[1].is(Type::array)) {
        return unreadable("SCAN");
    }
    const std::optional<std::uint64_t> cursor = number_of<std::uint64_t>(value.elements[0].string);
    if (!cursor) return unreadable("SCAN");
    ScanPage page;
    page.cursor = *cursor;
    for (const resp::Value& key : value.elements[1].elements) {
        if (!key.is(Type::bulk)) return unreadable("SCAN");
        page.redis_keys.push_back(key.string);
    }
    return page;
}

Answer read_list(const Keys& keys,
                 std::span<const std::string> redis_keys,
                 std::string_view pattern,
                 const resp::Value& value) {
    Answered answered;
    if (std::optional<Refusal> refusal = read_refusal(value, answered.server_ms)) {
        return std::move(*refusal);
    }
    if (value.elements[0].string != "listed" || value.elements.size() != 2 + redis_keys.size()) {
        return unreadable("list");
    }
    answered.reply.reply.status = core::Status::listed;
    for (std::size_t i = 0; i < redis_keys.size(); ++i) {
        const resp::Value& item = value.elements[2 + i];
        const std::optional<LockKey> key = keys.lock_of(redis_keys[i]);
        if (!item.is(Type::bulk) || !key || !matches(pattern, *key)) continue;
        std::optional<core::GrantRecord> record =
            parse_record(*key, item.string, answered.server_ms);
        if (!record || record->left + record->delay <= Duration::zero()) continue;
        answered.reply.rows.push_back(std::move(*record));
    }
    return answered;
}

std::variant<std::uint64_t, Refusal> read_sweep(const resp::Value& value) {
    std::int64_t server_ms = 0;
    if (std::optional<Refusal> refusal = read_refusal(value, server_ms)) return std::move(*refusal);
    if (value.elements[0].string != "swept" || value.elements.size() != 3 ||
        !value.elements[2].is(Type::integer) || value.elements[2].integer < 0) {
        return unreadable("sweep");
    }
    return static_cast<std::uint64_t>(value.elements[2].integer);
}

std::variant<Probed, Refusal> read_probe(const resp::Value& value) {
    std::int64_t server_ms = 0;
    if (std::optional<Refusal> refusal = read_refusal(value, server_ms)) return std::move(*refusal);
    const auto& items = value.elements;
    if (items[0].string != "probed" || items.size() != 4 || !items[3].is(Type::integer) ||
        items[3].integer < 0 || items[3].integer > 0xffffffff) {
        return unreadable("probe");
    }
    return Probed{server_ms, items[2].string, static_cast<std::uint32_t>(items[3].integer)};
}

std::variant<Probed, Refusal> read_plain_time(const resp::Value& value) {
    if (value.is(Type::error)) return read_error(value.string);
    if (!value.is(Type::array) || value.elements.size() != 2) return unreadable("TIME");
    const auto seconds = number_of<std::int64_t>(value.elements[0].string);
    const auto microseconds = number_of<std::int64_t>(value.elements[1].string);
    if (!seconds || !microseconds) return unreadable("TIME");
    return Probed{*seconds * 1'000 + *microseconds / 1'000, {}, 0};
}

std::optional<core::NodeMessage> read_message(const Keys& keys, std::string_view payload) {
    const auto kind = kind_of(cut_word(payload));
    const auto fence = number_of<std::uint64_t>(cut_word(payload));
    const auto key = keys.lock_of(cut_word(payload));
    if (!kind || !fence || !key) return std::nullopt;
    core::NodeMessage message{*kind, *key, *fence, RequestId(), false, 0, {}};
    if (*kind == core::NodeMessage::Kind::cancelled) {
        message.request = RequestId(payload);
    } else if (*kind == core::NodeMessage::Kind::moved) {
        const auto version = number_of<std::uint64_t>(cut_word(payload));
        message.keep = payload.starts_with('=');
        if (!version || (payload != "-" && !message.keep)) return std::nullopt;
        message.version = *version;
        if (message.keep) message.hold = payload.substr(1);
    } else if (!payload.empty()) {
        return std::nullopt;
    }
    return message;
}

}  // namespace latchd::store::redis
