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

void measure(int nodes, bool with_a_node) {
    Stage stage(measured_plan(nodes), {});
    if (!stage.until_open(0, "redis", 0, seconds(60))) return;
    stage.world.run_for(seconds(5));
    const Epoch first = stage.epoch();
    const auto died = stage.world.now();
    stage.world.oracle.troubled(Site::redis, died + seconds(600));
    stage.world.redis().restart(RedisServer::Data::none, seconds(600));
    if (with_a_node) stage.world.member(0).kill(Member::Left::state);
    const auto grant =
        stage.lock(static_cast<std::size_t>(nodes - 1), "r", seconds(5), seconds(30));
    const auto took = stage.world.now() - died;
    std::printf("%3d nodes, Redis killed%s: first grant in %s after %lld ms%s\n",
                nodes,
                with_a_node ? " with one of them" : "",
                grant ? grant->tier.c_str() : "nothing",
                static_cast<long long>(to_ms(took)),
                stage.epoch() == first + 1 ? "" : ", in more than one epoch");
}

}  // namespace

void measure_changes() {
    for (const int nodes : {2, 20, 100}) {
        measure(nodes, false);
        measure(nodes, true);
    }
}

}  // namespace latchd::sim
