// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "record_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace latchd::store::redis {
namespace {

namespace json = boost::json;

// Takes fields out of an object and remembers if one wasn't there or wasn't what it should be.
class Fields {
public:
    explicit Fields(const json::object& object) noexcept : object_(object) {}

    [[nodiscard]] bool are_well() const noexcept { return well_; }

    std::string text(json::string_view name) {
        const json::value* const value = object_.if_contains(name);
        if (value == nullptr || !value->is_string()) return well_ = false, std::string();
        return std::string(value->get_string().data(), value->get_string().size());
    }
    std::int64_t number(json::string_view name, std::int64_t min, std::int64_t max) {
        const json::value* const value = object_.if_contains(name);
        if (value == nullptr || !value->is_int64() || value->get_int64() < min ||
            value->get_int64() > max) {
            return well_ = false, min;
        }
        return value->get_int64();
    }
    const json::array* list(json::string_view name) {
        const json::value* const value = object_.if_contains(name);
        if (value == nullptr || !value->is_array() || value->get_array().empty()) {
            return well_ = false, nullptr;
        }
        return &value->get_array();
    }

private:
    const json::object& object_;
    bool well_ = true;
};

// Exact in Lua's numbers, and far beyond every time.
constexpr std::int64_t number_max = (std::int64_t{1} << 53) - 1;
constexpr std::int64_t count_max = std::numeric_limits<std::uint32_t>::max();

std::optional<Attempt> parse_attempt(std::string_view text) {
    Attempt attempt;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, attempt.incarnation);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, attempt.number);
    if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
    return attempt;
}

std::optional<core::Hold> parse_hold(const json::value& value, std::int64_t passed_ms) {
    if (!value.is_object()) return std::nullopt;
    Fields fields(value.get_object());
    core::Hold hold;
    hold.token = Token(fields.text("token"));
    hold.request = RequestId(fields.text("request"));
    const std::int64_t left = fields.number("adopt_ms", -number_max, number_max) - passed_ms;
    hold.adopt_left = from_ms(std::max<std::int64_t>(left, 0));
    const json::array* const attempts = fields.list("attempts");
    if (!fields.are_well()) return std::nullopt;
    for (const json::value& item : *attempts) {
        if (!item.is_string()) return std::nullopt;
        const json::string& text = item.get_string();
        const std::optional<Attempt> attempt = parse_attempt({text.data(), text.size()});
        if (!attempt) return std::nullopt;
        hold.attempts.push_back(*attempt);
    }
    return hold;
}

std::optional<core::GrantRecord> to_record(const LockKey& key,
                                           const json::object& object,
                                           std::int64_t now_ms) {
    Fields fields(object);
    core::GrantRecord record;
    record.key = key;
    record.owner = OwnerName(fields.text("owner"));
    record.fence = static_cast<Fence>(fields.number("fence", 0, number_max));
    record.version = static_cast<std::uint64_t>(fields.number("version", 0, number_max));
    const std::int64_t passed_ms = now_ms - fields.number("since_ms", 0, number_max);
    record.age = from_ms(passed_ms);
    record.left = from_ms(fields.number("lease_ms", -number_max, number_max) - passed_ms);
    record.ttl = from_ms(fields.number("ttl_ms", 0, number_max));
    const std::int64_t hard_ms = fields.number("hard_ms", -number_max, number_max);
    if (hard_ms != 0) record.hard_left = from_ms(hard_ms - passed_ms);
    record.renewals = static_cast<std::uint32_t>(fields.number("renewals", 0, count_max));
    record.renew_max = static_cast<std::uint32_t>(fields.number("renew_max", 0, count_max));
    record.delay = from_ms(fields.number("delay_ms", 0, number_max));
    record.node = NodeName(fields.text("node"));
    record.client = ClientName(fields.text("client"));
    const json::array* const holds = fields.list("holds");
    if (!fields.are_well()) return std::nullopt;
    record.holds.reserve(holds->size());
    for (const json::value& item : *holds) {
        std::optional<core::Hold> hold = parse_hold(item, passed_ms);
        if (!hold) return std::nullopt;
        record.holds.push_back(std::move(*hold));
    }
    return record;
}

void append(std::string& out, std::string_view label, std::int64_t number) {
    out += label;
    out += std::to_string(number);
}

void append(std::string& out, std::string_view label, std::string_view text) {
    out += label;
    append_quoted(out, text);
}

}  // namespace

std::string attempt_text(const Attempt& attempt) {
    std::string out = std::to_string(attempt.incarnation);
    out += '.';
    out += std::to_string(attempt.number);
    return out;
}

