// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <string>

namespace latchd::command {

// The text of INFO for the sections that args[1...] name (none: the default ones), each behind
// its "# Name" line, with CRLF. An unknown section adds nothing, as in Redis.
[[nodiscard]] std::string info_text(Context& context);

}  // namespace latchd::command
