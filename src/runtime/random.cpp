// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/runtime/random.hpp>

#include <openssl/rand.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace latchd::runtime {

std::string RandomNames::draw() {
    constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    constexpr std::size_t size = 22;
    constexpr std::size_t needed = 17;  // bytes, which are what costs: 6 bits of them a character
    if (pool_.size() - used_ < needed) refill();
    unsigned char* const bytes = pool_.data() + used_;
    std::array<char, size + 2> name;
    char* at = name.data();
    for (std::size_t i = 0; i < needed; i += 3) {
        // Of the last three one is not there: the characters that it would be in are left out.
        const std::uint32_t last = i + 2 < needed ? bytes[i + 2] : 0;
        const std::uint32_t bits =
            std::uint32_t{bytes[i]} << 16 | std::uint32_t{bytes[i + 1]} << 8 | last;
        for (int shift = 18; shift >= 0; shift -= 6) *at++ = alphabet[bits >> shift & 63u];
    }
    // What was given out is a secret of its user's alone.
    std::memset(bytes, 0, needed);
    used_ += needed;
    return {name.data(), size};
}

std::uint64_t RandomNames::draw_number() {
    std::uint64_t number = 0;
    while (number == 0) {
        for (int i = 0; i < 8; ++i) number = (number << 8) | next();
        number &= (1ull << 53) - 1;
    }
    return number;
}

void RandomNames::refill() {
    if (RAND_bytes(pool_.data(), static_cast<int>(pool_.size())) != 1) {
        throw std::runtime_error("OpenSSL's random generator failed");
    }
    used_ = 0;
}

unsigned char RandomNames::next() {
    if (used_ == pool_.size()) refill();
    const unsigned char byte = pool_[used_];
    // What was given out is a secret of its user's alone.
    pool_[used_++] = 0;
    return byte;
}

}  // namespace latchd::runtime
