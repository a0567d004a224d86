// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "identity.hpp"

#include <latchd/resp/command_writer.hpp>

namespace latchd::store::redis {
namespace {

constexpr std::string_view no_replid = "0000000000000000000000000000000000000000";

// The value of `name:value` on a line of its own; empty: not there.
std::string_view field(std::string_view info, std::string_view name) {
    std::size_t at = 0;
    while (at < info.size()) {
        std::size_t end = info.find('\n', at);
        if (end == std::string_view::npos) end = info.size();
        std::string_view line = info.substr(at, end - at);
        at = end + 1;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
            return line.substr(name.size() + 1);
        }
    }
    return {};
}

}  // namespace

std::size_t append_identity(std::string& out) {
    resp::append_command(out, {"INFO", "server"});
    resp::append_command(out, {"INFO", "replication"});
    resp::append_command(out, {"INFO", "memory"});
    return 3;
}

std::optional<ServerInfo> read_identity(std::string_view info) {
    const std::string_view role = field(info, "role");
    const std::string_view replid2 = field(info, "master_replid2");
    ServerInfo server;
    server.identity.run_id = field(info, "run_id");
    server.identity.replid = field(info, "master_replid");
    server.version = field(info, "redis_version");
    server.mode = field(info, "redis_mode");
    server.maxmemory_policy = field(info, "maxmemory_policy");
    server.arch_bits = field(info, "arch_bits");
    if (server.identity.run_id.empty() || server.identity.replid.empty()) return std::nullopt;
    if (role == "master") {
        server.identity.role = core::authority::Role::master;
    } else if (role == "slave" || role == "replica") {
        server.identity.role = core::authority::Role::replica;
    } else {
        return std::nullopt;
    }
    if (replid2 != no_replid) server.identity.replid2 = replid2;
    return server;
}

std::string why_unfit(const ServerInfo& server) {
    if (!server.mode.empty() && server.mode != "standalone") {
        return "the server runs in mode " + server.mode + ", locks need a standalone one";
    }
    // Limits itself to 3 GB and refuses writes there; fences and times are not tried on it.
    if (server.arch_bits == "32") {
        return "the server is a 32-bit Redis, locks need a 64-bit one (INFO shows arch_bits:32)";
    }
    return {};
}

}  // namespace latchd::store::redis
