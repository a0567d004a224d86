// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "stage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::sim {
namespace {

using authority::Rule;

bool is_full() { return std::getenv("LATCHD_TEST_FULL") != nullptr; }
// So many meet every fault in every phase; a sanitizer sees what it sees in fewer.
constexpr std::uint64_t usual_seeds = 900;
std::uint64_t seeds() {
    if (is_full()) return 20'000;
    const char* const fewer = std::getenv("LATCHD_TEST_SEEDS");
    return fewer != nullptr ? std::strtoull(fewer, nullptr, 10) : usual_seeds;
}
std::uint64_t mutant_seeds() { return is_full() ? 5'000 : 1'000; }

std::string report(const Result& result) {
    return "seed " + std::to_string(result.seed) + ": " + result.violation->text +
           "\nagain with its history: sim --seed " + std::to_string(result.seed) +
           " --transcript\n" + result.transcript;
}

// Runs a seed; one that fails is run again, written down.
Result run(const Plan& plan, RunOptions options = {}) {
    Result result = World(plan, options).run();
    const bool is_planted = options.mutant != Mutant::none || options.omitted != Rule::none;
    if (!result.violation || is_planted) return result;
    options.writes_transcript = true;
    return World(plan, options).run();
}
Result run(std::uint64_t seed, RunOptions options = {}) { return run(Plan(seed), options); }

// ---- without planted bugs --------------------------------------------------------------------

TEST(Sim, keeps_every_promise_under_faults_and_meets_each_fault_in_each_phase) {
    Coverage coverage{};
    Tally tally;
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        const Result result = run(seed);
        ASSERT_FALSE(result.violation.has_value()) << report(result);
        tally.grants += result.tally.grants;
        tally.renewals += result.tally.renewals;
        tally.epochs += result.tally.epochs;
        tally.tier_changes += result.tally.tier_changes;
        tally.carried += result.tally.carried;
        tally.basis_changes += result.tally.basis_changes;
        tally.delay_changes += result.tally.delay_changes;
        tally.delays_across += result.tally.delays_across;
        for (std::size_t i = 0; i < case_count; ++i) {
            tally.overlaps[i] += result.tally.overlaps[i];
            tally.longest[i] = std::max(tally.longest[i], result.tally.longest[i]);
        }
        for (std::size_t f = 0; f < fault_count; ++f) {
            for (std::size_t p = 0; p < phase_count; ++p) coverage[f][p] += result.coverage[f][p];
        }
    }
    for (std::size_t f = 0; f < fault_count && seeds() >= usual_seeds; ++f) {
        for (std::size_t p = 0; p < phase_count; ++p) {
            EXPECT_GT(coverage[f][p], 0u) << name_of(static_cast<Fault>(f)) << " never met "
                                          << name_of(static_cast<Phase>(p));
        }
    }
    // A fleet that never grants keeps all its promises.
    EXPECT_GT(tally.grants, 80 * seeds());
    EXPECT_GT(tally.renewals, 30 * seeds());
    EXPECT_GT(tally.epochs, 3 * seeds());
    EXPECT_GT(tally.tier_changes, seeds());
    EXPECT_GT(tally.carried, 2 * seeds());
    EXPECT_GT(tally.basis_changes, seeds() / 30);
    EXPECT_GT(tally.delay_changes, seeds() / 60);
    EXPECT_GT(tally.delays_across, seeds() / 300);
    // What `available` resources may break, and how long it lasted at most.
    for (std::size_t i = 0; i < case_count; ++i) {
        const std::string name = std::string("case_") + letter_of(static_cast<Case>(i));
        RecordProperty(name + "_overlaps", std::to_string(tally.overlaps[i]));
        RecordProperty(name + "_longest_ms", std::to_string(to_ms(tally.longest[i])));
    }
}

TEST(Sim, a_node_that_has_its_store_to_itself_loses_no_lock_when_it_restarts) {
    Tally tally;
    for (std::uint64_t seed = 1; seed <= seeds() / 4; ++seed) {
        const Result result = run(Plan::of_one_node(seed));
        ASSERT_FALSE(result.violation.has_value()) << "--one-node: " << report(result);
        tally.grants += result.tally.grants;
        tally.epochs += result.tally.epochs;
        tally.carried += result.tally.carried;
    }
    EXPECT_GT(tally.grants, 50 * seeds() / 4);
    EXPECT_GT(tally.epochs, 2 * (seeds() / 4));
    EXPECT_GT(tally.carried, seeds() / 12);
}