std::optional<core::GrantRecord> parse_record(const LockKey& key,
                                              std::string_view value,
                                              std::int64_t now_ms) {
    json::parse_options options;
    options.allow_invalid_utf8 = true;  // owners and ids are bytes
    options.max_depth = 4;
    unsigned char memory[4096];  // enough for an ordinary record
    json::monotonic_resource resource(memory);
    json::error_code error;
    const json::value parsed = json::parse({value.data(), value.size()}, error, &resource, options);
    if (error || !parsed.is_object()) return std::nullopt;
    return to_record(key, parsed.get_object(), now_ms);
}

void append_quoted(std::string& out, std::string_view bytes) {
    static constexpr std::string_view digits = "0123456789abcdef";
    static constexpr std::string_view escaped = "\b\t\n\f\r\"\\/";
    static constexpr std::string_view letters = "btnfr\"\\/";
    out += '"';
    for (const char c : bytes) {
        const std::size_t at = escaped.find(c);
        if (at != std::string_view::npos) {
            out += '\\';
            out += letters[at];
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += "\\u00";
            out += digits[static_cast<unsigned char>(c) >> 4];
            out += digits[static_cast<unsigned char>(c) & 15];
        } else {
            out += c;
        }
    }
    out += '"';
}

std::int64_t ms_down(Duration d) noexcept { return std::max<std::int64_t>(to_ms(d), 0); }
std::int64_t ms_up(Duration d) noexcept {
    return std::max<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(d).count(), 0);
}
std::int64_t at_least_1(std::int64_t ms) noexcept { return std::max<std::int64_t>(ms, 1); }

std::string record_tail(Epoch epoch, std::string_view nonce) {
    std::string out;
    append(out, ",\"epoch\":", std::int64_t{epoch});
    append(out, ",\"nonce\":", nonce);
    out += '}';
    return out;
}

std::string grant_head(const Token& token) {
    std::string out;
    append(out, "{\"token\":", token.view());
    out += ",\"fence\":";
    return out;
}

std::string grant_body(const core::Acquire& wish, std::string_view tail) {
    const std::int64_t ttl = at_least_1(ms_down(wish.ttl));
    const std::int64_t hard = wish.hold_max ? at_least_1(ms_down(*wish.hold_max)) : 0;
    std::string out;
    out.reserve(512);
    append(out, ",\"lease_ms\":", hard != 0 ? std::min(ttl, hard) : ttl);
    append(out, ",\"delay_ms\":", ms_up(wish.delay));
    append(out, ",\"owner\":", wish.owner.view());
    append(out, ",\"holds\":[{\"token\":", wish.token.view());
    append(out, ",\"request\":", wish.request.view());
    out += ",\"attempts\":[\"" + attempt_text(wish.attempt) + "\"]";
    append(out, ",\"adopt_ms\":", ms_down(wish.retry_window));
    append(out, "}],\"version\":1,\"ttl_ms\":", ttl);
    append(out, ",\"hard_ms\":", hard);
    append(out, ",\"renewals\":0,\"renew_max\":", std::int64_t{wish.renew_max});
    append(out, ",\"node\":", wish.node.view());
    append(out, ",\"client\":", wish.client.view());
    out += tail;
    return out;
}

std::string restore_text(const core::GrantRecord& record) {
    const std::int64_t passed = ms_down(record.age);
    std::string out;
    append(out, "{\"fence\":", std::to_string(record.fence));
    append(out, ",\"passed_ms\":", passed);
    append(out, ",\"lease_ms\":", to_ms(record.left) + passed);
    append(out, ",\"delay_ms\":", ms_up(record.delay));
    append(out, ",\"owner\":", record.owner.view());
    out += ",\"holds\":[";
    for (const core::Hold& hold : record.holds) {
        if (out.back() == '}') out += ',';
        append(out, "{\"token\":", hold.token.view());
        append(out, ",\"request\":", hold.request.view());
        out += ",\"attempts\":[";
        for (const Attempt& attempt : hold.attempts) {
            if (out.back() == '"') out += ',';
            append_quoted(out, attempt_text(attempt));
        }
        append(out, "],\"adopt_ms\":", ms_down(hold.adopt_left) + passed);
        out += '}';
    }
    append(out, "],\"version\":", static_cast<std::int64_t>(record.version));
    append(out, ",\"ttl_ms\":", ms_down(record.ttl));
    append(out, ",\"hard_ms\":", record.hard_left ? to_ms(*record.hard_left) + passed : 0);
    append(out, ",\"renewals\":", std::int64_t{record.renewals});
    append(out, ",\"renew_max\":", std::int64_t{record.renew_max});
    append(out, ",\"node\":", record.node.view());
    append(out, ",\"client\":", record.client.view());
    out += '}';
    return out;
}

}  // namespace latchd::store::redis
