// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/config/options.hpp>

#include <string>
#include <vector>

namespace latchd::config {

// One key of the file with its value in force.
struct NamedValue {
    std::string path;  // `locks.ttl_max`, `stores[0].check.inter`
    std::string text;  // as the file writes it; a secret is `***`, an unset key empty
};

// All keys, in the order of the file's reference; for CONFIG GET.
[[nodiscard]] std::vector<NamedValue> list_values(const Options& options);

}  // namespace latchd::config
