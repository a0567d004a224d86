// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/kept.hpp>
#include <latchd/core/time/deadlines.hpp>

#include <boost/unordered/unordered_flat_set.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

// Locks that are held and that nobody asks for, as bytes. A keeper (node, table) has the locks that
// were in use last as objects, up to unpacked_max of them, and of all others a block each, which is
// a third of what the object takes. Whoever needs one unpacks it first: no rule is written for
// bytes.
namespace latchd::core {

// Packed by one event at most, each of which makes one or two: what is over goes in steps.
inline constexpr int packed_at_once = 4;

// Writes what a ByteReader reads in the same order, where there is room: number_max for each number
// and each text, and the text.
class ByteWriter {
public:
    static constexpr std::size_t number_max = 11;

    explicit ByteWriter(char* bytes) noexcept : at_(bytes) {}

    void number(std::uint64_t value) noexcept;  // a byte for each 7 bits
    // Of either sign; shorter where it is whole milliseconds.
    void duration(Duration value) noexcept;
    void instant(Time value, Time since) noexcept { duration(between(since, value)); }
    // What is drawn (22 characters of [A-Za-z0-9_-]) takes 18 bytes.
    void text(std::string_view value) noexcept;

    [[nodiscard]] char* at() const noexcept { return at_; }

    // Instants may be as far from each other as Time::min() and max(): it wraps, as does its sum.
    [[nodiscard]] static Duration between(Time since, Time value) noexcept;

private:
    char* at_;
};

class ByteReader {
public:
    explicit ByteReader(const char* bytes) : at_(bytes) {}

    [[nodiscard]] std::uint64_t number() noexcept;
    [[nodiscard]] Duration duration() noexcept;
    [[nodiscard]] Time instant(Time since) noexcept;
    // Ends with the next one.
    [[nodiscard]] std::string_view text() noexcept;

    [[nodiscard]] const char* at() const noexcept { return at_; }

private:
    const char* at_;
    std::array<char, 22> drawn_;
};

// The bytes behind it in its block begin with those of its key, and are its keeper's.
class PackedLock : public Timer {
public:
    [[nodiscard]] const char* bytes() const noexcept {
        return reinterpret_cast<const char*>(this + 1);
    }
    [[nodiscard]] LockKey key() const;
    [[nodiscard]] bool is_of(const LockKey& key) const;

    Shared<ClientName> client;

private:
    friend class PackedLocks;
    PackedLock(std::uint8_t what, Shared<ClientName>&& of) noexcept
        : Timer(what), client(std::move(of)) {}
};

// The packed locks of one keeper.
class PackedLocks {
public:
    explicit PackedLocks(std::uint8_t timer_kind) : kind_(timer_kind) {}
    PackedLocks(const PackedLocks&) = delete;
    PackedLocks& operator=(const PackedLocks&) = delete;
    ~PackedLocks();

    // Whether it can be packed: it has one hold, got by one attempt. Nearly all have.
    [[nodiscard]] static bool takes(const KeptRecord& record) noexcept {
        return record.holds.size() == 1 && record.holds.front().attempts.size() == 1;
    }
    // Begins the bytes of a lock: its key and record, which takes() has to allow. The keeper may
    // add so many numbers.
    static constexpr std::size_t added_max = 16;
    [[nodiscard]] ByteWriter begin(const LockKey& key, const KeptRecord& record);
    // Of what was begun last, up to where `written` is. Precondition: there is none of this key.
    PackedLock& add(const KeptRecord& record, const ByteWriter& written);

    // What begin() wrote; the reader goes on with the rest.
    [[nodiscard]] ByteReader read(const PackedLock& lock, LockKey& key, KeptRecord& record) const;

    [[nodiscard]] PackedLock* find(const LockKey& key) const noexcept {
        if (locks_.empty()) return nullptr;
        const auto it = locks_.find(key);
        return it == locks_.end() ? nullptr : *it;
    }
    // Precondition: not armed.
    void erase(PackedLock& lock) noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return locks_.size(); }
    [[nodiscard]] auto begin() const noexcept { return locks_.begin(); }
    [[nodiscard]] auto end() const noexcept { return locks_.end(); }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const LockKey& key) const { return std::hash<LockKey>{}(key); }
        std::size_t operator()(const PackedLock* lock) const { return (*this)(lock->key()); }
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const PackedLock* a, const PackedLock* b) const { return a == b; }
        bool operator()(const LockKey& a, const PackedLock* b) const { return b->is_of(a); }
        bool operator()(const PackedLock* a, const LockKey& b) const { return a->is_of(b); }
    };
    void destroy(PackedLock& lock) noexcept;

    std::uint8_t kind_;
    // What nearly all records of a keeper have in common, from the first that was packed: one that
    // has it, too, says so with a bit.
    Shared<NodeName> usual_node_;
    std::uint64_t usual_incarnation_ = 0;
    std::string scratch_;
    boost::unordered_flat_set<PackedLock*, Hash, Equal> locks_;
};

}  // namespace latchd::core
