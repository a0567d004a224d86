// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace latchd {

// A string that means one thing. Two Names of different tags never convert into each other, so
// that a token can't be passed where an owner is expected.
template <class Tag>
class Name {
public:
    Name() = default;
    explicit Name(std::string value) noexcept : value_(std::move(value)) {}
    explicit Name(std::string_view value) : value_(value) {}
    explicit Name(const char* value) : value_(value) {}

    [[nodiscard]] std::string_view view() const noexcept { return value_; }
    [[nodiscard]] const std::string& str() const noexcept { return value_; }
    [[nodiscard]] bool empty() const noexcept { return value_.empty(); }

    friend bool operator==(const Name&, const Name&) = default;
    friend auto operator<=>(const Name&, const Name&) = default;

private:
    std::string value_;
};

using ResourceName = Name<struct ResourceNameTag>;  // 1-64 bytes of [A-Za-z0-9_.:-]
using LockId = Name<struct LockIdTag>;              // 1-128 bytes, any value
using OwnerName = Name<struct OwnerNameTag>;    // up to 64 bytes; empty: the grant is its own owner
using Token = Name<struct TokenTag>;            // names one hold; whoever shows it may end it
using RequestId = Name<struct RequestIdTag>;    // names one wish to lock; up to 64 bytes
using NodeName = Name<struct NodeNameTag>;      // one event loop
using ClientName = Name<struct ClientNameTag>;  // as CLIENT LIST shows it: address and name

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

template <class Tag>
struct std::hash<latchd::Name<Tag>> {
    std::size_t operator()(const latchd::Name<Tag>& name) const noexcept {
        return std::hash<std::string_view>{}(name.view());
    }
};

template <>
struct std::hash<latchd::LockKey> {
    std::size_t operator()(const latchd::LockKey& key) const noexcept {
        const std::size_t a = std::hash<std::string_view>{}(key.resource.view());
        const std::size_t b = std::hash<std::string_view>{}(key.id.view());
        return a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2));
    }
};
