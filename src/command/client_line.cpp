// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "client_line.hpp"

#include "text.hpp"

namespace latchd::command {
namespace {

std::string flags_of(const ClientState& client) {
    std::string flags;
    if (client.subscriptions() != 0) flags += 'P';
    if (client.waiting != 0) flags += 'b';
    if (client.no_evict) flags += 'e';
    if (client.no_touch) flags += 'T';
    if (client.peer.starts_with("unix:")) flags += 'U';
    return flags.empty() ? "N" : flags;
}

std::int64_t seconds(Duration duration) noexcept {
    return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

class Line {
public:
    void add(std::string_view name, std::string_view value) {
        if (!text_.empty()) text_ += ' ';
        text_ += name;
        text_ += '=';
        text_ += value;
    }
    template <class Number>
    void add_number(std::string_view name, Number value) {
        add(name, {});
        append_number(text_, value);
    }
    [[nodiscard]] std::string take() { return std::move(text_ += '\n'); }

private:
    std::string text_;
};

}  // namespace

std::string_view type_of(const ClientState& client) noexcept {
    return client.subscriptions() != 0 ? "pubsub" : "normal";
}

std::string client_line(const ClientState& client, Time now) {
    Line line;
    line.add_number("id", static_cast<std::uint64_t>(client.id));
    line.add("addr", client.peer);
    line.add("laddr", client.local);
    line.add_number("fd", client.descriptor);
    line.add("name", client.name);
    line.add_number("age", seconds(now - client.created));
    const Time last = client.commands == 0 ? client.created : client.last_command;
    line.add_number("idle", seconds(now - last));
    line.add("flags", flags_of(client));
    line.add_number("db", client.db);
    line.add_number("sub", client.channels.size());
    line.add_number("psub", client.patterns.size());
    line.add("ssub", "0");
    line.add("multi", "-1");
    line.add_number("qbuf", client.input_buffered);
    line.add("qbuf-free", "0");
    line.add_number("obl", client.output_buffered);
    line.add("oll", "0");
    line.add_number("omem", client.output_buffered);
    line.add_number("tot-mem", client.input_buffered + client.output_buffered);
    line.add("events", client.output_buffered != 0 ? "rw" : "r");
    line.add("cmd", client.last_verb);
    line.add("user", "default");
    line.add("redir", "-1");
    line.add_number("resp", client.proto);
    line.add("lib-name", client.lib_name);
    line.add("lib-ver", client.lib_version);
    line.add_number("loop", client.loop);
    line.add_number("tot-net-in", client.bytes_in);
    line.add_number("tot-net-out", client.bytes_out);
    line.add_number("tot-cmds", client.commands);
    line.add_number("unanswered", client.unanswered);
    return line.take();
}

}  // namespace latchd::command
