// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Waiting beside other nodes: turns, a lost message, a node that dies in line.
#include "stage.hpp"

#include <algorithm>
#include <vector>

namespace latchd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Clients that take one lock, give it back and stand in line again.
class Crowd {
public:
    Crowd(Stage& stage, std::size_t each) : stage_(stage), grants_(stage.world.size()) {
        for (std::size_t node = 0; node < stage.world.size(); ++node) {
            for (std::size_t i = 0; i < each; ++i) add(node);
        }
    }

    // For so long, in made-up time; false: some node got nothing for `longest`.
    bool run(Duration duration, Duration longest) {
        World& world = stage_.world;
        std::vector<Moment> last(world.size(), world.now());
        const Moment end = world.now() + duration;
        while (!stage_.is_over() && world.now() < end) {
            world.run_for(std::chrono::microseconds(500));
            for (Client& client : clients_) step(client, last);
            for (std::size_t node = 0; node < world.size(); ++node) {
                const bool is_there = world.member(node).is_alive();
                if (is_there && world.now() - last[node] > longest) return false;
            }
        }
        return true;
    }
    [[nodiscard]] const std::vector<std::size_t>& grants() const noexcept { return grants_; }

private:
    struct Client {
        std::size_t node = 0;
        ClientId id{};
        std::uint64_t sent = 0;
        Token token;  // of the UNLOCK that is under way
    };

    void add(std::size_t node) {
        const auto id = stage_.world.connect_script(node);
        if (!id) return stage_.expect(false, "no connection");
        clients_.push_back({node, *id, 0, {}});
        lock(clients_.back());
    }
    void lock(Client& client) {
        core::LockCommand command;
        command.key = key_in("r");
        command.ttl = seconds(3);
        command.wait = seconds(8);
        client.token = Token();
        client.sent = stage_.world.send(client.id, std::move(command), seconds(30));
    }
    void step(Client& client, std::vector<Moment>& last) {
        if (!stage_.world.is_open(client.id)) return;
        const auto outcome = stage_.world.take(client.sent);
        if (!outcome) return;
        const auto* grant = std::get_if<core::Granted>(&*outcome);
        if (grant == nullptr) return lock(client);
        ++grants_[client.node];
        last[client.node] = stage_.world.now();
        core::UnlockCommand command;
        command.key = key_in("r");
        command.token = grant->token;
        stage_.world.oracle.let_go(grant->token);
        client.sent = stage_.world.send(client.id, std::move(command), seconds(30));
    }

    Stage& stage_;
    std::vector<Client> clients_;
    std::vector<std::size_t> grants_;
};

bool is_ready(Stage& stage) {
    const bool all = stage.until(
        [&] {
            for (std::size_t node = 0; node < stage.world.size(); ++node) {
                const Member& member = stage.world.member(node);
                if (!member.is_open()) return false;
            }
            return true;
        },
        seconds(10));
    stage.expect(all, "the fleet does not start");
    return !stage.is_over();
}

void nodes_take_turns(Stage& stage) {
    if (!is_ready(stage)) return;
    Crowd crowd(stage, 6);
    stage.expect(crowd.run(seconds(20), milliseconds(400)), "a node gets nothing for 400 ms");
    const auto [least, most] = std::ranges::minmax(crowd.grants());
    stage.expect(least > 500, "only " + std::to_string(least) + " grants");
    stage.expect(most * 9 <= least * 10, "not in turn");
}

// Every message late, some twice, then none at all.
void messages_fail(Stage& stage) {
    if (!is_ready(stage)) return;
    for (std::size_t node = 0; node < 3; ++node) {
        stage.world.slow_messages(Site::redis, node, seconds(6));
    }
    Crowd crowd(stage, 4);
    stage.expect(crowd.run(seconds(6), seconds(3)), "late messages: a node gets nothing for 3 s");
    stage.world.cut_messages(Site::redis, seconds(10));
    // For 3 s nobody knows; then the heads look by themselves.
    stage.expect(crowd.run(seconds(4), seconds(4)), "no messages: a node gets nothing for 4 s");
    stage.expect(crowd.run(seconds(6), seconds(1)), "no messages: a node gets nothing for 1 s");
    stage.world.run_for(seconds(1));
    stage.expect(crowd.run(seconds(4), milliseconds(1200)), "not well again");
}

