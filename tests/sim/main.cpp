// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// sim --seeds FIRST COUNT | --seed N [--transcript [LINES]]   [--mutant NAME] [--nodes N]
#include "world.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace latchd::sim;

struct Arguments {
    std::uint64_t first = 1;
    std::uint64_t count = 200;
    RunOptions options;
    bool keeps_going = false;
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
                arguments.options.transcript_lines = number(++i, 150);
            }
        } else if (word == "--mutant") {
            const auto mutant = mutant_of(++i < argc ? argv[i] : "");
            arguments.is_bad |= !mutant;
            arguments.options.mutant = mutant.value_or(Mutant::none);
        } else if (word == "--nodes") {
            arguments.options.nodes = static_cast<int>(number(++i, 2));
        } else if (word == "--keep-going") {
            arguments.keeps_going = true;
        } else {
            arguments.is_bad = true;
        }
    }
    return arguments;
}

void print_coverage(const Coverage& coverage) {
    std::printf("%-18s", "fault \\ phase");
    for (std::size_t p = 0; p < phase_count; ++p) {
        std::printf(" %18s", std::string(name_of(static_cast<Phase>(p))).c_str());
    }
    for (std::size_t f = 0; f < fault_count; ++f) {
        std::printf("\n%-18s", std::string(name_of(static_cast<Fault>(f))).c_str());
        for (std::size_t p = 0; p < phase_count; ++p) {
            std::printf(" %18llu", static_cast<unsigned long long>(coverage[f][p]));
        }
    }
    std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments arguments = read(argc, argv);
    if (arguments.is_bad) {
        std::fprintf(stderr,
                     "usage: sim [--seeds FIRST COUNT | --seed N [--transcript [LINES]]]\n"
                     "           [--mutant NAME] [--nodes N] [--keep-going]\n");
        return 2;
    }
    Coverage coverage{};
    Tally tally;
    std::uint64_t steps = 0;
    std::uint64_t failed = 0;
    for (std::uint64_t i = 0; i < arguments.count; ++i) {
        const std::uint64_t seed = arguments.first + i;
        RunOptions options = arguments.options;
        Result result = World(seed, options).run();
        if (result.violation && !options.writes_transcript && !arguments.keeps_going) {
            options.writes_transcript = true;  // the same again, written down
            result = World(seed, options).run();
        }
        if (options.writes_transcript) std::fputs(result.transcript.c_str(), stdout);
        if (result.violation) {
            ++failed;
            std::printf("seed %llu at %.6f s, lock %s: %s\n",
                        static_cast<unsigned long long>(seed),
                        static_cast<double>(result.violation->at.time_since_epoch().count()) / 1e6,
                        result.violation->key.id.str().c_str(),
                        result.violation->text.c_str());
            if (!arguments.keeps_going) return 1;
        }
        steps += result.steps;
        tally.grants += result.tally.grants;
        tally.renewals += result.tally.renewals;
        tally.releases += result.tally.releases;
        tally.refusals += result.tally.refusals;
        tally.errors += result.tally.errors;
        tally.lost_in_restart += result.tally.lost_in_restart;
        tally.stale_refusals += result.tally.stale_refusals;
        tally.epochs_reused += result.tally.epochs_reused;
        for (std::size_t f = 0; f < fault_count; ++f) {
            for (std::size_t p = 0; p < phase_count; ++p) coverage[f][p] += result.coverage[f][p];
        }
    }
    print_coverage(coverage);
    std::printf(
        "%llu seeds, %llu failed, %llu steps: %llu grants, %llu renewals, %llu releases, "
        "%llu nil, %llu errors; %llu overlaps of two openings of the store, %llu epochs used "
        "again, %llu stale nil\n",
        static_cast<unsigned long long>(arguments.count),
        static_cast<unsigned long long>(failed),
        static_cast<unsigned long long>(steps),
        static_cast<unsigned long long>(tally.grants),
        static_cast<unsigned long long>(tally.renewals),
        static_cast<unsigned long long>(tally.releases),
        static_cast<unsigned long long>(tally.refusals),
        static_cast<unsigned long long>(tally.errors),
        static_cast<unsigned long long>(tally.lost_in_restart),
        static_cast<unsigned long long>(tally.epochs_reused),
        static_cast<unsigned long long>(tally.stale_refusals));
    return failed == 0 ? 0 : 1;
}
