// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.hpp"
#include "rows.hpp"

#include <optional>
#include <vector>

namespace latchd::store::mysql {

// What came of one query.
struct Answer {
    std::vector<Rows> sets;      // one per statement that succeeded, in order
    std::optional<Error> error;  // of the statement after these; those behind it were not executed

    [[nodiscard]] bool is_good() const noexcept { return !error; }
};

}  // namespace latchd::store::mysql
