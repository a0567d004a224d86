// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

namespace latchd::store::mysql {

// The reactions are the drivers'; which code belongs to which is said here and nowhere else.
ErrorClass class_of(unsigned code) noexcept {
    switch (code) {
        case 1062:  // ER_DUP_ENTRY
            return ErrorClass::duplicate;
        case 1205:  // ER_LOCK_WAIT_TIMEOUT: the statement is rolled back, the transaction is not
        case 3572:  // ER_LOCK_NOWAIT
            return ErrorClass::busy;
        case 1213:  // ER_LOCK_DEADLOCK: the whole transaction is rolled back
        case 1020:  // ER_CHECKREAD: MariaDB with innodb_snapshot_isolation
            return ErrorClass::deadlock;
        case 1317:  // ER_QUERY_INTERRUPTED
        case 1969:  // MariaDB: max_statement_time
        case 3024:  // MySQL: max_execution_time
            return ErrorClass::interrupted;
        case 1290:  // ER_OPTION_PREVENTS_STATEMENT: read_only
        case 1792:  // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
        case 1836:  // ER_READ_ONLY_MODE: innodb_read_only
        case 1047:  // ER_UNKNOWN_COM_ERROR: Galera, not in the primary component
        case 3100:  // ER_RUN_HOOK_ERROR: group replication refuses
            return ErrorClass::read_only;
        case 1040:  // ER_CON_COUNT_ERROR
        case 1129:  // ER_HOST_IS_BLOCKED
        case 1203:  // ER_TOO_MANY_USER_CONNECTIONS
        case 1226:  // ER_USER_LIMIT_REACHED
            return ErrorClass::full;
        case 1044:  // ER_DBACCESS_DENIED_ERROR
        case 1045:  // ER_ACCESS_DENIED_ERROR
        case 1049:  // ER_BAD_DB_ERROR
        case 1054:  // ER_BAD_FIELD_ERROR
        case 1064:  // ER_PARSE_ERROR
        case 1130:  // ER_HOST_NOT_PRIVILEGED
        case 1142:  // ER_TABLEACCESS_DENIED_ERROR
        case 1143:  // ER_COLUMNACCESS_DENIED_ERROR
        case 1146:  // ER_NO_SUCH_TABLE
        case 1227:  // ER_SPECIFIC_ACCESS_DENIED_ERROR
        case 1370:  // ER_PROCACCESS_DENIED_ERROR
        case 1698:  // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
        case 1193:  // ER_UNKNOWN_SYSTEM_VARIABLE
            return ErrorClass::configuration;
        case 1053:  // ER_SERVER_SHUTDOWN: may come after the change
        case 1180:  // ER_ERROR_DURING_COMMIT
        case 1926:  // MariaDB's KILL of this connection
        case 1927:  // ER_CONNECTION_KILLED
        case 2006:  // CR_SERVER_GONE_ERROR: some bytes may have left
        case 2013:  // CR_SERVER_LOST
        case 2027:  // CR_MALFORMED_PACKET
        case 2055:  // CR_SERVER_LOST_EXTENDED
        case 4031:  // MySQL: disconnected for inactivity
            return ErrorClass::unknown;
        case 2014:  // CR_COMMANDS_OUT_OF_SYNC
            return ErrorClass::misuse;
        default:
            // The library's own errors (2000 … 2999, 5000 …) say nothing of what the server did.
            return (code >= 2000 && code < 3000) || (code >= 5000 && code < 6000)
                       ? ErrorClass::unknown
                       : ErrorClass::refused;
    }
}

ErrorClass class_of_connect(unsigned code) noexcept {
    switch (class_of(code)) {
        case ErrorClass::full:
            return ErrorClass::full;
        case ErrorClass::configuration:
            return ErrorClass::configuration;
        case ErrorClass::read_only:
            return ErrorClass::read_only;
        default:
            return ErrorClass::unsent;
    }
}

bool is_refusal(unsigned code, std::string_view text) noexcept {
    if (code != 2002 && code != 2003) return false;  // CR_CONNECTION_ERROR, CR_CONN_HOST_ERROR
    // ECONNREFUSED, and ENOENT of a Unix socket
    return text.ends_with("(111)") || text.find("(111)") != std::string_view::npos ||
           (code == 2002 && text.ends_with("(2)"));
}

std::string describe(const Error& error) {
    if (error.code == 0) return error.text;
    std::string out = std::to_string(error.code);
    if (!error.sqlstate.empty()) out += " (" + error.sqlstate + ")";
    return out + ": " + error.text;
}

}  // namespace latchd::store::mysql
