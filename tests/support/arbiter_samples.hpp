// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/arbiter.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// Random rows, records and claims: every field is set, names hold any bytes.
namespace latchd::test {

class ArbiterSamples {
public:
    explicit ArbiterSamples(std::uint64_t seed) : random_(seed) {}

    // 0 .. below - 1
    std::uint64_t number(std::uint64_t below) { return random_() % below; }
    std::uint64_t large() { return 1 + number((std::uint64_t{1} << 53) - 1); }
    Duration time() { return Duration(static_cast<Duration::rep>(number(120'000'000))); }
    bool chance(unsigned percent) { return number(100) < percent; }

    std::string bytes(std::size_t size_max) {
        std::string text(number(size_max) + 1, '\0');
        for (char& c : text) c = static_cast<char>(number(256));
        return text;
    }
    std::string word() {
        static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
        std::string text(number(12) + 1, 'a');
        for (char& c : text) c = letters[number(letters.size())];
        return text;
    }
    core::authority::Identity identity();
    core::authority::Placement placement(Epoch since);
    core::authority::FleetRecord record(Epoch epoch);
    core::authority::BasisChange change();
    core::authority::NodeRow row(core::authority::Incarnation incarnation);
    LockKey key();
    core::Hold hold();
    core::GrantRecord grant();
    core::Claims claims(std::size_t each_max);
    core::ResourceSettings settings();

private:
    std::mt19937_64 random_;
};

}  // namespace latchd::test
