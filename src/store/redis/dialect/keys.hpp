// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace latchd::store::redis {

// The names of everything that latchd keeps in Redis. Keys and channels of a cluster that isn't
// called `default` begin with its name and a colon.
//
//   lock:<resource>:<id>            a lock; in the id `: % { }` and bytes outside 0x21-0x7e are
//                                   percent-encoded, so the last colon divides
//   bar:{<lock key>}:<request id>   a cancelled request id or its undone attempts; the same hash
//                                   slot as the lock; encoded as the id is
//   queue:{<lock key>}:<epoch>      the nodes that wait for the lock; void in another epoch
//   latchd:probe                    written by health checks while the store does not serve
//   latchd:marker                   hash: whose store this is
//   latchd:authority, latchd:rows, latchd:claims, latchd:left, latchd:resources   hashes: what the
//                                   fleet agrees on, where this server is its arbiter
//   latchd:lost:<name>              a node's note that it has lost the arbiter, with a ttl
//   latchd:node:<name>  latchd:nodes   channels: messages for one node, for all nodes
class Keys {
public:
    // `cluster`: 1-64 bytes of [A-Za-z0-9_.-].
    explicit Keys(std::string_view cluster = "default");

    [[nodiscard]] std::string lock(const LockKey& key) const;
    [[nodiscard]] std::string bar(const LockKey& key, const RequestId& request) const;
    [[nodiscard]] std::string queue(const LockKey& key, Epoch epoch) const;
    // The same for who has the lock's key already.
    [[nodiscard]] std::string bar(std::string_view lock, const RequestId& request) const;
    [[nodiscard]] std::string queue(std::string_view lock, Epoch epoch) const;
    [[nodiscard]] const std::string& marker() const noexcept { return marker_; }
    // "authority", "rows", …
    [[nodiscard]] std::string arbiter(std::string_view what) const {
        return prefix_ + "latchd:" + std::string(what);
    }
    [[nodiscard]] const std::string& probe() const noexcept { return probe_; }
    [[nodiscard]] std::string node_channel(const NodeName& node) const;
    // That this node has lost the arbiter.
    [[nodiscard]] std::string lost_note(const NodeName& node) const;
    [[nodiscard]] const std::string& nodes_channel() const noexcept { return nodes_; }

    // Which lock a key of Redis is; none if latchd wouldn't have written such a key.
    [[nodiscard]] std::optional<LockKey> lock_of(std::string_view redis_key) const;

    // Whose bar a key of Redis is; none as above.
    [[nodiscard]] std::optional<std::pair<LockKey, RequestId>> bar_of(
        std::string_view redis_key) const;

    // For SCAN … MATCH: matches at least the keys of all locks and bars.
    [[nodiscard]] std::string claims_pattern() const { return prefix_ + "[lb][oa][cr][k:]*"; }

    // For SCAN … MATCH: matches at least the keys of the locks whose `resource:id` the pattern
    // matches. What comes is to be filtered by matches().
    [[nodiscard]] std::string scan_pattern(std::string_view pattern) const;

private:
    std::string prefix_;  // "" or "<cluster>:"
    std::string marker_;
    std::string probe_;
    std::string nodes_;
};

// Whether `resource:id` (the id as it is) matches; an empty pattern matches everything.
[[nodiscard]] bool matches(std::string_view pattern, const LockKey& key);

}  // namespace latchd::store::redis
