// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/node.hpp>
#include <latchd/core/lock/table.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Nodes over one table in made-up time, for tests that want to see every step: what is sent to
// the store and answered by it passes through the test's hands.
namespace latchd::test {

class CountingNames : public core::NameSource {
public:
    explicit CountingNames(std::string prefix) : prefix_(std::move(prefix)) {}
    std::string draw() override { return prefix_ + std::to_string(++count_); }

private:
    std::string prefix_;
    std::uint64_t count_ = 0;
};

enum class Link {
    instant,       // carried out and answered at once
    frozen,        // kept until thaw() or break_off()
    lose_answers,  // carried out, but the answers wait for break_off()
};

class World;

class Member {
public:
    Member(World& world, std::string name, std::vector<std::string> tiers = {});

    core::Ticket send(std::uint64_t client, core::ClientCommand command);
    void feed(core::Event event);

    void open(std::string tier = "redis", Duration margin = {}, bool kill_works = true);
    void close(std::string reason = "down", bool settling = false);
    // A new epoch begins: its claims. What is under way is never answered.
    core::Claims hand_over(Epoch epoch);
    // The table, which is loaded with the claims already, opens.
    void open_carried(std::string tier = "redis");
    // What was frozen reaches the store and is answered.
    void thaw();
    // The connection breaks: what is under way is in doubt, or whatever `failure` says.
    void break_off(core::Failure failure = core::Failure::in_doubt,
                   const std::string& text = "reset");
    // The first that is under way is answered so.
    void answer_late(core::Reply reply);

    [[nodiscard]] std::optional<core::Outcome> outcome(const core::Ticket& ticket) const;
    [[nodiscard]] std::size_t under_way() const noexcept { return queue_.size(); }
    [[nodiscard]] const core::Operation& first_under_way() const { return queue_.front().second; }
    // How many operations of this kind were sent to the store so far.
    template <class T>
    [[nodiscard]] std::size_t sent() const {
        std::size_t count = 0;
        for (const core::Operation& o : submitted) count += std::holds_alternative<T>(o) ? 1 : 0;
        return count;
    }

    Link link = Link::instant;
    bool hears_messages = true;
    core::Registry registry;
    NodeName name;
    std::vector<core::Happened> happened;
    std::vector<core::Notice> notices;
    std::map<LockKey, core::GrantRecord> journal;
    std::vector<core::Operation> submitted;
    std::vector<core::ClaimsGiven> claims;
    std::vector<core::UsesGiven> uses;
    std::vector<core::GrantEnded> ended;
    std::vector<Epoch> asserted;
    std::vector<core::StrictAsked> asked;
    bool drained = false;

private:
    World& world_;
    std::vector<std::string> tiers_;
    CountingNames names_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, core::Outcome> outcomes_;
    std::deque<std::pair<core::OperationId, core::Operation>> queue_;
    std::deque<core::Event> events_;
    std::uint64_t slots_ = 0;
    bool stepping_ = false;

public:
    core::Node node;

private:
    void submit(core::OperationId id, core::Operation&& operation);
    void carry_out(core::Actions& actions);
    [[nodiscard]] core::NodeOptions options() const;
};

class World {
public:
    explicit World(int nodes = 1, const std::vector<std::string>& tiers = {});

    // Time passes; every deadline of every node is met on its way.
    void advance(Duration by);
    [[nodiscard]] Member& at(std::size_t index) { return *members[index]; }
    void tell(const std::vector<core::Table::Told>& told);
    // A new table of this epoch, with the claims in it as a fleet loads them.
    void load(Epoch epoch, const core::Claims& claims);

    Time now{std::chrono::hours(1)};
    core::Table table{100, 0, 0};  // packs whatever it can, as its nodes do
    std::vector<std::unique_ptr<Member>> members;
};

// ---- commands, short --------------------------------------------------------------------------

inline LockKey key(std::string id = "1", std::string resource = "r") {
    return {ResourceName(std::move(resource)), LockId(std::move(id))};
}

struct LockWords {
    int ttl_ms = 10'000;
    int wait_ms = 0;
    std::string owner = {};
    std::string req = {};
    bool keep = false;
    bool onclose = false;
    int maxhold_ms = 0;
    int delay_ms = 0;
    int expect_ms = 0;
    core::Require require = core::Require::any;
    std::string id = "1";
};

core::LockCommand lock(const LockWords& words = {});
core::UnlockCommand unlock(const std::string& token, const std::string& id = "1");
core::RenewCommand renew(const std::string& token, int ttl_ms = 0, bool keep = false);

// ---- outcomes, short: "granted", "nil", "1", "-ERR text" ----------------------------------------

std::string text_of(const std::optional<core::Outcome>& outcome);
inline std::string got(const Member& node, const core::Ticket& ticket) {
    return text_of(node.outcome(ticket));
}
// Of a granted outcome; fails the test otherwise.
core::Granted granted(const std::optional<core::Outcome>& outcome);

}  // namespace latchd::test
