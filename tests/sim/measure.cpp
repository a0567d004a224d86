// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// How long a change takes in the model, by the number of nodes: ways of 60-700 µs, real defaults.
#include "stage.hpp"

#include <cstdio>

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

Plan measured_plan(int nodes) {
    Plan plan(7);
    plan.nodes = nodes;
    plan.arbiter = Site::mysql;
    plan.has_strict = true;
    plan.has_local = false;
    plan.clients = 0;
    plan.faults.clear();
    plan.ttl_max = seconds(60);
    plan.wait_max = seconds(60);
    plan.view_lease = seconds(10);
    plan.beat_every = seconds(2);
    plan.read_every = milliseconds(500);
    plan.hold_down = seconds(30);
    plan.hold_down_max = seconds(900);
    plan.vote_kept = seconds(60);
    return plan;
}

constexpr Duration strict_ttl = seconds(10);

// The first grant of another id than "0", in ms since `from`; -1: there was none.
std::int64_t first_grant(Stage& stage, std::size_t node, const char* resource, Moment from) {
    core::LockCommand command;
    command.key = {ResourceName(resource), LockId("1")};
    command.ttl = seconds(5);
    command.wait = seconds(60);
    const auto grant = stage.lock(node, std::move(command));
    return grant ? to_ms(stage.world.now() - from) : -1;
}

// From the end of Redis, which refuses connections from then on: that is the evidence. One node has
// a strict lock by then, so that its loss has to be waited out.
void measure(int nodes, bool with_a_node) {
    Stage stage(measured_plan(nodes), {});
    if (!stage.until_open(0, "redis", 0, seconds(60)) || !ready(stage)) return;
    const bool is_held = stage.lock(0, "s", strict_ttl).has_value();
    stage.world.run_for(seconds(5));
    const Epoch first = stage.epoch();
    const auto died = stage.world.now();
    stage.world.oracle.troubled(Site::redis, died + seconds(600));
    stage.world.redis().restart(RedisServer::Data::none, seconds(600));
    if (with_a_node) stage.world.member(0).kill(Member::Left::state);
    const auto last = static_cast<std::size_t>(nodes - 1);
    const std::int64_t available = first_grant(stage, last, "r", died);
    const std::int64_t strict = first_grant(stage, last, "s", died);
    std::printf("nodes %d, killed %s, first grant of available %lld ms, of strict %lld ms%s%s\n",
                nodes,
                with_a_node ? "Redis and a node" : "Redis",
                static_cast<long long>(available),
                static_cast<long long>(strict),
                is_held ? "" : ", nothing strict was held",
                stage.epoch() == first + 1 ? "" : ", in more than one epoch");
    std::fflush(stdout);
}

}  // namespace

void measure_changes() {
    for (const int nodes : {2, 3, 20, 100}) {
        measure(nodes, false);
        measure(nodes, true);
    }
}

}  // namespace latchd::sim
