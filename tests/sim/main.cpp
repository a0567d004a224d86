// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// sim --seeds FIRST COUNT | --seed N [--transcript [LINES]]   [--mutant NAME] [--rule NAME]
#include "stage.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace latchd::sim;
using latchd::to_ms;

struct Arguments {
    std::uint64_t first = 1;
    std::uint64_t count = 200;
    RunOptions options;
    std::string scenario;  // "all": every one
    bool keeps_going = false;
    bool measures = false;
    bool is_one_node = false;
    bool is_bad = false;
};

Arguments read(int argc, char** argv) {
    Arguments arguments;
    const auto number = [&](int i, std::uint64_t otherwise) {
        return i < argc ? std::strtoull(argv[i], nullptr, 10) : otherwise;
    };
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--seeds") {
            arguments.first = number(i + 1, 1);
            arguments.count = number(i + 2, 200);
            i += 2;
        } else if (word == "--seed") {
            arguments.first = number(++i, 1);
            arguments.count = 1;
        } else if (word == "--transcript") {
            arguments.options.writes_transcript = true;
            if (i + 1 < argc && argv[i + 1][0] != '-') {
                arguments.options.transcript_lines = number(++i, 200);
            }
        } else if (word == "--mutant") {
            const auto mutant = mutant_of(++i < argc ? argv[i] : "");
            arguments.is_bad |= !mutant;
            arguments.options.mutant = mutant.value_or(Mutant::none);
        } else if (word == "--rule") {
            const auto rule = rule_of(++i < argc ? argv[i] : "");
            arguments.is_bad |= !rule;
            arguments.options.omitted = rule.value_or(authority::Rule::none);
        } else if (word == "--scenario") {
            arguments.scenario = ++i < argc ? argv[i] : "all";
        } else if (word == "--measure") {
            arguments.measures = true;
        } else if (word == "--one-node") {
            arguments.is_one_node = true;
        } else if (word == "--keep-going") {
            arguments.keeps_going = true;
        } else {
            arguments.is_bad = true;
        }
    }
    return arguments;
}

void print_coverage(const Coverage& coverage) {
    std::printf("%-20s", "fault \\ phase");
    for (std::size_t p = 0; p < phase_count; ++p) {
        std::printf(" %16s", std::string(name_of(static_cast<Phase>(p))).c_str());
    }
    for (std::size_t f = 0; f < fault_count; ++f) {
        std::printf("\n%-20s", std::string(name_of(static_cast<Fault>(f))).c_str());
        for (std::size_t p = 0; p < phase_count; ++p) {
            std::printf(" %16llu", static_cast<unsigned long long>(coverage[f][p]));
        }
    }
    std::printf("\n");
}

void add(Tally& sum, const Tally& more) {
    sum.grants += more.grants;
    sum.renewals += more.renewals;
    sum.releases += more.releases;
    sum.refusals += more.refusals;
    sum.errors += more.errors;
    sum.epochs += more.epochs;
    sum.tier_changes += more.tier_changes;
    sum.basis_changes += more.basis_changes;
    sum.delay_changes += more.delay_changes;
    sum.delays_across += more.delays_across;
    sum.lost += more.lost;
    sum.carried += more.carried;
    sum.local_grants += more.local_grants;
    sum.unconfirmed_grants += more.unconfirmed_grants;
    sum.epochs_reused += more.epochs_reused;
    sum.clock_refusals += more.clock_refusals;
    sum.unchecked_nil += more.unchecked_nil;
    for (std::size_t i = 0; i < case_count; ++i) {
        sum.overlaps[i] += more.overlaps[i];
        sum.longest[i] = std::max(sum.longest[i], more.longest[i]);
    }
}

