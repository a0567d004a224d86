// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "packed.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace latchd::core {
namespace {

// ---- texts -------------------------------------------------------------------------------------

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t drawn_size = 22;   // of what a NameSource draws …
constexpr std::size_t drawn_bytes = 17;  // … and 6 bits of each character
constexpr std::uint64_t drawn_tag = 0;   // where another text has its size and 1

constexpr std::uint8_t no_digit = 64;
constexpr auto digits = [] {
    std::array<std::uint8_t, 256> of{};
    of.fill(no_digit);
    for (std::uint8_t i = 0; i < 64; ++i) of[static_cast<unsigned char>(alphabet[i])] = i;
    return of;
}();

[[nodiscard]] bool is_drawn(std::string_view text) noexcept {
    if (text.size() != drawn_size) return false;
    std::uint8_t any = 0;
    for (const char c : text) any |= digits[static_cast<unsigned char>(c)];
    return (any & no_digit) == 0;
}

void pack_drawn(std::string_view text, char* out) noexcept {
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        bits = bits << 6 | digits[static_cast<unsigned char>(c)];
        count += 6;
        if (count < 8) continue;
        count -= 8;
        *out++ = static_cast<char>(bits >> count);
    }
    *out = static_cast<char>(bits << (8 - count));
}

void unpack_drawn(const char* bytes, char* out) noexcept {
    std::uint32_t bits = 0;
    int count = 0;
    for (std::size_t i = 0; i < drawn_size; ++i) {
        if (count < 6) {
            bits = bits << 8 | static_cast<unsigned char>(*bytes++);
            count += 8;
        }
        count -= 6;
        *out++ = alphabet[bits >> count & 63];
    }
}

// ---- numbers -----------------------------------------------------------------------------------

constexpr std::int64_t ns_per_ms = 1'000'000;

// Small for what is near to zero on either side.
[[nodiscard]] std::uint64_t folded(std::int64_t value) noexcept {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
[[nodiscard]] std::int64_t unfolded(std::uint64_t value) noexcept {
    return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

enum RecordBits : std::uint64_t {
    of_usual_node = 1,
    of_usual_incarnation = 2,
    has_owner = 4,
    has_rest = 8,  // hard end, renewals and DELAY, which most grants have none of
};

}  // namespace

void ByteWriter::number(std::uint64_t value) noexcept {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<char>(value | 0x80);
    *at_++ = static_cast<char>(value);
}

void ByteWriter::duration(Duration value) noexcept {
    const std::int64_t ns = value.count();
    if (ns % ns_per_ms == 0) return number(folded(ns / ns_per_ms) << 1);
    // One bit is needed to tell them apart, and an instant may take all of 64.
    number(1);
    number(folded(ns));
}

void ByteWriter::text(std::string_view value) noexcept {
    if (is_drawn(value)) {
        number(drawn_tag);
        pack_drawn(value, at_);
        at_ += drawn_bytes;
        return;
    }
    number(value.size() + 1);
    at_ = std::ranges::copy(value, at_).out;
}

Duration ByteWriter::between(Time since, Time value) noexcept {
    return Duration(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(value.time_since_epoch().count()) -
                                  static_cast<std::uint64_t>(since.time_since_epoch().count())));
}

std::uint64_t ByteReader::number() noexcept {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(*at_++);
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

Duration ByteReader::duration() noexcept {
    const std::uint64_t value = number();
    return value == 1 ? Duration(unfolded(number())) : Duration(unfolded(value >> 1) * ns_per_ms);
}

Time ByteReader::instant(Time since) noexcept {
    return Time(Duration(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(since.time_since_epoch().count()) +
                                  static_cast<std::uint64_t>(duration().count()))));
}

std::string_view ByteReader::text() noexcept {
    const std::uint64_t tag = number();
    const char* const first = at_;
    if (tag == drawn_tag) {
        unpack_drawn(first, drawn_.data());
        at_ += drawn_bytes;
        return {drawn_.data(), drawn_.size()};
    }
    at_ += tag - 1;
    return {first, tag - 1};
}

// ---- locks -------------------------------------------------------------------------------------

LockKey PackedLock::key() const {
    ByteReader in(bytes());
    LockKey key;
    key.resource = ResourceName(in.text());
    key.id = LockId(in.text());
    return key;
}

bool PackedLock::is_of(const LockKey& key) const {
    ByteReader in(bytes());
    return in.text() == key.resource.view() && in.text() == key.id.view();
}

