// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "schema.hpp"

#include <latchd/config/settings.hpp>

#include <string_view>

namespace latchd::config {
namespace {

std::size_t count_of(const Options& options, std::string_view list) {
    if (list == "listen") return options.listen.size();
    if (list == "stores") return options.stores.size();
    return options.resources.list.size();
}

bool is_for(const Key& key, const Options& options, std::size_t index) {
    return key.store_keys == StoreKeys::all ||
           config::is_for(key.store_keys, options.stores[index].kind);
}

}  // namespace

std::vector<NamedValue> list_values(const Options& options) {
    Options copy = options;  // the key table hands out writable fields
    std::vector<NamedValue> values;
    for (const Key& key : all_keys()) {
        constexpr std::string_view any = "[]";
        const std::size_t mark = key.path.find(any);
        if (mark == std::string_view::npos) {
            values.push_back({std::string(key.path), get_field(key, {copy}).value_or("")});
            continue;
        }
        const std::string list(key.path.substr(0, mark));
        for (std::size_t i = 0; i < count_of(copy, list); ++i) {
            if (!is_for(key, copy, i)) continue;
            const std::string index = "[" + std::to_string(i) + "]";
            values.push_back({list + index + std::string(key.path.substr(mark + any.size())),
                              get_field(key, {copy, i}).value_or("")});
        }
    }
    return values;
}

}  // namespace latchd::config
