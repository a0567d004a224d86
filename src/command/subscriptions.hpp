// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace latchd::command {

// Who listens to which channel of this node. The connection's own list is in its ClientState;
// this is the way back from a channel. Only subscriptions live here: messages pass through.
class Subscriptions {
public:
    using Index = std::map<std::string, std::set<ClientId>, std::less<>>;

    void add_channel(std::string_view channel, ClientId client) { add(channels_, channel, client); }
    void add_pattern(std::string_view pattern, ClientId client) { add(patterns_, pattern, client); }
    void drop_channel(std::string_view channel, ClientId client) {
        drop(channels_, channel, client);
    }
    void drop_pattern(std::string_view pattern, ClientId client) {
        drop(patterns_, pattern, client);
    }

    // Everyone who is to get a message on `channel`; `pattern` is empty for a plain
    // subscription. A client with both gets both, as in Redis.
    void visit(std::string_view channel,
               const std::function<void(ClientId, std::string_view pattern)>& visit) const;

    [[nodiscard]] bool empty() const noexcept { return channels_.empty() && patterns_.empty(); }
    [[nodiscard]] const Index& channels() const noexcept { return channels_; }
    [[nodiscard]] const Index& patterns() const noexcept { return patterns_; }

private:
    static void add(Index& index, std::string_view name, ClientId client);
    static void drop(Index& index, std::string_view name, ClientId client);

    Index channels_;
    Index patterns_;
};

}  // namespace latchd::command
