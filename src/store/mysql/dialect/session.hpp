// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include <latchd/core/authority/types.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace latchd::store::mysql {

// Who answered on a connection, and how it is set.
struct Session {
    // run_id: server_uuid; where there is none (MariaDB) server_uid, server_id, hostname and port.
    // A restart is no change. role: replica while the server is read-only.
    core::authority::Identity identity;
    std::uint64_t connection_id = 0;  // what KILL CONNECTION takes
    std::string version;
    bool is_mariadb = false;
    bool is_durable = false;  // innodb_flush_log_at_trx_commit is 1
    std::uint64_t packet_max = 0;
};

// Sets what statements rely on and reads it back. Several statements; read_session() takes what
// all of them answered.
[[nodiscard]] std::string session_statements();

// A text says why this connection can't be used (a setting did not take).
[[nodiscard]] std::variant<Session, std::string> read_session(std::span<const Rows> answers);

// ---- composing -------------------------------------------------------------------------------

// Appends bytes as a literal that no byte can leave: x'6c6f636b'. Empty: ''.
void append_literal(std::string& out, std::string_view bytes);
[[nodiscard]] std::string literal(std::string_view bytes);

// The server's time as microseconds since 1970: when the statement began.
inline constexpr std::string_view now_expression = "CAST(UNIX_TIMESTAMP(NOW(6))*1000000 AS SIGNED)";
// When it is evaluated.
inline constexpr std::string_view clock_expression =
    "CAST(UNIX_TIMESTAMP(SYSDATE(6))*1000000 AS SIGNED)";

}  // namespace latchd::store::mysql
