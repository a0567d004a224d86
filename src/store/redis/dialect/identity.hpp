// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchd::store::redis {

enum class Role : std::uint8_t { master, replica };

// Which process answers, and as what.
struct ServerIdentity {
    std::string run_id;
    Role role = Role::replica;
    std::string replid;
    std::string replid2;  // forty zeroes: none
    std::string version;  // "7.0.15"
    std::string mode;     // "standalone", "sentinel", "cluster"
    std::string maxmemory_policy;

    [[nodiscard]] bool has_replid2() const noexcept {
        return replid2.find_first_not_of('0') != std::string::npos;
    }

    friend bool operator==(const ServerIdentity&, const ServerIdentity&) = default;
};

// INFO of three sections, a command each (several sections in one need Redis 7); returns how many
// replies will come.
std::size_t append_identity(std::string& out);

// From the texts of those replies, one after the other. None if run id, role or a replication id
// is missing.
[[nodiscard]] std::optional<ServerIdentity> read_identity(std::string_view info);

}  // namespace latchd::store::redis
