// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "node_shell.hpp"
#include "sessions.hpp"

#include <latchd/command/host.hpp>
#include <latchd/server/options.hpp>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace latchd::server {

class Crew;

enum class Ending : std::uint8_t {
    no,         // serves
    draining,   // no new locks; connections stay (LATCHD DRAIN)
    finishing,  // drains, then the process ends
};

// What commands see of the process and the node. Loop thread only.
class NodeHost final : public command::Host {
public:
    struct Parts {
        const Options* options = nullptr;
        std::vector<command::Setting> settings;
        core::Registry* registry = nullptr;
        NodeShell* shell = nullptr;
        Sessions* sessions = nullptr;
        const std::vector<Endpoint>* endpoints = nullptr;
        Crew* crew = nullptr;
        std::size_t loop = 0;
        std::function<void()> drain;  // of this loop
        std::uint64_t incarnation = 0;
    };

    explicit NodeHost(Parts parts);

    void set_ending(Ending ending);
    // Once a second, with the number of commands so far.
    void sample(std::uint64_t commands);

    [[nodiscard]] Time now() const override { return parts_.shell->now(); }
    [[nodiscard]] Time read_clock() const override;
    [[nodiscard]] std::int64_t wall_usec() const override;
    [[nodiscard]] command::ProcessInfo process() const override;
    [[nodiscard]] command::NodeStatus status() const override;
    [[nodiscard]] std::vector<command::StoreStatus> stores() const override;
    [[nodiscard]] std::optional<command::FleetView> fleet() const override;
    [[nodiscard]] std::optional<core::LeaseLimits> limits() const override;
    [[nodiscard]] core::NodeCounts counts() const override { return parts_.shell->node().counts(); }
    [[nodiscard]] std::vector<command::Setting> settings() const override {
        return parts_.settings;
    }
    [[nodiscard]] core::Registry& registry() override { return *parts_.registry; }
    [[nodiscard]] std::size_t loops() const override;
    void registry_changed(const ResourceName& name,
                          const std::optional<core::ResourceSettings>& settings) override;
    void listens(bool anybody) override;
    void visit_clients(
        const std::function<void(const command::ClientState&)>& visit) const override;
    [[nodiscard]] command::ClientState* find_client(ClientId id) override;
    void kill_client(ClientId id) override;
    void push(ClientId id, std::string_view bytes) override;
    [[nodiscard]] std::optional<std::string> drain() override;
    [[nodiscard]] std::optional<std::string> shut_down(bool at_once) override;
    void note(core::Notice notice) override;

private:
    struct Word {
        std::string state;
        std::string reason;
    };
    [[nodiscard]] Word word() const;
    [[nodiscard]] Word word_of_fleet(const store::FleetDesk& desk) const;
    [[nodiscard]] std::uint16_t tcp_port() const;

    Parts parts_;
    Time started_;
    Ending ending_ = Ending::no;
    // When the state became what it is; looked at on each tick and each question.
    mutable std::string last_state_;
    mutable std::int64_t since_unix_ = 0;
    std::uint64_t last_commands_ = 0;
    std::uint64_t commands_per_second_ = 0;
    bool listens_ = false;
};

}  // namespace latchd::server