std::uint64_t wait_for(Stage& stage, std::size_t node, Duration wait) {
    core::LockCommand command;
    command.key = key_in("r");
    command.ttl = seconds(3);
    command.wait = wait;
    const auto client = stage.world.connect_script(node);
    if (!client) return 0;
    const auto sent = stage.world.send(*client, std::move(command), seconds(20));
    stage.world.run_for(milliseconds(20));
    return sent;
}

void assert_granted_within(Stage& stage, std::uint64_t sent, Duration limit, const char* what) {
    const Moment from = stage.world.now();
    const bool is_answered = stage.until(
        [&] {
            const auto outcome = stage.world.take(sent);
            return outcome && std::holds_alternative<core::Granted>(*outcome);
        },
        limit);
    stage.expect(is_answered,
                 std::string(what) + ": not granted within " +
                     std::to_string(to_ms(stage.world.now() - from)) + " ms");
}

void a_release_wakes_another_node(Stage& stage) {
    if (!is_ready(stage)) return;
    const auto held = stage.lock(0, "r", seconds(3));
    if (!held) return stage.expect(false, stage.said);
    const auto waiting = wait_for(stage, 1, seconds(8));
    stage.expect(stage.unlock(0, "r", held->token) == 1, stage.said);
    assert_granted_within(stage, waiting, milliseconds(60), "woken");
}

void the_head_of_the_line_dies(Stage& stage) {
    if (!is_ready(stage)) return;
    const auto held = stage.lock(0, "r", seconds(4));
    if (!held) return stage.expect(false, stage.said);
    (void)wait_for(stage, 1, seconds(8));
    const auto waiting = wait_for(stage, 2, seconds(8));
    stage.world.member(1).kill(Member::Left::nothing);
    stage.expect(stage.unlock(0, "r", held->token) == 1, stage.said);
    // Its reservation, and the look that finds it unused.
    assert_granted_within(stage, waiting, milliseconds(2300), "behind a dead node");
}

void it_dies_while_the_lock_is_reserved_for_it(Stage& stage) {
    if (!is_ready(stage)) return;
    const auto held = stage.lock(0, "r", seconds(4));
    if (!held) return stage.expect(false, stage.said);
    (void)wait_for(stage, 1, seconds(8));
    const auto waiting = wait_for(stage, 2, seconds(8));
    stage.world.cut_messages(Site::redis, 1, seconds(2));
    stage.expect(stage.unlock(0, "r", held->token) == 1, stage.said);
    stage.world.member(1).kill(Member::Left::nothing);
    stage.expect(!stage.lock(0, "r", seconds(1)), "granted past the reservation");
    assert_granted_within(stage, waiting, milliseconds(2300), "behind a dead node");
}

void an_offer_without_a_waiter_is_passed_on(Stage& stage) {
    if (!is_ready(stage)) return;
    const auto held = stage.lock(0, "r", seconds(4));
    if (!held) return stage.expect(false, stage.said);
    (void)wait_for(stage, 1, milliseconds(300));
    const auto waiting = wait_for(stage, 2, seconds(8));
    stage.world.run_for(milliseconds(500));  // the first has its nil
    stage.expect(stage.unlock(0, "r", held->token) == 1, stage.said);
    assert_granted_within(stage, waiting, milliseconds(60), "behind nobody");
}

Plan plan_of_three() {
    Plan plan(1);
    plan.nodes = 3;
    plan.arbiter = Site::mysql;
    plan.has_local = false;
    plan.clients = 0;
    plan.kill_works = true;
    plan.checks_clock = true;
    plan.ppm_max = 100;
    return plan;
}

}  // namespace

const std::vector<Scenario>& queue_scenarios() {
    static const std::vector<Scenario> all{
        {"nodes_take_turns", nodes_take_turns, plan_of_three},
        {"messages_fail", messages_fail, plan_of_three},
        {"a_release_wakes_another_node", a_release_wakes_another_node, plan_of_three},
        {"the_head_of_the_line_dies", the_head_of_the_line_dies, plan_of_three},
        {"it_dies_while_the_lock_is_reserved_for_it",
         it_dies_while_the_lock_is_reserved_for_it,
         plan_of_three},
        {"an_offer_without_a_waiter_is_passed_on",
         an_offer_without_a_waiter_is_passed_on,
         plan_of_three},
    };
    return all;
}

}  // namespace latchd::sim
