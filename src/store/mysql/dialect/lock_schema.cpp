// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

#include <array>

namespace latchd::store::mysql {
namespace {

// One row is everything about one lock. The primary key is the order in which rows are locked;
// there is no other index, and no AUTO_INCREMENT, whose table lock an INSERT … SELECT would hold.
// Times are microseconds since 1970 by the server's clock. docs/mysql.md explains each column.
constexpr std::string_view lock_record =
    "CREATE TABLE IF NOT EXISTS lock_record ("
    "cluster VARBINARY(64) NOT NULL,"
    "resource_id VARBINARY(64) NOT NULL,"
    "business_id VARBINARY(128) NOT NULL,"
    "since_epoch BIGINT UNSIGNED NOT NULL,"
    "stamp VARBINARY(40) NOT NULL,"
    "fence BIGINT UNSIGNED NOT NULL,"
    "counter BIGINT UNSIGNED NOT NULL,"
    "version BIGINT UNSIGNED NOT NULL,"
    "expire_at BIGINT NOT NULL,"
    "free_at BIGINT NOT NULL,"
    "hard_at BIGINT NULL,"
    "ttl BIGINT NOT NULL,"
    "delay BIGINT NOT NULL,"
    "renewals INT UNSIGNED NOT NULL,"
    "renew_max INT UNSIGNED NOT NULL,"
    "hold_count INT UNSIGNED NOT NULL,"
    "holder_id VARBINARY(64) NOT NULL,"
    "node VARBINARY(255) NOT NULL,"
    "client VARBINARY(255) NOT NULL,"
    "create_time BIGINT NOT NULL,"
    "changed_at BIGINT NOT NULL,"
    "bars_until BIGINT NOT NULL,"
    "holds MEDIUMBLOB NOT NULL,"
    "bars MEDIUMBLOB NOT NULL,"
    "PRIMARY KEY (cluster, resource_id, business_id)) ENGINE=InnoDB";

constexpr std::string_view lock_floor =
    "CREATE TABLE IF NOT EXISTS lock_floor ("
    "cluster VARBINARY(64) NOT NULL PRIMARY KEY,"
    "fence BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB";

constexpr std::string_view lock_message =
    "CREATE TABLE IF NOT EXISTS lock_message ("
    "id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,"
    "cluster VARBINARY(64) NOT NULL,"
    "node VARBINARY(255) NOT NULL,"
    "at BIGINT NOT NULL,"
    "kind TINYINT UNSIGNED NOT NULL,"
    "resource_id VARBINARY(64) NOT NULL,"
    "business_id VARBINARY(128) NOT NULL,"
    "fence BIGINT UNSIGNED NOT NULL,"
    "version BIGINT UNSIGNED NOT NULL,"
    "request VARBINARY(128) NOT NULL,"
    "keep TINYINT UNSIGNED NOT NULL) ENGINE=InnoDB";

constexpr std::string_view probe =
    "CREATE TABLE IF NOT EXISTS latchd_probe ("
    "cluster VARBINARY(64) NOT NULL,"
    "node VARBINARY(255) NOT NULL,"
    "at BIGINT NOT NULL,"
    "PRIMARY KEY (cluster, node)) ENGINE=InnoDB";

constexpr std::string_view waiting = "ALTER TABLE lock_record ADD COLUMN waiting MEDIUMBLOB NULL";

constexpr std::array<SchemaStep, 5> steps{{
    {"lock", 1, lock_record},
    {"lock", 2, lock_floor},
    {"lock", 3, lock_message},
    {"lock", 4, probe},
    {"lock", 5, waiting},
}};

}  // namespace

std::span<const SchemaStep> lock_schema_steps() { return steps; }

}  // namespace latchd::store::mysql