void print_tally(const Tally& tally) {
    const auto show = [](const char* name, std::uint64_t value) {
        std::printf("  %-22s %llu\n", name, static_cast<unsigned long long>(value));
    };
    show("grants", tally.grants);
    show("of them local", tally.local_grants);
    show("of them unconfirmed", tally.unconfirmed_grants);
    show("renewals", tally.renewals);
    show("releases", tally.releases);
    show("nil", tally.refusals);
    show("nil, unchecked", tally.unchecked_nil);
    show("errors", tally.errors);
    show("epochs opened", tally.epochs);
    show("changes of the basis", tally.basis_changes);
    show("of delay_max", tally.delay_changes);
    show("DELAYs across them", tally.delays_across);
    show("for another tier", tally.tier_changes);
    show("epochs used again", tally.epochs_reused);
    show("records carried", tally.carried);
    show("lost events", tally.lost);
    show("refused for the clock", tally.clock_refusals);
    for (std::size_t i = 0; i < case_count; ++i) {
        std::printf("  overlaps, case (%c)     %llu, the longest %lld ms\n",
                    letter_of(static_cast<Case>(i)),
                    static_cast<unsigned long long>(tally.overlaps[i]),
                    static_cast<long long>(to_ms(tally.longest[i])));
    }
}

int play_scenarios(const Arguments& arguments) {
    int failed = 0;
    for (const Scenario& scenario : scenarios()) {
        if (arguments.scenario != "all" && arguments.scenario != scenario.name) continue;
        const Result result = play(scenario, arguments.options);
        if (arguments.options.writes_transcript) std::fputs(result.transcript.c_str(), stdout);
        const std::string text = result.violation ? result.violation->text : "well";
        std::printf("%s: %s\n", scenario.name, text.c_str());
        failed += result.violation.has_value();
    }
    return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments arguments = read(argc, argv);
    if (arguments.is_bad) {
        std::fprintf(stderr,
                     "usage: sim [--seeds FIRST COUNT | --seed N [--transcript [LINES]]]\n"
                     "                 [--mutant NAME] [--rule NAME] [--one-node] [--keep-going]\n"
                     "       sim --scenario NAME | all  [--transcript] [--mutant NAME]\n"
                     "       sim --measure\n");
        return 2;
    }
    if (arguments.measures) {
        measure_changes();
        return 0;
    }
    if (!arguments.scenario.empty()) return play_scenarios(arguments);
    Coverage coverage{};
    Tally tally;
    std::uint64_t steps = 0;
    std::uint64_t failed = 0;
    for (std::uint64_t i = 0; i < arguments.count; ++i) {
        const std::uint64_t seed = arguments.first + i;
        RunOptions options = arguments.options;
        const Plan plan = arguments.is_one_node ? Plan::of_one_node(seed) : Plan(seed);
        Result result = World(plan, options).run();
        if (result.violation && !options.writes_transcript && !arguments.keeps_going) {
            options.writes_transcript = true;  // the same again, written down
            result = World(plan, options).run();
        }
        if (options.writes_transcript) std::fputs(result.transcript.c_str(), stdout);
        if (result.violation) {
            ++failed;
            std::printf("seed %llu at %.6f s, lock %s:%s: %s\n",
                        static_cast<unsigned long long>(seed),
                        static_cast<double>(result.violation->at.time_since_epoch().count()) / 1e6,
                        result.violation->key.resource.str().c_str(),
                        result.violation->key.id.str().c_str(),
                        result.violation->text.c_str());
            std::fflush(stdout);
            if (!arguments.keeps_going) return 1;
        }
        steps += result.steps;
        add(tally, result.tally);
        for (std::size_t f = 0; f < fault_count; ++f) {
            for (std::size_t p = 0; p < phase_count; ++p) coverage[f][p] += result.coverage[f][p];
        }
    }
    print_coverage(coverage);
    print_tally(tally);
    std::printf("%llu seeds, %llu failed, %llu steps\n",
                static_cast<unsigned long long>(arguments.count),
                static_cast<unsigned long long>(failed),
                static_cast<unsigned long long>(steps));
    return failed == 0 ? 0 : 1;
}
