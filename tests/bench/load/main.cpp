// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Puts load on one peer and prints what it measured; tools/bench starts the peers and compares.
#include "run.hpp"

#include <cstdio>
#include <sched.h>

namespace latchd::load {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_wrong = 3;  // an exclusion or a fence was broken

void print_histogram(const char* name, const Histogram& it) {
    std::printf("\"%s\": {\"count\": %llu, \"mean\": %.2f",
                name,
                static_cast<unsigned long long>(it.count()),
                it.mean_ns() / 1e3);
    for (const auto& [label, share] :
         {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}}) {
        std::printf(", \"%s\": %.2f", label, static_cast<double>(it.percentile_ns(share)) / 1e3);
    }
    std::printf(", \"max\": %.2f}, ", static_cast<double>(it.max_ns()) / 1e3);
}

void print_count(const char* name, std::uint64_t value) {
    std::printf("\"%s\": %llu, ", name, static_cast<unsigned long long>(value));
}

// Texts come from the peer: what JSON doesn't take as it is becomes a question mark.
void print_text(const char* name, std::string text) {
    for (char& c : text) {
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) c = '?';
    }
    std::printf("\"%s\": \"%s\", ", name, text.c_str());
}

void print_processes(const Settings& settings, const Figures& figures) {
    std::printf("\"processes\": {");
    for (std::size_t i = 0; i < settings.processes.size(); ++i) {
        std::printf("%s\"%s\": {\"cpu_us\": %.1f",
                    i == 0 ? "" : ", ",
                    settings.processes[i].name.c_str(),
                    double(figures.cpu_ns[i]) / 1e3);
        if (!figures.bytes_before.empty()) {
            std::printf(", \"bytes_before\": %llu, \"bytes_idle\": %llu, \"bytes_held\": %llu",
                        static_cast<unsigned long long>(figures.bytes_before[i]),
                        static_cast<unsigned long long>(figures.bytes_idle[i]),
                        static_cast<unsigned long long>(figures.bytes_held[i]));
        }
        std::printf("}");
    }
    std::printf("}");
}

// Of each slice that had any LOCK: `at` is when it began.
void print_slices(const Settings& settings, const Course& course) {
    std::printf("\"slices\": [");
    const char* comma = "";
    for (std::size_t i = 0; i < course.slices().size(); ++i) {
        const Course::Slice& slice = course.slices()[i];
        if (slice.took.count() == 0) continue;
        std::printf("%s{\"at\": %.0f, ", comma, double(i) * double(settings.slice_ms) * 1e3);
        print_count("granted", slice.granted);
        print_count("refused", slice.refused);
        print_count("away", slice.away);
        print_histogram("lock", slice.took);
        std::printf("\"end\": %.0f}", double(i + 1) * double(settings.slice_ms) * 1e3);
        comma = ", ";
    }
    std::printf("], ");
}

void print_course(const Settings& settings, const Course& course) {
    std::printf("\"gap\": {\"length\": %.0f, \"end\": %.0f}, \"epochs\": [",
                double(course.longest_gap().length_ns) / 1e3,
                double(course.longest_gap().end_ns) / 1e3);
    const char* comma = "";
    for (const auto& [epoch, first_ns] : course.epochs()) {
        std::printf("%s[%llu, %.0f]",
                    comma,
                    static_cast<unsigned long long>(epoch),
                    double(first_ns) / 1e3);
        comma = ", ";
    }
    std::printf("], ");
    if (settings.slice_ms > 0) print_slices(settings, course);
}

// Times in microseconds; but for `begun` they count from there.
void print(const Settings& settings, const Run& run) {
    const Figures& figures = run.figures();
    const Judge& judge = run.judge();
    std::printf("{\"begun\": %.0f, \"seconds\": %.3f, \"load_cpu_us\": %.1f, ",
                double(run.begun_ns()) / 1e3,
                figures.seconds,
                double(figures.own_cpu_ns) / 1e3);
    print_count("cycles", figures.cycles);
    print_count("grants", judge.grants());
    print_count("grants_ever", figures.grants_ever);
    print_count("refused", figures.refused);
    print_count("away", figures.away);
    print_count("failed", figures.failed);
    print_count("not_released", figures.not_released);
    print_count("late_max", figures.late_max);
    print_count("doubles", judge.doubles());
    print_count("fences_back", judge.fences_back());
    print_count("passed_max", judge.passed_max());
    print_count("client_grants_min", judge.client_grants_min());
    print_count("client_grants_max", judge.client_grants_max());
    print_count("server_wait_max", judge.server_wait_max());
    print_text("first_failure", figures.first_failure);
    print_text("first_wrong", judge.first_wrong());
    print_histogram("lock", figures.lock);
    print_histogram("unlock", figures.unlock);
    print_histogram("hand_over", judge.hand_over());
    print_course(settings, run.course());
    print_processes(settings, figures);
    std::printf("}\n");
}

void pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    // A wish: where it isn't granted the figures only spread more.
    (void)sched_setaffinity(0, sizeof set, &set);
}

int run(const Settings& settings) {
    if (settings.cpu >= 0) pin_to(settings.cpu);
    const auto speaker = make_speaker(settings);
    Run it(settings, *speaker);
    if (const std::string wrong = it.go(); !wrong.empty()) {
        std::fprintf(stderr, "load: %s\n", wrong.c_str());
        return exit_failed;
    }
    print(settings, it);
    const bool is_wrong = it.judge().doubles() > 0 || it.judge().fences_back() > 0;
    if (is_wrong) std::fprintf(stderr, "load: %s\n", it.judge().first_wrong().c_str());
    return is_wrong ? exit_wrong : 0;
}

}  // namespace
}  // namespace latchd::load

int main(int count, char** arguments) {
    using namespace latchd::load;
    const auto parsed = parse_settings({arguments + 1, arguments + count});
    if (const auto* wrong = std::get_if<std::string>(&parsed)) {
        std::fprintf(stderr, "load: %s\n%s", wrong->c_str(), std::string(usage()).c_str());
        return exit_usage;
    }
    return run(std::get<Settings>(parsed));
}
