// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server.hpp"
#include "vault.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace latchd::sim {

// One redis-server, with the arbiter's keys in it where it arbitrates about itself.
class RedisServer final : public Server {
public:
    enum class Data : std::uint8_t { none, snapshot, all };
    // What a snapshot or a replica has.
    struct Copy {
        std::optional<authority::Marker> marker;
        std::optional<Vault::Copy> locks;
        authority::ArbiterTable arbiter;
        Time at{};
    };

    RedisServer(World& world, HostClock clock, std::string name);

    void restart(Data data, Duration away);
    void flush();
    void evict();
    void save_snapshot();
    void replicate();  // to its replica, which lags from then on
    [[nodiscard]] std::unique_ptr<RedisServer> promote(HostClock clock, std::string name);
    // As a master that was told of the new one: its connections end, it is a replica.
    void demote();

    [[nodiscard]] std::vector<core::GrantRecord> locks();
    [[nodiscard]] Vault* vault() noexcept { return vault_ ? &*vault_ : nullptr; }
    [[nodiscard]] const std::optional<authority::Marker>& marker() const noexcept {
        return marker_;
    }
    [[nodiscard]] authority::Identity identity() const;
    [[nodiscard]] std::string label() const override;

private:
    [[nodiscard]] Said on(const Connection& from, Hello& call) override;
    [[nodiscard]] Said on(const Connection& from, Probe& call) override;
    [[nodiscard]] Said on(const Connection& from, Guarded& call) override;
    [[nodiscard]] Said on(const Connection& from, authority::TierInitialise& call) override;
    [[nodiscard]] Said on(const Connection& from, authority::TierLoad& call) override;
    [[nodiscard]] Said on(const Connection& from, authority::TierCloseAndRead& call) override;
    [[nodiscard]] Said on(const Connection& from, authority::TierNote& call) override;
    [[nodiscard]] std::optional<Said> refusal(const Guard& guard, bool may_grant) const;
    [[nodiscard]] bool is_expected(const std::optional<authority::Marker>& expected) const;
    [[nodiscard]] Copy copy();
    void take(const Copy& copy, Duration late);
    void replace_vault();
    void name_arbiter();

    std::string name_;
    authority::Role role_ = authority::Role::master;
    std::string replid2_;
    std::optional<authority::Marker> marker_;
    std::optional<authority::StoreMs> marker_used_;
    std::optional<Vault> vault_;
    std::map<NodeName, std::pair<Time, authority::Nonce>> notes_;  // until when
    Copy snapshot_;
    Copy replica_;
};

}  // namespace latchd::sim
