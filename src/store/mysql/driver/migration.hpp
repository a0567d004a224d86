// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <functional>
#include <optional>

namespace latchd::store::mysql {

// Brings the schema up to what this latchd knows, on a connection of the caller's: the steps that
// schema_version does not name, one after another. Any number of nodes at once. `done` gets the
// error that stopped it, if one did; without anything to do it costs one read. Never called when
// the connection is closed by its owner.
void migrate(Connection& connection, std::function<void(std::optional<Error>)> done);

}  // namespace latchd::store::mysql
