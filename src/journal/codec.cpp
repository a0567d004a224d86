// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "format.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

// Body of a record, behind its head: the fixed numbers, then resource, id, owner, node and client
// as u16 length and bytes, then the holds. Instants are absolute (CLOCK_BOOTTIME, microseconds):
// a file can't count down by itself.

namespace latchd::journal {
namespace {

constexpr std::size_t text_max = 0xffff;
constexpr std::int64_t no_hard_end = std::numeric_limits<std::int64_t>::max();
// fence, version, lease end, ttl, hard end, delay, granted at; renewals, renew_max; hold count.
constexpr std::size_t fixed_bytes = 7 * 8 + 2 * 4 + 2;
constexpr std::size_t attempt_bytes = 16;

constexpr std::int64_t instant(Time now, Duration from_now) noexcept {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(now.time_since_epoch().count(), from_now.count(), &sum)) {
        return from_now.count() < 0 ? std::numeric_limits<std::int64_t>::min() : no_hard_end - 1;
    }
    return sum;
}

class Encoder {
public:
    explicit Encoder(std::byte* at) noexcept : at_(at) {}

    template <class T>
    void number(T value) noexcept {
        std::memcpy(at_, &value, sizeof value);
        at_ += sizeof value;
    }
    void text(std::string_view value) noexcept {
        number(static_cast<std::uint16_t>(value.size()));
        at_ = std::copy_n(reinterpret_cast<const std::byte*>(value.data()), value.size(), at_);
    }
    void pad_to(const std::byte* end) noexcept {
        while (at_ != end) *at_++ = std::byte{0};
    }

private:
    std::byte* at_;
};

// After the first read past the end, or number out of range, everything reads as empty.
class Decoder {
public:
    explicit Decoder(std::span<const std::byte> bytes) noexcept : left_(bytes) {}