TEST(Sim, one_seed_is_one_run) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Result one = World(Plan(seed), {}).run();
        RunOptions written;
        written.writes_transcript = true;
        const Result two = World(Plan(seed), written).run();
        EXPECT_EQ(one.hash, two.hash) << "seed " << seed;
        EXPECT_EQ(one.steps, two.steps) << "seed " << seed;
        EXPECT_NE(one.hash, World(Plan(seed + 1'000), {}).run().hash);
    }
}

// ---- scripted --------------------------------------------------------------------------------

class SimScenario : public testing::TestWithParam<Scenario> {};

TEST_P(SimScenario, goes_well) {
    RunOptions options;
    options.writes_transcript = true;
    const Result result = play(GetParam(), options);
    EXPECT_FALSE(result.violation.has_value())
        << result.violation->text << "\nagain: sim --scenario " << GetParam().name
        << " --transcript\n"
        << result.transcript;
}

INSTANTIATE_TEST_SUITE_P(Sim, SimScenario, testing::ValuesIn(scenarios()), [](const auto& test) {
    return std::string(test.param.name);
});

// ---- planted bugs ----------------------------------------------------------------------------

// What catches it: a scenario or a seed; empty: nothing.
std::string caught_by(const RunOptions& options) {
    for (const Scenario& scenario : scenarios()) {
        const Result result = play(scenario, options);
        if (result.violation) return std::string(scenario.name) + ": " + result.violation->text;
    }
    for (std::uint64_t seed = 1; seed <= mutant_seeds(); ++seed) {
        const Result result = run(seed, options);
        if (!result.violation) continue;
        return "seed " + std::to_string(seed) + ": " + result.violation->text;
    }
    return {};
}

// Those that nothing shows, because another rule stands behind. mutants.md says which.
constexpr std::array masked_mutants{Mutant::strict_wait_instant,
                                    Mutant::strict_wait_not_carried,
                                    Mutant::late_replies,
                                    Mutant::clock_read_twice,
                                    Mutant::initialise_blindly};
constexpr std::array masked_rules{
    Rule::strict_wait_carried, Rule::wait_as_duration, Rule::fresh_nonce, Rule::epoch_rises};
// Those that only many seeds show.
constexpr std::array rare_mutants{Mutant::no_margin,
                                  Mutant::promoted_as_same,
                                  Mutant::nonce_unchecked,
                                  Mutant::renew_without_row};

template <class Left, std::size_t count>
bool is_among(const std::array<Left, count>& some, Left one) {
    return std::find(some.begin(), some.end(), one) != some.end();
}

std::vector<Mutant> all_mutants() {
    std::vector<Mutant> all;
    for (std::size_t i = 1; i < mutant_count; ++i) {
        const auto mutant = static_cast<Mutant>(i);
        if (is_among(masked_mutants, mutant)) continue;
        if (is_among(rare_mutants, mutant) && !is_full()) continue;
        all.push_back(mutant);
    }
    return all;
}

class SimMutant : public testing::TestWithParam<Mutant> {};

TEST_P(SimMutant, is_caught) {
    RunOptions options;
    options.mutant = GetParam();
    const std::string by = caught_by(options);
    RecordProperty("by", by);
    EXPECT_FALSE(by.empty()) << "no scenario and no seed up to " << mutant_seeds() << " shows "
                             << name_of(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sim, SimMutant, testing::ValuesIn(all_mutants()), [](const auto& test) {
    return std::string(name_of(test.param));
});

// Rules that the core itself leaves out.
std::vector<Rule> all_rules() {
    std::vector<Rule> all;
    for (std::size_t i = 1; i < rule_count; ++i) {
        const auto rule = static_cast<Rule>(i);
        if (!is_among(masked_rules, rule)) all.push_back(rule);
    }
    return all;
}

class SimRule : public testing::TestWithParam<Rule> {};

TEST_P(SimRule, is_caught) {
    RunOptions options;
    options.omitted = GetParam();
    const std::string by = caught_by(options);
    RecordProperty("by", by);
    EXPECT_FALSE(by.empty()) << "no scenario and no seed up to " << mutant_seeds() << " shows "
                             << name_of(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sim, SimRule, testing::ValuesIn(all_rules()), [](const auto& test) {
    return std::string(name_of(test.param));
});

}  // namespace
}  // namespace latchd::sim
