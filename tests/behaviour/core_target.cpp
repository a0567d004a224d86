// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The core in made-up time, for the table of lock behaviour: dispatchers, nodes and one lock table,
// without a socket or a clock. Reads lines, answers each with the replies that it caused and a ".":
//
//   send CONNECTION NODE HEX...   a request of hexadecimal words; the connection is made at need
//   close CONNECTION
//   advance MS
//
// A reply is "CONNECTION HEX", a push likewise. The argument is the number of nodes.

#include "support/world.hpp"
#include "unit/command/fake_host.hpp"

#include <latchd/command/dispatcher.hpp>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace latchd::behaviour {
namespace {

using Words = std::vector<std::string>;

struct Connection {
    command::ClientState state;
    std::size_t node = 0;
    std::deque<Words> requests;  // behind one that is not answered yet
    std::optional<command::Pending> pending;
    std::uint64_t slot = 0;
    std::string out;
};

// A made-up process whose resources are those of its node.
class NodeHost final : public command::FakeHost {
public:
    explicit NodeHost(core::Registry& registry) : registry_(registry) {}
    core::Registry& registry() override { return registry_; }

private:
    core::Registry& registry_;
};

// One node with its dispatcher. Commands of a connection don't overlap here.
class Seat {
public:
    Seat(test::Member& member, const test::World& world)
        : member_(member),
          world_(world),
          host_(member.registry),
          dispatcher_(options(member), host_) {}

    void connect(Connection& connection) { host_.clients[connection.state.id] = &connection.state; }

    void close(Connection& connection) {
        dispatcher_.gone(connection.state);
        host_.clients.erase(connection.state.id);
        member_.feed(core::ClientGone{connection.state.id});
    }

    // Runs what can be run; false: nothing could.
    bool work(Connection& connection) {
        host_.time = world_.now;
        if (connection.pending) return finish(connection);
        if (connection.requests.empty()) return false;
        const Words words = std::exchange(connection.requests.front(), {});
        connection.requests.pop_front();
        const std::vector<std::string_view> args(words.begin(), words.end());
        command::Disposition disposition =
            dispatcher_.run(connection.state, args, ++connection.slot, connection.out);
        if (disposition.started) {
            connection.pending = std::move(disposition.started->pending);
            std::visit([this](auto& command) { member_.feed(std::move(command)); },
                       disposition.started->command);
        }
        return true;
    }

    void tell_events(std::map<std::string, std::unique_ptr<Connection>>& connections) {
        for (const core::Happened& happened : std::exchange(member_.happened, {})) {
            dispatcher_.publish(happened);
        }
        for (const auto& [id, bytes] : std::exchange(host_.pushed, {})) {
            for (const auto& [name, connection] : connections) {
                if (connection->state.id == id) connection->out += bytes;
            }
        }
    }

private:
    static command::Options options(const test::Member& member) {
        command::Options options;
        options.node = member.name;
        options.version = "0.0.0";
        return options;
    }

    bool finish(Connection& connection) {
        const auto outcome = member_.outcome({connection.state.id, connection.slot});
        if (!outcome) return false;
        dispatcher_.finish(connection.state, *connection.pending, *outcome, connection.out);
        connection.pending.reset();
        return true;
    }

    test::Member& member_;
    const test::World& world_;
    NodeHost host_;
    command::Dispatcher dispatcher_;
};

class Target {
public:
    explicit Target(std::size_t nodes) : world_(static_cast<int>(nodes)) {
        for (std::size_t i = 0; i < nodes; ++i) {
            seats_.push_back(std::make_unique<Seat>(world_.at(i), world_));
        }
    }

    void obey(const std::string& line) {
        std::istringstream words(line);
        std::string verb;
        std::string name;
        words >> verb >> name;
        if (verb == "send") {
            send(name, words);
        } else if (verb == "close") {
            close(name);
        } else if (verb == "advance") {
            advance(std::stoi(name));
        } else {
            std::cerr << "core_target: unknown line: " << line << '\n';
            std::exit(2);
        }
        settle();
        print();
    }

private:
    static std::string from_hex(const std::string& text) {
        if (text == "-") return {};
        std::string bytes;
        for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
            bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
        }
        return bytes;
    }

    void send(const std::string& name, std::istream& words) {
        std::size_t node = 0;
        words >> node;
        std::unique_ptr<Connection>& connection = connections_[name];
        if (!connection) {
            connection = std::make_unique<Connection>();
            connection->node = node;
            connection->state.id = ClientId{++ids_};
            connection->state.peer = name;
            connection->state.created = world_.now;
            seats_[node]->connect(*connection);
        }
        Words request;
        for (std::string word; words >> word;) request.push_back(from_hex(word));
        connection->requests.push_back(std::move(request));
    }

    void close(const std::string& name) {
        const auto it = connections_.find(name);
        if (it == connections_.end()) return;
        const std::unique_ptr<Connection> connection = std::move(it->second);
        connections_.erase(it);
        seats_[connection->node]->close(*connection);
    }

    // In small steps, so that what a reply allows happens when the reply comes.
    void advance(int ms) {
        for (constexpr int step = 5; ms > 0; ms -= step) {
            world_.advance(from_ms(std::min(ms, step)));
            settle();
        }
    }

    void settle() {
        for (bool worked = true; worked;) {
            worked = false;
            for (const auto& [name, connection] : connections_) {
                worked = seats_[connection->node]->work(*connection) || worked;
            }
        }
        for (const auto& seat : seats_) seat->tell_events(connections_);
    }

    void print() {
        static constexpr char digits[] = "0123456789abcdef";
        for (const auto& [name, connection] : connections_) {
            if (connection->out.empty()) continue;
            std::cout << name << ' ';
            for (const char c : std::exchange(connection->out, {})) {
                const auto byte = static_cast<unsigned char>(c);
                std::cout << digits[byte >> 4] << digits[byte & 15];
            }
            std::cout << '\n';
        }
        std::cout << '.' << std::endl;
    }

    test::World world_;
    std::vector<std::unique_ptr<Seat>> seats_;
    std::map<std::string, std::unique_ptr<Connection>> connections_;
    std::uint64_t ids_ = 0;
};

}  // namespace
}  // namespace latchd::behaviour

int main(int argc, char** argv) {
    latchd::behaviour::Target target(argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 1);
    for (std::string line; std::getline(std::cin, line);) target.obey(line);
}
