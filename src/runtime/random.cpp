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
    if (pool_.size() - used_ < size) refill();
    unsigned char* const bytes = pool_.data() + used_;
    std::array<char, size> name;
    for (std::size_t i = 0; i < size; ++i) name[i] = alphabet[bytes[i] & 63u];
    // What was given out is a secret of its user's alone.
    std::memset(bytes, 0, size);
    used_ += size;
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