ByteWriter PackedLocks::begin(const LockKey& key, const KeptRecord& record) {
    const KeptHold& hold = record.holds.front();
    const Attempt& attempt = hold.attempts.front();
    if (usual_node_.empty()) {
        usual_node_ = record.node;
        usual_incarnation_ = attempt.incarnation;
    }
    const bool is_plain = !record.has_hard_end() && record.renewals == 0 && record.renew_max == 0 &&
                          record.delay == Duration::zero();
    std::uint64_t bits = 0;
    if (!is_plain) bits |= has_rest;
    if (record.node == usual_node_.get()) bits |= of_usual_node;
    if (attempt.incarnation == usual_incarnation_) bits |= of_usual_incarnation;
    if (!record.owner.empty()) bits |= has_owner;

    constexpr std::size_t fields_max = 20;  // of this function, each a number or a text
    const std::size_t texts = key.resource.view().size() + key.id.view().size() +
                              hold.token.view().size() + hold.request.view().size() +
                              record.node.view().size() + record.owner.view().size();
    const std::size_t room = texts + (fields_max + added_max) * ByteWriter::number_max;
    if (scratch_.size() < room) scratch_.resize(room);
    ByteWriter out(scratch_.data());
    out.text(key.resource.view());
    out.text(key.id.view());
    out.number(bits);
    out.text(hold.token.view());
    out.text(hold.request.view());
    out.number(attempt.number);
    if ((bits & of_usual_incarnation) == 0) out.number(attempt.incarnation);
    if ((bits & of_usual_node) == 0) out.text(record.node.view());
    if ((bits & has_owner) != 0) out.text(record.owner.view());
    out.number(record.fence);
    out.number(record.version);
    out.number(static_cast<std::uint64_t>(record.granted_at.time_since_epoch().count()));
    out.duration(record.ttl);
    out.instant(record.lease_end, record.granted_at + record.ttl);
    out.instant(hold.adopt_until, record.granted_at);
    if ((bits & has_rest) != 0) {
        out.instant(record.hard_end, record.granted_at);
        out.number(record.renewals);
        out.number(record.renew_max);
        out.duration(record.delay);
    }
    return out;
}

// In the order of begin().
ByteReader PackedLocks::read(const PackedLock& lock, LockKey& key, KeptRecord& record) const {
    ByteReader in(lock.bytes());
    key.resource = ResourceName(in.text());
    key.id = LockId(in.text());
    const std::uint64_t bits = in.number();
    KeptHold& hold = record.holds.emplace_back();
    hold.token = Token(in.text());
    hold.request = RequestId(in.text());
    Attempt& attempt = hold.attempts.emplace_back();
    attempt.number = in.number();
    attempt.incarnation = (bits & of_usual_incarnation) != 0 ? usual_incarnation_ : in.number();
    record.node = (bits & of_usual_node) != 0 ? usual_node_ : Shared<NodeName>(NodeName(in.text()));
    if ((bits & has_owner) != 0) record.owner = OwnerName(in.text());
    record.client = lock.client;
    record.fence = in.number();
    record.version = in.number();
    record.granted_at = Time(Duration(static_cast<std::int64_t>(in.number())));
    record.ttl = in.duration();
    record.lease_end = in.instant(record.granted_at + record.ttl);
    hold.adopt_until = in.instant(record.granted_at);
    if ((bits & has_rest) != 0) {
        record.hard_end = in.instant(record.granted_at);
        record.renewals = static_cast<std::uint32_t>(in.number());
        record.renew_max = static_cast<std::uint32_t>(in.number());
        record.delay = in.duration();
    }
    return in;
}

PackedLock& PackedLocks::add(const KeptRecord& record, const ByteWriter& written) {
    const auto size = static_cast<std::size_t>(written.at() - scratch_.data());
    void* const block = ::operator new(sizeof(PackedLock) + size);
    auto* const lock = new (block) PackedLock(kind_, Shared<ClientName>(record.client));
    std::memcpy(static_cast<char*>(block) + sizeof(PackedLock), scratch_.data(), size);
    locks_.insert(lock);
    return *lock;
}

void PackedLocks::erase(PackedLock& lock) noexcept {
    locks_.erase(&lock);
    destroy(lock);
}

void PackedLocks::destroy(PackedLock& lock) noexcept {
    std::destroy_at(&lock);
    ::operator delete(static_cast<void*>(&lock));
}

PackedLocks::~PackedLocks() {
    for (PackedLock* const lock : locks_) destroy(*lock);
}

}  // namespace latchd::core
