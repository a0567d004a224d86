// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::store::mysql {

// One additive step of the schema: never changed once released, only followed by others. May be
// carried out twice, by two nodes at once (what is there already is no error).
struct SchemaStep {
    std::string_view module;  // whose tables: "lock" or "authority"
    std::uint32_t number;     // counts from 1 within the module
    std::string_view sql;     // one statement
};

// All steps, in the order in which they are carried out. The table schema_version says which were.
[[nodiscard]] std::span<const SchemaStep> lock_schema_steps();
[[nodiscard]] std::span<const SchemaStep> arbiter_schema_steps();
[[nodiscard]] std::vector<SchemaStep> schema_steps();

// CREATE TABLE IF NOT EXISTS schema_version.
[[nodiscard]] std::string_view schema_version_statement();
// Rows: module, number.
[[nodiscard]] std::string_view schema_read_statement();
[[nodiscard]] std::string schema_done_statement(const SchemaStep& step);

// The error says that the step had been carried out already.
[[nodiscard]] bool is_done_already(unsigned code) noexcept;

}  // namespace latchd::store::mysql
