// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "value.hpp"

#include <latchd/config/options.hpp>

#include <string>
#include <string_view>

namespace latchd::config {

// Where a store is, as one URL:
//   redis://[user[:password]@]host[:port][/database]
//   redis+unix://[user[:password]@]/path/of/socket[?db=database]
//   mysql://[user[:password]@]host[:port][/database]
//   mysql+unix://[user[:password]@]/path/of/socket[?db=database]
//   local:
// User and password are percent-decoded. In the result only kind, address, username, password and
// database are set. Errors show the URL with its password masked.
[[nodiscard]] Parsed<Store> parse_store_url(std::string_view url);

// The URL with everything that may be a secret replaced by `***`.
[[nodiscard]] std::string masked_url(std::string_view url);

}  // namespace latchd::config
