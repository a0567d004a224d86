// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <algorithm>
#include <map>

namespace latchd::store::mysql {
namespace {

using Settings = std::map<std::string_view, std::string_view, std::less<>>;

// Text that has a meaning only with these: assignments go from left to right, too long a key is an
// error, a backslash in a literal is a backslash.
constexpr std::string_view sql_mode = "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES";

std::string_view get(const Settings& settings, std::string_view name) {
    const auto it = settings.find(name);
    return it == settings.end() ? std::string_view() : it->second;
}

bool has_mode(std::string_view modes, std::string_view wanted) {
    return ("," + std::string(modes) + ",").find("," + std::string(wanted) + ",") !=
           std::string::npos;
}

bool is_on(std::string_view value) {
    return !value.empty() && value != "OFF" && value != "0" && value != "NO";
}

// What a setting is that should be otherwise; empty: all are well.
std::string wrong_setting(const Settings& settings) {
    const auto wrong = [&](std::string_view name) {
        return "the session's " + std::string(name) + " is '" + std::string(get(settings, name)) +
               "' although it was set";
    };
    if (get(settings, "time_zone") != "+00:00") return wrong("time_zone");
    if (!is_on(get(settings, "autocommit"))) return wrong("autocommit");
    if (get(settings, "innodb_lock_wait_timeout") != "1") return wrong("innodb_lock_wait_timeout");
    const std::string_view modes = get(settings, "sql_mode");
    if (!has_mode(modes, "STRICT_ALL_TABLES") || !has_mode(modes, "NO_BACKSLASH_ESCAPES") ||
        has_mode(modes, "SIMULTANEOUS_ASSIGNMENT") || has_mode(modes, "ANSI_QUOTES")) {
        return wrong("sql_mode");
    }
    const std::string_view isolation = settings.contains("transaction_isolation")
                                           ? std::string_view("transaction_isolation")
                                           : std::string_view("tx_isolation");
    if (get(settings, isolation) != "READ-COMMITTED") return wrong(isolation);
    return {};
}

}  // namespace

std::string session_statements() {
    std::string out = "SET NAMES utf8mb4;SET SESSION time_zone='+00:00',sql_mode='";
    out += sql_mode;
    // Longer than any silence between two probes: the server does not end it unasked.
    out +=
        "',autocommit=1,innodb_lock_wait_timeout=1,wait_timeout=86400;"
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
        "SELECT CONNECTION_ID();"
        "SHOW VARIABLES WHERE Variable_name IN ('time_zone','autocommit','sql_mode',"
        "'innodb_lock_wait_timeout','transaction_isolation','tx_isolation','server_uuid',"
        "'server_uid','server_id','hostname','port','read_only','super_read_only',"
        "'innodb_read_only','innodb_flush_log_at_trx_commit','version','max_allowed_packet')";
    return out;
}

std::variant<Session, std::string> read_session(std::span<const Rows> answers) {
    constexpr std::size_t statements = 5;
    if (answers.size() != statements) return "the settings of a session can't be read";
    const Rows& variables = answers[4];
    Settings settings;
    for (std::size_t row = 0; row < variables.size(); ++row) {
        settings[variables.text(row, 0)] = variables.text(row, 1);
    }
    if (std::string wrong = wrong_setting(settings); !wrong.empty()) return wrong;
    Session session;
    session.connection_id = answers[3].number<std::uint64_t>(0, 0).value_or(0);
    session.version = get(settings, "version");
    session.is_mariadb = session.version.find("MariaDB") != std::string::npos;
    session.is_durable = get(settings, "innodb_flush_log_at_trx_commit") == "1";
    const std::string_view packet = get(settings, "max_allowed_packet");
    std::from_chars(packet.data(), packet.data() + packet.size(), session.packet_max);
    std::string& run_id = session.identity.run_id;
    run_id = get(settings, "server_uuid");
    if (run_id.empty()) {
        for (const std::string_view part : {"server_uid", "server_id", "hostname", "port"}) {
            if (!run_id.empty()) run_id += ':';
            run_id += get(settings, part);
        }
    }
    const bool is_read_only = is_on(get(settings, "read_only")) ||
                              is_on(get(settings, "super_read_only")) ||
                              is_on(get(settings, "innodb_read_only"));
    session.identity.role =
        is_read_only ? core::authority::Role::replica : core::authority::Role::master;
    return session;
}

void append_literal(std::string& out, std::string_view bytes) {
    static constexpr std::string_view digits = "0123456789abcdef";
    out += bytes.empty() ? "'" : "x'";
    for (const char c : bytes) {
        out += digits[static_cast<unsigned char>(c) >> 4];
        out += digits[static_cast<unsigned char>(c) & 15];
    }
    out += '\'';
}

std::string literal(std::string_view bytes) {
    std::string out;
    append_literal(out, bytes);
    return out;
}

}  // namespace latchd::store::mysql
