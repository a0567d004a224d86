// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server.hpp"
#include "vault.hpp"

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace latchd::sim {

// One mysqld: the arbiter, and the lock rows of its tier. A statement reads the placement's row in
// the same step. Behind one address there is one at a time.
class MysqlServer final : public Server {
public:
    MysqlServer(World& world, HostClock clock);

    void restart(Duration away);  // all of its data comes back
    void replicate();             // keeps what the replica has by now
    // The replica, which lacks what came after `lag` ago, is the server from now on.
    void promote(Duration lag);

    [[nodiscard]] std::vector<core::GrantRecord> locks();
    [[nodiscard]] Vault* vault();  // of the open placement
    [[nodiscard]] std::string label() const override;

private:
    using Opening = std::pair<Epoch, authority::Nonce>;
    struct Copy {
        Moment at{};
        authority::ArbiterTable arbiter;
        std::vector<std::pair<Opening, Vault::Copy>> vaults;
    };

    [[nodiscard]] Said on(const Connection& from, Hello& call) override;
    [[nodiscard]] Said on(const Connection& from, Probe& call) override;
    [[nodiscard]] Said on(const Connection& from, Guarded& call) override;
    [[nodiscard]] Said on(const Connection& from, authority::TierInitialise& call) override;
    [[nodiscard]] Said on(const Connection& from, authority::TierLoad& call) override;
    [[nodiscard]] Said on(const Connection& from, authority::TierCloseAndRead& call) override;
    [[nodiscard]] Said on(const Connection&, authority::TierNote&) override { return Notes{}; }
    [[nodiscard]] std::optional<Said> refusal(const Guard& guard,
                                              const core::Operation* operation) const;
    [[nodiscard]] Vault& vault_of(const Opening& opening);
    void name_it();

    std::uint64_t uuid_ = 1;
    std::map<Opening, Vault> vaults_;
    std::deque<Copy> replica_;  // the last half second
};

}  // namespace latchd::sim
