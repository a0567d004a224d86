// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

#include <array>

namespace latchd::store::mysql {
namespace {

// What the fleet agrees on; docs/arbiter.md explains each column. A body is the JSON of
// store/arbiter, the columns beside it are what statements look at.
constexpr std::string_view authority =
    "CREATE TABLE IF NOT EXISTS authority ("
    "cluster VARBINARY(64) NOT NULL PRIMARY KEY,"
    "epoch BIGINT UNSIGNED NOT NULL DEFAULT 0,"
    "opened BIGINT UNSIGNED NOT NULL DEFAULT 0,"
    "claims_version BIGINT UNSIGNED NOT NULL DEFAULT 0,"
    "registry_version BIGINT UNSIGNED NOT NULL DEFAULT 0,"
    "body MEDIUMBLOB NULL) ENGINE=InnoDB";

// Lock statements read its row with LOCK IN SHARE MODE: who may grant, and under which epoch.
constexpr std::string_view placement =
    "CREATE TABLE IF NOT EXISTS placement ("
    "cluster VARBINARY(64) NOT NULL,"
    "name VARBINARY(64) NOT NULL,"
    "since_epoch BIGINT UNSIGNED NOT NULL,"
    "state ENUM('settling','open') NOT NULL,"
    "nonce VARBINARY(64) NOT NULL,"
    "store VARBINARY(64) NOT NULL,"
    "since_ms BIGINT NOT NULL,"
    "body MEDIUMBLOB NOT NULL,"
    "PRIMARY KEY (cluster, name)) ENGINE=InnoDB";

constexpr std::string_view node =
    "CREATE TABLE IF NOT EXISTS node ("
    "cluster VARBINARY(64) NOT NULL,"
    "incarnation BIGINT UNSIGNED NOT NULL,"
    "name VARBINARY(255) NOT NULL,"
    "acked BIGINT UNSIGNED NOT NULL,"
    "beat BIGINT UNSIGNED NOT NULL,"
    "body MEDIUMBLOB NOT NULL,"
    "PRIMARY KEY (cluster, incarnation)) ENGINE=InnoDB";

constexpr std::string_view claim =
    "CREATE TABLE IF NOT EXISTS claim ("
    "cluster VARBINARY(64) NOT NULL,"
    "epoch BIGINT UNSIGNED NOT NULL,"
    "incarnation BIGINT UNSIGNED NOT NULL,"
    "part BIGINT UNSIGNED NOT NULL,"
    "at_ms BIGINT NOT NULL,"
    "body LONGBLOB NOT NULL,"
    "PRIMARY KEY (cluster, epoch, incarnation, part)) ENGINE=InnoDB";

// number 0: that it left, and its gone fences and cancelled requests; others: a lock's record.
constexpr std::string_view left_claim =
    "CREATE TABLE IF NOT EXISTS left_claim ("
    "cluster VARBINARY(64) NOT NULL,"
    "incarnation BIGINT UNSIGNED NOT NULL,"
    "part BIGINT UNSIGNED NOT NULL,"
    "number INT UNSIGNED NOT NULL,"
    "at_ms BIGINT NOT NULL,"
    "resource_id VARBINARY(64) NOT NULL,"
    "business_id VARBINARY(128) NOT NULL,"
    "fence BIGINT UNSIGNED NOT NULL,"
    "body LONGBLOB NOT NULL,"
    "PRIMARY KEY (cluster, incarnation, part, number),"
    "KEY by_lock (cluster, resource_id, business_id, fence)) ENGINE=InnoDB";

constexpr std::string_view resource =
    "CREATE TABLE IF NOT EXISTS resource ("
    "cluster VARBINARY(64) NOT NULL,"
    "name VARBINARY(64) NOT NULL,"
    "body MEDIUMBLOB NOT NULL,"
    "PRIMARY KEY (cluster, name)) ENGINE=InnoDB";

// used: in which period last, 0: not noted yet (A10).
constexpr std::string_view resource_uses =
    "ALTER TABLE resource "
    "ADD COLUMN used BIGINT UNSIGNED NOT NULL DEFAULT 0,"
    "ADD COLUMN retired TINYINT UNSIGNED NOT NULL DEFAULT 0";
constexpr std::string_view use_period =
    "ALTER TABLE authority "
    "ADD COLUMN use_period BIGINT UNSIGNED NOT NULL DEFAULT 0,"
    "ADD COLUMN use_since_ms BIGINT NOT NULL DEFAULT 0";

// basis_number 0: what safety rests on was never changed (A11).
constexpr std::string_view basis =
    "ALTER TABLE authority "
    "ADD COLUMN basis_number BIGINT UNSIGNED NOT NULL DEFAULT 0,"
    "ADD COLUMN basis MEDIUMBLOB NULL";

constexpr std::array<SchemaStep, 9> arbiter_steps{{
    {"authority", 1, authority},
    {"authority", 2, placement},
    {"authority", 3, node},
    {"authority", 4, claim},
    {"authority", 5, left_claim},
    {"authority", 6, resource},
    {"authority", 7, resource_uses},
    {"authority", 8, use_period},
    {"authority", 9, basis},
}};

}  // namespace

std::span<const SchemaStep> arbiter_schema_steps() { return arbiter_steps; }

}  // namespace latchd::store::mysql
