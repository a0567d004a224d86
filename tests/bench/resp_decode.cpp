// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Nanoseconds per decoded LOCK, in pipelines of several depths. Reports, judges nothing.

#include <latchd/resp/command_writer.hpp>
#include <latchd/resp/decoder.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace {

using namespace latchd::resp;

constexpr int rounds = 7;
constexpr int commands_per_round = 1'000'000;

std::string lock_commands(int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) {
        append_command(bytes, {"LOCK", "order:settle", "1001", "PX", "30000"});
    }
    return bytes;
}

double nanoseconds_per_command(int depth) {
    const std::string bytes = lock_commands(depth);
    double best = 1e9;
    for (int round = 0; round < rounds; ++round) {
        Decoder decoder(ClientTrust::authenticated);
        std::size_t arguments = 0;
        const auto begin = std::chrono::steady_clock::now();
        for (int done = 0; done < commands_per_round; done += depth) {
            decoder.feed(bytes);
            for (;;) {
                const Decoded decoded = decoder.next();
                if (decoded.status != DecodeStatus::request) {
                    break;
                }
                arguments += decoded.arguments.size();
            }
        }
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - begin;
        const double commands = static_cast<double>(arguments) / 5.0;
        best = std::min(best, took.count() / commands);
    }
    return best;
}

}  // namespace

int main() {
    for (const int depth : {1, 16, 200, 100'000}) {
        std::printf("pipeline %6d: %6.1f ns per LOCK\n", depth, nanoseconds_per_command(depth));
    }
}
