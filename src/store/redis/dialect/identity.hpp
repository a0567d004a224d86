// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/types.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace latchd::store::redis {

// What a server says of itself.
struct ServerInfo {
    core::authority::Identity identity;
    std::string version;           // "7.0.15"
    std::string mode;              // "standalone", "sentinel", "cluster"
    std::string maxmemory_policy;  // "noeviction"
    std::string arch_bits;         // "64"

    friend bool operator==(const ServerInfo&, const ServerInfo&) = default;
};

// INFO of three sections, a command each (several sections in one need Redis 7); returns how many
// replies will come.
std::size_t append_identity(std::string& out);

// From the texts of those replies, one after the other. None if run id, role or the replication
// id is missing.
[[nodiscard]] std::optional<ServerInfo> read_identity(std::string_view info);

// Why a server of this kind can't keep locks; empty: it can.
[[nodiscard]] std::string why_unfit(const ServerInfo& server);

}  // namespace latchd::store::redis