    template <class T>
    T number() noexcept {
        const auto from = take(sizeof(T));
        return from.empty() ? T{} : load<T>(from.data());
    }
    std::string text() {
        const auto from = take(number<std::uint16_t>());
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    std::size_t count(std::size_t least, std::size_t most) noexcept {
        const std::size_t value = number<std::uint16_t>();
        if (value < least || value > most) fail();
        return good_ ? value : 0;
    }
    // What is left until the next instant, at `now`.
    Duration left_at(Time now) noexcept {
        return between(now.time_since_epoch().count(), number<std::int64_t>());
    }
    Duration passed_at(Time now) noexcept {
        return between(number<std::int64_t>(), now.time_since_epoch().count());
    }
    Duration between(std::int64_t begin, std::int64_t end) noexcept {
        std::int64_t difference = 0;
        if (__builtin_sub_overflow(end, begin, &difference)) fail();
        return Duration(good_ ? difference : 0);
    }
    void skip(std::size_t count) noexcept { (void)take(count); }
    void fail() noexcept {
        good_ = false;
        left_ = {};
    }
    [[nodiscard]] bool good() const noexcept { return good_; }
    [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }

private:
    std::span<const std::byte> take(std::size_t count) noexcept {
        if (count > left_.size()) fail();
        if (!good_) return {};
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }

    std::span<const std::byte> left_;
    bool good_ = true;
};

core::Hold decode_hold(Decoder& from, Time now) {
    core::Hold hold;
    hold.token = Token(from.text());
    hold.request = RequestId(from.text());
    hold.adopt_left = std::max(from.left_at(now), Duration::zero());
    const std::size_t attempts = from.count(0, core::attempts_per_hold_max);
    hold.attempts.reserve(attempts);
    for (std::size_t i = 0; i < attempts; ++i) {
        const auto incarnation = from.number<std::uint64_t>();
        hold.attempts.push_back({incarnation, from.number<std::uint64_t>()});
    }
    return hold;
}

}  // namespace

std::size_t encoded_bytes(const core::GrantRecord& record) noexcept {
    if (record.holds.empty() || record.holds.size() > core::holds_per_lock_max) return 0;
    std::size_t bytes = record_head_bytes + fixed_bytes;
    bool fits = true;
    const auto add = [&](std::string_view text) {
        fits = fits && text.size() <= text_max;
        bytes += 2 + text.size();
    };
    add(record.key.resource.view());
    add(record.key.id.view());
    add(record.owner.view());
    add(record.node.view());
    add(record.client.view());
    for (const core::Hold& hold : record.holds) {
        add(hold.token.view());
        add(hold.request.view());
        fits = fits && hold.attempts.size() <= core::attempts_per_hold_max;
        bytes += 8 + 2 + hold.attempts.size() * attempt_bytes;
    }
    return fits ? (bytes + word_bytes - 1) / word_bytes * word_bytes : 0;
}

void encode(const core::GrantRecord& record, Time now, std::span<std::byte> out) noexcept {
    Encoder to(out.data() + record_head_bytes);
    to.number(record.fence);
    to.number(record.version);
    to.number(instant(now, record.left));
    to.number(record.ttl.count());
    to.number(record.hard_left ? instant(now, *record.hard_left) : no_hard_end);
    to.number(record.delay.count());
    to.number(instant(now, -std::max(record.age, Duration::zero())));
    to.number(record.renewals);
    to.number(record.renew_max);
    to.number(static_cast<std::uint16_t>(record.holds.size()));
    to.text(record.key.resource.view());
    to.text(record.key.id.view());
    to.text(record.owner.view());
    to.text(record.node.view());
    to.text(record.client.view());
    for (const core::Hold& hold : record.holds) {
        to.text(hold.token.view());
        to.text(hold.request.view());
        to.number(instant(now, hold.adopt_left));
        to.number(static_cast<std::uint16_t>(hold.attempts.size()));
        for (const Attempt& attempt : hold.attempts) {
            to.number(attempt.incarnation);
            to.number(attempt.number);
        }
    }
    to.pad_to(out.data() + out.size());
}

std::optional<core::GrantRecord> decode(std::span<const std::byte> bytes, Time now) {
    Decoder from(bytes.subspan(record_head_bytes));
    core::GrantRecord record;
    record.fence = from.number<Fence>();
    record.version = from.number<std::uint64_t>();
    record.left = from.left_at(now);
    record.ttl = Duration(from.number<std::int64_t>());
    const auto hard_end = from.number<std::int64_t>();
    if (hard_end != no_hard_end) {
        record.hard_left = from.between(now.time_since_epoch().count(), hard_end);
    }
    record.delay = Duration(from.number<std::int64_t>());
    record.age = std::max(from.passed_at(now), Duration::zero());
    record.renewals = from.number<std::uint32_t>();
    record.renew_max = from.number<std::uint32_t>();
    const std::size_t holds = from.count(1, core::holds_per_lock_max);
    record.key.resource = ResourceName(from.text());
    record.key.id = LockId(from.text());
    record.owner = OwnerName(from.text());
    record.node = NodeName(from.text());
    record.client = ClientName(from.text());
    record.holds.reserve(holds);
    for (std::size_t i = 0; i < holds && from.good(); ++i) {
        record.holds.push_back(decode_hold(from, now));
    }
    if (record.fence >= fence_end || record.ttl < Duration::zero() ||
        record.delay < Duration::zero() || from.left() >= word_bytes || !from.good()) {
        return std::nullopt;
    }
    return record;
}

std::size_t encoded_bytes(const core::CancelledRequest& bar) noexcept {
    const std::size_t bytes = record_head_bytes + fixed_bytes + 5 * 2 +
                              bar.key.resource.view().size() + bar.key.id.view().size() +
                              bar.request.view().size();
    return bytes <= bar_bytes_max ? (bytes + word_bytes - 1) / word_bytes * word_bytes : 0;
}

void encode(const core::CancelledRequest& bar, Time now, std::span<std::byte> out) noexcept {
    Encoder to(out.data() + record_head_bytes);
    to.number(Fence{0});
    to.number(std::uint64_t{0});
    to.number(instant(now, bar.left));
    to.number(std::int64_t{0});
    to.number(no_hard_end);
    to.number(std::int64_t{0});
    to.number(instant(now, Duration::zero()));
    to.number(std::uint32_t{0});
    to.number(std::uint32_t{0});
    to.number(std::uint16_t{0});
    to.text(bar.key.resource.view());
    to.text(bar.key.id.view());
    to.text(bar.request.view());
    to.text({});
    to.text({});
    to.pad_to(out.data() + out.size());
}

bool is_bar(std::span<const std::byte> record) noexcept {
    constexpr std::size_t holds_at = record_head_bytes + fixed_bytes - 2;
    return record.size() >= holds_at + 2 && load<std::uint16_t>(record.data() + holds_at) == 0;
}

std::optional<core::CancelledRequest> decode_bar(std::span<const std::byte> bytes, Time now) {
    Decoder from(bytes.subspan(record_head_bytes));
    core::CancelledRequest bar;
    from.skip(2 * word_bytes);
    bar.left = from.left_at(now);
    from.skip(fixed_bytes - 3 * word_bytes);
    bar.key.resource = ResourceName(from.text());
    bar.key.id = LockId(from.text());
    bar.request = RequestId(from.text());
    (void)from.text();
    (void)from.text();
    if (from.left() >= word_bytes || !from.good()) return std::nullopt;
    return bar;
}

EncodedKey encoded_key(const std::byte* record) noexcept {
    const auto text_at = [](const std::byte* at) {
        return std::string_view(reinterpret_cast<const char*>(at + 2), load<std::uint16_t>(at));
    };
    const std::byte* at = record + record_head_bytes + fixed_bytes;
    const std::string_view resource = text_at(at);
    at += 2 + resource.size();
    const std::string_view id = text_at(at);
    return {resource, id, text_at(at + 2 + id.size())};
}

}  // namespace latchd::journal
