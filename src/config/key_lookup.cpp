// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

#include <algorithm>

namespace latchd::config {
namespace {

bool begins_with(std::string_view path, std::string_view front, std::string_view then) {
    return path.starts_with(front) && path.substr(front.size()).starts_with(then);
}

}  // namespace

const Key* find_key(std::string_view path) {
    const auto keys = all_keys();
    const auto it =
        std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.path == path; });
    return it == keys.end() ? nullptr : &*it;
}

bool is_list(std::string_view path) {
    const auto keys = all_keys();
    return std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
        return begins_with(key.path, path, "[].");
    });
}

std::vector<std::string_view> names_under(std::string_view path) {
    std::vector<std::string_view> names;
    for (const auto& key : all_keys()) {
        auto rest = key.path;
        if (!path.empty()) {
            if (!begins_with(rest, path, ".")) continue;
            rest.remove_prefix(path.size() + 1);
        }
        rest = rest.substr(0, rest.find_first_of(".["));
        if (names.empty() || names.back() != rest) names.push_back(rest);
    }
    return names;
}

bool is_for(StoreKeys keys, StoreKind kind) noexcept {
    switch (keys) {
        case StoreKeys::all:
            return true;
        case StoreKeys::servers:
            return kind != StoreKind::local;
        case StoreKeys::redis:
            return kind == StoreKind::redis;
        case StoreKeys::mysql:
            return kind == StoreKind::mysql;
        case StoreKeys::local:
            return kind == StoreKind::local;
    }
    return true;
}

std::string join(std::string_view path, std::string_view name) {
    return path.empty() ? std::string(name) : std::string(path) + "." + std::string(name);
}

}  // namespace latchd::config
