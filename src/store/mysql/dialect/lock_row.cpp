// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "lock_row.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace latchd::store::mysql {
namespace {

namespace json = boost::json;

// Always the same text for the same bytes, so that statements can look for it: LOCATE.
void append_quoted(std::string& out, std::string_view bytes) {
    static constexpr std::string_view digits = "0123456789abcdef";
    out += '"';
    for (const char c : bytes) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += "\\u00";
            out += digits[static_cast<unsigned char>(c) >> 4];
            out += digits[static_cast<unsigned char>(c) & 15];
        } else {
            out += c;
        }
    }
    out += '"';
}

void append_attempts(std::string& out, const Few<Attempt>& attempts) {
    out += ",\"attempts\":[";
    for (const Attempt& attempt : attempts) {
        if (out.back() == '"') out += ',';
        out +=
            '"' + std::to_string(attempt.incarnation) + '.' + std::to_string(attempt.number) + '"';
    }
    out += ']';
}

void append_hold(std::string& out, const core::KeptHold& hold, Time granted_at) {
    out += '{' + token_mark(hold.token) + ",\"request\":";
    append_quoted(out, hold.request.view());
    append_attempts(out, hold.attempts);
    out += ",\"adopt\":" + std::to_string((hold.adopt_until - granted_at).count()) + '}';
}

std::optional<json::value> parse(std::string_view text) {
    json::parse_options options;
    options.allow_invalid_utf8 = true;  // names are bytes
    options.max_depth = 5;
    json::error_code error;
    json::value parsed = json::parse({text.data(), text.size()}, error, {}, options);
    if (error || !parsed.is_array()) return std::nullopt;
    return parsed;
}

std::optional<std::string> text_of(const json::object& object, json::string_view name) {
    const json::value* const value = object.if_contains(name);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return std::string(value->get_string().data(), value->get_string().size());
}

std::optional<std::int64_t> number_of(const json::object& object, json::string_view name) {
    const json::value* const value = object.if_contains(name);
    if (value == nullptr || !value->is_int64()) return std::nullopt;
    return value->get_int64();
}

std::optional<Few<Attempt>> attempts_of(const json::object& object) {
    const json::value* const list = object.if_contains("attempts");
    if (list == nullptr || !list->is_array()) return std::nullopt;
    Few<Attempt> attempts;
    for (const json::value& item : list->get_array()) {
        if (!item.is_string()) return std::nullopt;
        const std::string_view text(item.get_string().data(), item.get_string().size());
        const char* const end = text.data() + text.size();
        Attempt attempt;
        const auto first = std::from_chars(text.data(), end, attempt.incarnation);
        if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
        const auto second = std::from_chars(first.ptr + 1, end, attempt.number);
        if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
        attempts.push_back(attempt);
    }
    return attempts;
}

bool read_holds(core::KeptRecord& record, std::string_view text) {
    if (text.empty()) return true;
    const auto parsed = parse(text);
    if (!parsed) return false;
    for (const json::value& item : parsed->get_array()) {
        if (!item.is_object()) return false;
        const json::object& object = item.get_object();
        auto token = text_of(object, "token");
        auto request = text_of(object, "request");
        auto attempts = attempts_of(object);
        const auto adopt = number_of(object, "adopt");
        if (!token || !request || !attempts || !adopt) return false;
        record.holds.push_back({Token(std::move(*token)),
                                RequestId(std::move(*request)),
                                std::move(*attempts),
                                record.granted_at + Duration(*adopt)});
    }
    return true;
}

bool read_bars(std::vector<Bar>& bars, std::string_view text) {
    if (text.empty()) return true;
    const auto parsed = parse(text);
    if (!parsed) return false;
    for (const json::value& item : parsed->get_array()) {
        if (!item.is_object()) return false;
        const json::object& object = item.get_object();
        auto request = text_of(object, "request");
        auto attempts = attempts_of(object);
        const auto until = number_of(object, "until");
        const auto all = number_of(object, "all");
        if (!request || !attempts || !until || !all) return false;
        bars.push_back(
            {RequestId(std::move(*request)), *all != 0, std::move(*attempts), server_time(*until)});
    }
    return true;
}

