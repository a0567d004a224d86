// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace latchd::sim {
namespace {

// So many seeds suffice to find any of the planted bugs, with room for changes elsewhere.
constexpr std::uint64_t mutant_seeds_max = 800;
// So many seeds have to bring each fault together with each phase.
constexpr std::uint64_t covering_seeds = 200;

std::uint64_t seeds() { return std::getenv("LATCHD_TEST_FULL") != nullptr ? 20'000 : 500; }

std::string report(const Result& result) {
    return "seed " + std::to_string(result.seed) + ": " + result.violation->text +
           "\nagain with its history: sim --seed " + std::to_string(result.seed) +
           " --transcript\n" + result.transcript;
}

// Runs a seed; one that fails is run again, written down.
Result run(std::uint64_t seed, RunOptions options = {}) {
    Result result = World(seed, options).run();
    if (!result.violation || options.mutant != Mutant::none) return result;
    options.writes_transcript = true;
    return World(seed, options).run();
}

TEST(Sim, keeps_every_promise_under_faults_and_meets_each_fault_in_each_phase) {
    Coverage coverage{};
    Tally tally;
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        const Result result = run(seed);
        ASSERT_FALSE(result.violation.has_value()) << report(result);
        tally.grants += result.tally.grants;
        tally.renewals += result.tally.renewals;
        tally.releases += result.tally.releases;
        tally.lost_in_restart += result.tally.lost_in_restart;
        tally.epochs_reused += result.tally.epochs_reused;
        tally.stale_refusals += result.tally.stale_refusals;
        for (std::size_t f = 0; f < fault_count && seed <= covering_seeds; ++f) {
            for (std::size_t p = 0; p < phase_count; ++p) coverage[f][p] += result.coverage[f][p];
        }
    }
    for (std::size_t f = 0; f < fault_count; ++f) {
        for (std::size_t p = 0; p < phase_count; ++p) {
            EXPECT_GT(coverage[f][p], 0u) << name_of(static_cast<Fault>(f)) << " never met "
                                          << name_of(static_cast<Phase>(p));
        }
    }
    // A system that never grants keeps all its promises.
    EXPECT_GT(tally.grants, 50 * seeds());
    EXPECT_GT(tally.renewals, 20 * seeds());
    EXPECT_GT(tally.releases, 40 * seeds());
    // What nodes that share a store which restarts may lose until they hand over to each other.
    RecordProperty("overlaps_of_two_openings", std::to_string(tally.lost_in_restart));
    RecordProperty("epochs_used_again", std::to_string(tally.epochs_reused));
    RecordProperty("stale_nil", std::to_string(tally.stale_refusals));
}

TEST(Sim, a_node_that_has_its_store_to_itself_loses_no_lock_in_a_restart_of_the_store) {
    RunOptions options;
    options.nodes = 1;
    for (std::uint64_t seed = 1; seed <= seeds() / 4; ++seed) {
        const Result result = run(seed, options);
        ASSERT_FALSE(result.violation.has_value()) << report(result);
    }
}

TEST(Sim, one_seed_is_one_run) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Result one = World(seed, {}).run();
        const Result two = World(seed, {.writes_transcript = true}).run();
        EXPECT_EQ(one.hash, two.hash) << "seed " << seed;
        EXPECT_EQ(one.steps, two.steps) << "seed " << seed;
        EXPECT_NE(one.hash, World(seed + 1'000, {}).run().hash);
    }
}

class SimMutant : public testing::TestWithParam<Mutant> {};

TEST_P(SimMutant, is_caught) {
    for (std::uint64_t seed = 1; seed <= mutant_seeds_max; ++seed) {
        const Result result = run(seed, {.mutant = GetParam()});
        if (!result.violation) continue;
        RecordProperty("seeds", std::to_string(seed));
        RecordProperty("violation", result.violation->text);
        return;
    }
    FAIL() << "no seed up to " << mutant_seeds_max << " shows " << name_of(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sim, SimMutant, testing::ValuesIn(mutants), [](const auto& test) {
    return std::string(name_of(test.param));
});

}  // namespace
}  // namespace latchd::sim
