// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace latchd::command {

enum class ReplyMode : std::uint8_t {
    on,         // every command is answered
    off,        // CLIENT REPLY OFF: none is, pushes are
    skip_next,  // CLIENT REPLY SKIP was the last command: the next one is not answered
};

// What one connection has told us and what it may do. The server owns one per connection, fills
// in the fields of the first group when it accepts, and keeps the counters of the second; the
// Dispatcher alone changes the rest. Loop thread only.
struct ClientState {
    ClientId id{};
    std::uint32_t loop = 1;  // of the process, counted from 1
    std::string peer;        // "127.0.0.1:40412", "unix:/run/latchd/latchd.sock"
    std::string local;       // the listener's own address, same form
    int descriptor = -1;
    Time created{};

    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::size_t input_buffered = 0;   // bytes read and not yet parsed
    std::size_t output_buffered = 0;  // bytes of replies not yet taken by the kernel

    int proto = 2;               // 2 or 3
    bool authenticated = false;  // only asked when a password is configured
    std::string name;
    std::string lib_name;
    std::string lib_version;
    int db = 0;
    bool no_evict = false;
    bool no_touch = false;
    bool events_push = false;  // LATCHD EVENTS ON; RESP3 only
    ReplyMode reply_mode = ReplyMode::on;
    std::set<std::string, std::less<>> channels;
    std::set<std::string, std::less<>> patterns;

    Time last_command{};
    std::string_view last_verb = "NULL";  // lower case, "client|setname"; from the command table
    std::uint64_t commands = 0;
    std::uint32_t unanswered = 0;  // commands started and not yet finished
    std::uint32_t waiting = 0;     // of these, LOCKs with WAIT

    [[nodiscard]] std::size_t subscriptions() const noexcept {
        return channels.size() + patterns.size();
    }
    // In RESP2 a connection that has subscribed may do nothing else: messages and replies could
    // not be told apart.
    [[nodiscard]] bool subscribe_mode() const noexcept {
        return proto == 2 && subscriptions() != 0;
    }
};

// As core commands, records and logs carry the client: "127.0.0.1:40412" or, with CLIENT SETNAME,
// "127.0.0.1:40412 worker-7".
[[nodiscard]] ClientName name_of(const ClientState& state);

}  // namespace latchd::command
