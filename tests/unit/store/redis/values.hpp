// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchd::store::redis {

// What a Redis answers, made by hand.
inline resp::Value bulk(std::string_view text) {
    return {resp::Value::Type::bulk, 0, std::string(text), {}};
}
inline resp::Value number(std::int64_t n) { return {resp::Value::Type::integer, n, {}, {}}; }
inline resp::Value list(std::vector<resp::Value> items) {
    return {resp::Value::Type::array, 0, {}, std::move(items)};
}

}  // namespace latchd::store::redis
