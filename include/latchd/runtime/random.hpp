// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace latchd::runtime {

// Unguessable names and numbers, from OpenSSL's generator. Draws a few kilobytes at a time: a call
// of the generator for each token would cost more than the grant. One thread each.
class RandomNames {
public:
    // 22 characters of [A-Za-z0-9_-], 132 random bits. Throws std::runtime_error when the
    // generator fails: there is no safe way on without it.
    [[nodiscard]] std::string draw();

    // 1 .. 2^53-1: an incarnation.
    [[nodiscard]] std::uint64_t draw_number();

private:
    void refill();
    [[nodiscard]] unsigned char next();

    std::array<unsigned char, 4096> pool_{};
    std::size_t used_ = pool_.size();
};

}  // namespace latchd::runtime
