// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "plain_record.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace latchd::store::redis {
namespace {

// Goes along a value; once something isn't as expected, it stays where it is and is not well.
class Walk {
public:
    explicit Walk(std::string_view value) noexcept
        : at_(value.data()), end_(value.data() + value.size()) {}

    [[nodiscard]] bool is_well() const noexcept { return is_well_; }
    [[nodiscard]] bool is_at_end() const noexcept { return is_well_ && at_ == end_; }

    // Of a literal whose size is known where this is compiled: compared without a call.
    template <std::size_t size>
    Walk& over(const char (&literal)[size]) noexcept {
        if (!passes(literal)) is_well_ = false;
        return *this;
    }
    // Whether the literal comes; goes over it if it does.
    template <std::size_t size>
    bool passes(const char (&literal)[size]) noexcept {
        constexpr std::size_t length = size - 1;
        if (!is_well_ || static_cast<std::size_t>(end_ - at_) < length ||
            std::memcmp(at_, literal, length) != 0) {
            return false;
        }
        at_ += length;
        return true;
    }
    // As JSON has integers: no sign but minus, no leading zero.
    Walk& number(std::int64_t& value) noexcept {
        const bool is_negative = passes("-");
        const char* const digits = at_;
        constexpr std::ptrdiff_t digits_max =
            18;  // any of so many fits; a further one is in the way
        std::int64_t sum = 0;
        while (at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - digits < digits_max) {
            sum = sum * 10 + (*at_++ - '0');
        }
        const std::ptrdiff_t count = at_ - digits;
        if (count == 0 || (*digits == '0' && count > 1)) is_well_ = false;
        value = is_negative ? -sum : sum;
        return *this;
    }
    // A quoted text without anything escaped.
    template <class Text>
    Walk& text(Text& value) {
        if (!passes("\"")) return is_well_ = false, *this;
        const char* const stop = std::find_if(at_, end_, [](char c) {
            return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
        });
        if (stop == end_ || *stop != '"') return is_well_ = false, *this;
        value = Text(std::string_view(at_, static_cast<std::size_t>(stop - at_)));
        at_ = stop + 1;
        return *this;
    }

private:
    const char* at_;
    const char* end_;
    bool is_well_ = true;
};

bool read_hold(Walk& walk, core::Hold& hold) {
    walk.over("{\"token\":").text(hold.token).over(",\"request\":").text(hold.request);
    walk.over(",\"attempts\":[");
    do {
        std::string_view text;
        if (!walk.text(text).is_well()) return false;
        const std::optional<Attempt> attempt = parse_attempt(text);
        if (!attempt) return false;
        hold.attempts.push_back(*attempt);
    } while (walk.passes(","));
    std::int64_t adopt_ms = 0;
    walk.over("],\"adopt_ms\":").number(adopt_ms).over("}");
    if (adopt_ms < -RecordNumbers::max || adopt_ms > RecordNumbers::max) return false;
    hold.adopt_left = from_ms(adopt_ms);
    return walk.is_well();
}

bool is_within(std::int64_t number, std::int64_t min, std::int64_t max) noexcept {
    return number >= min && number <= max;
}

}  // namespace

bool RecordNumbers::are_in_range() const noexcept {
    return is_within(fence, 0, max) && is_within(version, 0, max) && is_within(since_ms, 0, max) &&
           is_within(lease_ms, -max, max) && is_within(ttl_ms, 0, max) &&
           is_within(hard_ms, -max, max) && is_within(delay_ms, 0, max) &&
           is_within(renewals, 0, count_max) && is_within(renew_max, 0, count_max);
}

void RecordNumbers::put_into(core::GrantRecord& record, std::int64_t now_ms) const {
    const std::int64_t passed_ms = now_ms - since_ms;
    record.fence = static_cast<Fence>(fence);
    record.version = static_cast<std::uint64_t>(version);
    record.age = from_ms(passed_ms);
    record.left = from_ms(lease_ms - passed_ms);
    record.ttl = from_ms(ttl_ms);
    if (hard_ms != 0) record.hard_left = from_ms(hard_ms - passed_ms);
    record.renewals = static_cast<std::uint32_t>(renewals);
    record.renew_max = static_cast<std::uint32_t>(renew_max);
    record.delay = from_ms(delay_ms);
    for (core::Hold& hold : record.holds) {
        hold.adopt_left = std::max(hold.adopt_left - from_ms(passed_ms), Duration::zero());
    }
}

std::optional<Attempt> parse_attempt(std::string_view text) noexcept {
    Attempt attempt;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, attempt.incarnation);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, attempt.number);
    if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
    return attempt;
}

std::optional<core::GrantRecord> read_plain_record(const LockKey& key,
                                                   std::string_view value,
                                                   std::int64_t now_ms) {
    Walk walk(value);
    RecordNumbers numbers;
    core::GrantRecord record;
    std::string_view seen;  // what the record has elsewhere, or the caller knows
    std::int64_t epoch = 0;
    walk.over("{\"token\":").text(seen).over(",\"fence\":").number(numbers.fence);
    walk.over(",\"since_ms\":").number(numbers.since_ms);
    walk.over(",\"lease_ms\":").number(numbers.lease_ms);
    walk.over(",\"delay_ms\":").number(numbers.delay_ms);
    walk.over(",\"owner\":").text(record.owner).over(",\"holds\":[");
    if (!walk.is_well()) return std::nullopt;
    do {
        if (!read_hold(walk, record.holds.emplace_back())) return std::nullopt;
    } while (walk.passes(","));
    walk.over("],\"version\":").number(numbers.version);
    walk.over(",\"ttl_ms\":").number(numbers.ttl_ms);
    walk.over(",\"hard_ms\":").number(numbers.hard_ms);
    walk.over(",\"renewals\":").number(numbers.renewals);
    walk.over(",\"renew_max\":").number(numbers.renew_max);
    walk.over(",\"node\":").text(record.node).over(",\"client\":").text(record.client);
    walk.over(",\"epoch\":").number(epoch).over(",\"nonce\":").text(seen).over("}");
    if (!walk.is_at_end() || !numbers.are_in_range()) return std::nullopt;
    record.key = key;
    numbers.put_into(record, now_ms);
    return record;
}

}  // namespace latchd::store::redis
