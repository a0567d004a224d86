// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/short_text.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace latchd {

// A string that means one thing. Two Names of different tags never convert into each other, so
// that a token can't be passed where an owner is expected. view() is as its Text says.
template <class Tag, class Text = ShortText>
class Name {
public:
    Name() = default;
    explicit Name(std::string_view value) : value_(value) {}
    explicit Name(const std::string& value) : value_(value) {}
    explicit Name(const char* value) : value_(value) {}

    [[nodiscard]] std::string_view view() const noexcept { return value_.view(); }
    [[nodiscard]] std::string str() const { return std::string(value_.view()); }
    [[nodiscard]] bool empty() const noexcept { return value_.empty(); }
    [[nodiscard]] std::size_t hash() const noexcept { return value_.hash(); }

    friend bool operator==(const Name&, const Name&) = default;
    friend auto operator<=>(const Name&, const Name&) = default;

private:
    Text value_;
};

using ResourceName = Name<struct ResourceNameTag, BriefText>;  // 1-64 bytes of [A-Za-z0-9_.:-]
using LockId = Name<struct LockIdTag>;                         // 1-128 bytes, any value
// Up to 64 bytes; empty: the grant is its own owner.
using OwnerName = Name<struct OwnerNameTag>;
using Token = Name<struct TokenTag, BriefText>;  // names one hold; whoever shows it may end it
using RequestId = Name<struct RequestIdTag, BriefText>;  // names one wish to lock; up to 64 bytes
using NodeName = Name<struct NodeNameTag>;               // one event loop
// As CLIENT LIST shows it: address and name.
using ClientName = Name<struct ClientNameTag>;

// A lock: (resource, id).
struct LockKey {
    ResourceName resource;
    LockId id;

    friend bool operator==(const LockKey&, const LockKey&) = default;
    friend auto operator<=>(const LockKey&, const LockKey&) = default;
};

// The number of an authority: see design.md section 5. 1 .. 2^21-1; 0 is "none known".
using Epoch = std::uint32_t;

// A fence: since_epoch * 2^32 + counter, below 2^53 so that every client reads it exactly.
using Fence = std::uint64_t;

constexpr Fence make_fence(Epoch epoch, std::uint32_t counter) noexcept {
    return (static_cast<Fence>(epoch) << 32) | counter;
}
constexpr Epoch epoch_of(Fence fence) noexcept { return static_cast<Epoch>(fence >> 32); }
constexpr std::uint32_t counter_of(Fence fence) noexcept {
    return static_cast<std::uint32_t>(fence & 0xffffffffu);
}

// One sending of a LOCK to a store by a node. Incarnation is drawn at random at each start, below
// 2^53; number counts from 1 within it. What an undo names, so that a late undo can't hit a retry.
struct Attempt {
    std::uint64_t incarnation = 0;
    std::uint64_t number = 0;

    friend bool operator==(const Attempt&, const Attempt&) = default;
    friend auto operator<=>(const Attempt&, const Attempt&) = default;
};

// A client connection of this node; never used twice within an incarnation.
enum class ClientId : std::uint64_t {};

}  // namespace latchd

// Neither says noexcept, though neither throws: libstdc++ then keeps each entry's hash beside it
// instead of computing those of its neighbours again at every look-up.
template <class Tag, class Text>
struct std::hash<latchd::Name<Tag, Text>> {
    std::size_t operator()(const latchd::Name<Tag, Text>& name) const { return name.hash(); }
};

template <>
struct std::hash<latchd::LockKey> {
    std::size_t operator()(const latchd::LockKey& key) const {
        const std::size_t a = key.resource.hash();
        const std::size_t b = key.id.hash();
        return a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2));
    }
};
