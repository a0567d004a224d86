// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "subscriptions.hpp"

#include "text.hpp"

#include <latchd/base/glob.hpp>

namespace latchd::command {

void Subscriptions::add(Index& index, std::string_view name, ClientId client) {
    auto it = index.find(name);
    if (it == index.end()) it = index.emplace(std::string(name), std::set<ClientId>{}).first;
    it->second.insert(client);
}

void Subscriptions::drop(Index& index, std::string_view name, ClientId client) {
    const auto it = index.find(name);
    if (it == index.end()) return;
    it->second.erase(client);
    if (it->second.empty()) index.erase(it);
}

void Subscriptions::visit(
    std::string_view channel,
    const std::function<void(ClientId, std::string_view pattern)>& visit) const {
    if (const auto it = channels_.find(channel); it != channels_.end()) {
        for (const ClientId client : it->second) visit(client, {});
    }
    for (const auto& [pattern, clients] : patterns_) {
        if (!glob_matches(pattern, channel)) continue;
        for (const ClientId client : clients) visit(client, pattern);
    }
}

}  // namespace latchd::command
