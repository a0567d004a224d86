// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

namespace latchd::store::mysql {

// Each module keeps its steps in a file of its own; this is the one place that joins them.
std::vector<SchemaStep> schema_steps() {
    std::vector<SchemaStep> all;
    for (const std::span<const SchemaStep> steps : {lock_schema_steps(), arbiter_schema_steps()}) {
        all.insert(all.end(), steps.begin(), steps.end());
    }
    return all;
}

std::string_view schema_version_statement() {
    return "CREATE TABLE IF NOT EXISTS schema_version ("
           "module VARBINARY(32) NOT NULL,"
           "number INT UNSIGNED NOT NULL,"
           "done_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,"
           "PRIMARY KEY (module, number)) ENGINE=InnoDB";
}

std::string_view schema_read_statement() { return "SELECT module, number FROM schema_version"; }

std::string schema_done_statement(const SchemaStep& step) {
    return "INSERT INTO schema_version (module, number) VALUES ('" + std::string(step.module) +
           "'," + std::to_string(step.number) + ") ON DUPLICATE KEY UPDATE number=number";
}

bool is_done_already(unsigned code) noexcept {
    return code == 1050      // ER_TABLE_EXISTS_ERROR
           || code == 1060   // ER_DUP_FIELDNAME
           || code == 1061   // ER_DUP_KEYNAME
           || code == 1062;  // a first row that another node wrote
}

}  // namespace latchd::store::mysql