bool read_queue(core::NodeQueue& queue, std::string_view text) {
    if (text.empty()) return true;
    const auto parsed = parse(text);
    if (!parsed) return false;
    std::vector<std::int64_t> times;
    for (const json::value& item : parsed->get_array()) {
        if (item.is_int64()) {
            times.push_back(item.get_int64());
        } else if (item.is_string()) {
            const json::string& name = item.get_string();
            queue.nodes.emplace_back(std::string(name.data(), name.size()));
        }
    }
    if (times.size() != 2) return false;
    queue.reserved_until = server_time(times[0]);
    queue.kept_until = server_time(times[1]);
    return true;
}

}  // namespace

Time LockRow::bars_until() const noexcept {
    Time until{};
    for (const Bar& bar : bars) until = std::max(until, bar.until);
    return until;
}

LockKey read_key(const Rows& rows, std::size_t row) {
    return {ResourceName(rows.text(row, 0)), LockId(rows.text(row, 1))};
}

LockRow read_row(const Rows& rows, std::size_t row) {
    LockRow lock;
    const auto number = [&](std::size_t column) {
        const auto value = rows.number<std::int64_t>(row, column);
        if (!value) lock.is_damaged = true;
        return value.value_or(0);
    };
    core::KeptRecord& record = lock.record;
    lock.key = read_key(rows, row);
    lock.since = static_cast<Epoch>(number(2));
    lock.stamp = rows.text(row, 3);
    record.fence = static_cast<Fence>(number(4));
    lock.counter = static_cast<Fence>(number(5));
    record.version = static_cast<std::uint64_t>(number(6));
    record.lease_end = server_time(number(7));
    lock.free_at = server_time(number(8));
    if (const auto hard = rows.number<std::int64_t>(row, 9)) record.hard_end = server_time(*hard);
    record.ttl = Duration(number(10));
    record.delay = Duration(number(11));
    record.renewals = static_cast<std::uint32_t>(number(12));
    record.renew_max = static_cast<std::uint32_t>(number(13));
    record.owner = OwnerName(rows.text(row, 14));
    record.node = NodeName(rows.text(row, 15));
    record.client = ClientName(rows.text(row, 16));
    record.granted_at = server_time(number(17));
    lock.changed_at = server_time(number(18));
    if (!read_holds(record, rows.text(row, 19)) || !read_bars(lock.bars, rows.text(row, 20)) ||
        !read_queue(lock.queue, rows.text(row, 21)) ||
        (record.holds.empty() && lock.free_at != Time())) {
        lock.is_damaged = true;
    }
    return lock;
}

std::string token_mark(const Token& token) {
    std::string out = "\"token\":";
    append_quoted(out, token.view());
    return out;
}

std::string holds_text(const core::KeptRecord& record) {
    if (record.holds.empty()) return {};
    std::string out = "[";
    for (const core::KeptHold& hold : record.holds) {
        if (out.back() == '}') out += ',';
        append_hold(out, hold, record.granted_at);
    }
    return out + ']';
}

std::string first_hold_text(const Token& token,
                            const RequestId& request,
                            const Attempt& attempt,
                            Duration retry_window) {
    std::string out = "[";
    append_hold(out, {token, request, {attempt}, Time(retry_window)}, Time());
    return out + ']';
}

std::string bars_text(const std::vector<Bar>& bars) {
    if (bars.empty()) return {};
    std::string out = "[";
    for (const Bar& bar : bars) {
        if (out.back() == '}') out += ',';
        out += "{\"request\":";
        append_quoted(out, bar.request.view());
        append_attempts(out, bar.attempts);
        out += ",\"all\":" + std::string(bar.everything ? "1" : "0");
        out += ",\"until\":" + std::to_string(to_us(bar.until)) + '}';
    }
    return out + ']';
}

std::string queue_text(const core::NodeQueue& queue) {
    if (queue.nodes.empty()) return {};
    std::string out = '[' + std::to_string(to_us(queue.reserved_until)) + ',' +
                      std::to_string(to_us(queue.kept_until));
    for (const NodeName& node : queue.nodes) {
        out += ',';
        append_quoted(out, node.view());
    }
    return out + ']';
}

bool comes_before(const LockKey& a, const LockKey& b) noexcept {
    // As memcmp, then by length: VARBINARY's order, and std::string's.
    return a < b;
}

}  // namespace latchd::store::mysql
