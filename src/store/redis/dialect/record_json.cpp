// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "record_json.hpp"

#include "plain_record.hpp"

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <charconv>
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

std::optional<core::Hold> parse_hold(const json::value& value) {
    if (!value.is_object()) return std::nullopt;
    Fields fields(value.get_object());
    core::Hold hold;
    hold.token = Token(fields.text("token"));
    hold.request = RequestId(fields.text("request"));
    hold.adopt_left = from_ms(fields.number("adopt_ms", -RecordNumbers::max, RecordNumbers::max));
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
    RecordNumbers numbers;
    for (const auto& [name, number] : {std::pair{"fence", &RecordNumbers::fence},
                                       {"since_ms", &RecordNumbers::since_ms},
                                       {"lease_ms", &RecordNumbers::lease_ms},
                                       {"delay_ms", &RecordNumbers::delay_ms},
                                       {"version", &RecordNumbers::version},
                                       {"ttl_ms", &RecordNumbers::ttl_ms},
                                       {"hard_ms", &RecordNumbers::hard_ms},
                                       {"renewals", &RecordNumbers::renewals},
                                       {"renew_max", &RecordNumbers::renew_max}}) {
        numbers.*number = fields.number(name, -RecordNumbers::max, RecordNumbers::max);
    }
    core::GrantRecord record;
    record.key = key;
    record.owner = OwnerName(fields.text("owner"));
    record.node = NodeName(fields.text("node"));
    record.client = ClientName(fields.text("client"));
    const json::array* const holds = fields.list("holds");
    if (!fields.are_well() || !numbers.are_in_range()) return std::nullopt;
    record.holds.reserve(holds->size());
    for (const json::value& item : *holds) {
        std::optional<core::Hold> hold = parse_hold(item);
        if (!hold) return std::nullopt;
        record.holds.push_back(std::move(*hold));
    }
    numbers.put_into(record, now_ms);
    return record;
}

// Stands in a JSON string as itself, as cjson writes it.
constexpr auto plain_in_json = [] {
    std::array<bool, 256> plain{};
    for (std::size_t c = 0x20; c < plain.size(); ++c) {
        plain[c] = c != 0x7f && c != '"' && c != '\\' && c != '/';
    }
    return plain;
}();

bool is_plain_in_json(char c) noexcept { return plain_in_json[static_cast<unsigned char>(c)]; }

void append(std::string& out, std::string_view label, std::int64_t number) {
    char text[24];
    const char* const end = std::to_chars(text, text + sizeof text, number).ptr;
    out += label;
    out.append(text, static_cast<std::size_t>(end - text));
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
    if (auto record = read_plain_record(key, value, now_ms)) return record;
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
    while (!bytes.empty()) {
        // As they are, up to the first that is not plain: mostly all.
        const auto stop =
            std::find_if(bytes.begin(), bytes.end(), [](char c) { return !is_plain_in_json(c); });
        const auto plain = static_cast<std::size_t>(stop - bytes.begin());
        out.append(bytes.data(), plain);
        bytes.remove_prefix(plain);
        if (bytes.empty()) break;
        const char c = bytes.front();
        bytes.remove_prefix(1);
        out += '\\';
        const std::size_t at = escaped.find(c);
        if (at != std::string_view::npos) {
            out += letters[at];
        } else {
            out += "u00";
            out += digits[static_cast<unsigned char>(c) >> 4];
            out += digits[static_cast<unsigned char>(c) & 15];
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
    out.reserve(64);
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
    out += ",\"attempts\":[\"";
    out += attempt_text(wish.attempt);
    append(out, "\"],\"adopt_ms\":", ms_down(wish.retry_window));
    append(out, "}],\"version\":1,\"ttl_ms\":", ttl);
    append(out, ",\"hard_ms\":", hard);
    append(out, ",\"renewals\":0,\"renew_max\":", std::int64_t{wish.renew_max});
    append(out, ",\"node\":", wish.node.view());
    append(out, ",\"client\":", wish.client.view());
    out += tail;
    return out;
}

core::GrantRecord granted_record(const core::Acquire& wish, Fence fence) {
    const std::int64_t ttl = at_least_1(ms_down(wish.ttl));
    core::GrantRecord record;
    record.key = wish.key;
    record.holds.push_back(
        {wish.token, wish.request, {wish.attempt}, from_ms(ms_down(wish.retry_window))});
    record.owner = wish.owner;
    record.fence = fence;
    record.version = 1;
    record.ttl = record.left = from_ms(ttl);
    if (wish.hold_max) {
        record.hard_left = from_ms(at_least_1(ms_down(*wish.hold_max)));
        record.left = std::min(record.left, *record.hard_left);
    }
    record.renew_max = wish.renew_max;
    record.delay = from_ms(ms_up(wish.delay));
    record.node = wish.node;
    record.client = wish.client;
    return record;
}

namespace {

// From lease_ms to client; `passed` since since_ms.
void append_carried(std::string& out, const core::GrantRecord& record, std::int64_t passed) {
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
}

}  // namespace

std::string carried_body(const core::GrantRecord& record, std::string_view tail) {
    std::string out;
    append_carried(out, record, ms_down(record.age));
    out += tail;
    return out;
}

std::string restore_text(const core::GrantRecord& record) {
    const std::int64_t passed = ms_down(record.age);
    std::string out;
    append(out, "{\"fence\":", std::to_string(record.fence));
    append(out, ",\"passed_ms\":", passed);
    append_carried(out, record, passed);
    out += '}';
    return out;
}

}  // namespace latchd::store::redis
