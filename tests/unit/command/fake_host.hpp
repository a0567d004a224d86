// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/command/dispatcher.hpp>
#include <latchd/command/host.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::command {

// A process of which everything can be set.
class FakeHost : public Host {
public:
    Time time{std::chrono::seconds(1'000)};
    std::int64_t wall = 1'767'225'600'000'000;  // 2026-01-01
    ProcessInfo info;
    NodeStatus node;
    std::vector<StoreStatus> store_list;
    std::optional<FleetView> fleet_view;
    core::NodeCounts node_counts;
    std::vector<Setting> setting_list = {{"auth.password", "***"}, {"locks.ttl_max", "60s"}};
    core::Registry resources;
    std::map<ClientId, ClientState*> clients;
    std::vector<ClientId> killed;
    std::vector<std::pair<ClientId, std::string>> pushed;
    std::vector<core::Notice> notices;
    std::optional<std::string> drain_refusal;
    std::optional<std::string> shutdown_refusal = "SHUTDOWN is refused: systemctl stop latchd";
    mutable int clock_ahead = 0;  // the clock goes on while commands run
    std::size_t loop_count = 1;
    bool is_listening = false;
    std::vector<std::pair<ResourceName, bool>> changed_resources;
    int drains = 0;
    int shutdowns = 0;

    Time now() const override { return time; }
    Time read_clock() const override { return time + clock_ahead++ * std::chrono::microseconds(3); }
    std::int64_t wall_usec() const override { return wall; }
    ProcessInfo process() const override { return info; }
    NodeStatus status() const override { return node; }
    std::vector<StoreStatus> stores() const override { return store_list; }
    std::optional<FleetView> fleet() const override { return fleet_view; }
    std::optional<core::LeaseLimits> limits() const override {
        if (!fleet_view) return std::nullopt;
        return fleet_view->status.basis.limits;
    }
    core::NodeCounts counts() const override { return node_counts; }
    std::vector<Setting> settings() const override { return setting_list; }
    core::Registry& registry() override { return resources; }
    std::size_t loops() const override { return loop_count; }
    void registry_changed(const ResourceName& name,
                          const std::optional<core::ResourceSettings>& settings) override {
        changed_resources.emplace_back(name, settings.has_value());
    }
    void listens(bool anybody) override { is_listening = anybody; }
    void visit_clients(const std::function<void(const ClientState&)>& visit) const override {
        for (const auto& [id, client] : clients) visit(*client);
    }
    ClientState* find_client(ClientId id) override {
        const auto it = clients.find(id);
        return it == clients.end() ? nullptr : it->second;
    }
    void kill_client(ClientId id) override { killed.push_back(id); }
    void push(ClientId id, std::string_view bytes) override { pushed.emplace_back(id, bytes); }
    std::optional<std::string> drain() override {
        ++drains;
        return drain_refusal;
    }
    std::optional<std::string> shut_down(bool) override {
        ++shutdowns;
        return shutdown_refusal;
    }
    void note(core::Notice notice) override { notices.push_back(std::move(notice)); }
};

// A dispatcher, its host, and connections to it.
class Fixture {
public:
    explicit Fixture(Options options = {})
        : dispatcher(
              [&] {
                  options.version = "0.0.0";
                  options.node = NodeName("n1");
                  return options;
              }(),
              host) {}

    ClientState& connect() {
        auto client = std::make_unique<ClientState>();
        client->id = static_cast<ClientId>(clients.size() + 7);
        client->peer = "127.0.0.1:4000" + std::to_string(clients.size());
        client->local = "127.0.0.1:6385";
        client->created = host.time;
        host.clients[client->id] = client.get();
        clients.push_back(std::move(client));
        return *clients.back();
    }

    Disposition run(ClientState& client, std::vector<std::string_view> args) {
        out.clear();
        return dispatcher.run(client, args, ++slot, out);
    }
    // The reply's bytes.
    std::string ask(ClientState& client, std::vector<std::string_view> args) {
        (void)run(client, std::move(args));
        return out;
    }

    FakeHost host;
    Dispatcher dispatcher;
    std::vector<std::unique_ptr<ClientState>> clients;
    std::uint64_t slot = 0;
    std::string out;
};

}  // namespace latchd::command
