// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "record_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
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

std::optional<core::Hold> parse_hold(const json::value& value, std::int64_t now_ms) {
    if (!value.is_object()) return std::nullopt;
    Fields fields(value.get_object());
    core::Hold hold;
    hold.token = Token(fields.text("token"));
    hold.request = RequestId(fields.text("request"));
    const std::int64_t left = fields.number("adopt_until_ms", 0, number_max) - now_ms;
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
    record.left = from_ms(fields.number("lease_end_ms", 0, number_max) - now_ms);
    record.ttl = from_ms(fields.number("ttl_ms", 0, number_max));
    const std::int64_t hard_end = fields.number("hard_end_ms", 0, number_max);
    if (hard_end != 0) record.hard_left = from_ms(hard_end - now_ms);
    record.renewals = static_cast<std::uint32_t>(fields.number("renewals", 0, count_max));
    record.renew_max = static_cast<std::uint32_t>(fields.number("renew_max", 0, count_max));
    record.delay = from_ms(fields.number("delay_ms", 0, number_max));
    record.age = from_ms(now_ms - fields.number("since_ms", 0, number_max));
    record.node = NodeName(fields.text("node"));
    record.client = ClientName(fields.text("client"));
    const json::array* const holds = fields.list("holds");
    if (!fields.are_well()) return std::nullopt;
    record.holds.reserve(holds->size());
    for (const json::value& item : *holds) {
        std::optional<core::Hold> hold = parse_hold(item, now_ms);
        if (!hold) return std::nullopt;
        record.holds.push_back(std::move(*hold));
    }
    return record;
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

std::string restore_text(const core::GrantRecord& record) {
    const auto up = [](Duration d) {
        return std::chrono::ceil<std::chrono::milliseconds>(d).count();
    };
    const auto bytes = [](std::string_view text) {
        return json::string(json::string_view(text.data(), text.size()));
    };
    json::array holds;
    for (const core::Hold& hold : record.holds) {
        json::array attempts;
        for (const Attempt& attempt : hold.attempts)
            attempts.push_back(bytes(attempt_text(attempt)));
        holds.push_back(json::object{{"token", bytes(hold.token.view())},
                                     {"request", bytes(hold.request.view())},
                                     {"attempts", std::move(attempts)},
                                     {"adopt_left_ms", to_ms(hold.adopt_left)}});
    }
    const json::value hard_left =
        record.hard_left ? json::value(to_ms(*record.hard_left)) : json::value(nullptr);
    return json::serialize(json::object{{"fence", bytes(std::to_string(record.fence))},
                                        {"owner", bytes(record.owner.view())},
                                        {"holds", std::move(holds)},
                                        {"version", record.version},
                                        {"left_ms", to_ms(record.left)},
                                        {"ttl_ms", to_ms(record.ttl)},
                                        {"hard_left_ms", hard_left},
                                        {"renewals", record.renewals},
                                        {"renew_max", record.renew_max},
                                        {"delay_ms", up(record.delay)},
                                        {"age_ms", to_ms(record.age)},
                                        {"node", bytes(record.node.view())},
                                        {"client", bytes(record.client.view())}});
}

}  // namespace latchd::store::redis
