// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/decoder.hpp>

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::resp::test {

// All that a decoder made of a client's bytes.
struct Transcript {
    std::vector<std::vector<std::string>> requests;
    std::string error;  // empty: none

    friend bool operator==(const Transcript&, const Transcript&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Transcript& transcript);
};

// Takes out everything that is there.
void drain(Decoder& decoder, Transcript& transcript);

// Feeds the bytes in pieces, each from a heap block of just its size, so that a read past its end
// does not go unseen under ASan. cut(rest) gives the size of the next piece, 1 to rest.
template <class Cut>
Transcript decode(Decoder decoder, std::string_view bytes, Cut cut) {
    Transcript transcript;
    while (!bytes.empty()) {
        const std::size_t size = cut(bytes.size());
        {
            const std::vector<char> piece(bytes.begin(), bytes.begin() + std::ptrdiff_t(size));
            decoder.feed({piece.data(), piece.size()});
        }
        drain(decoder, transcript);
        bytes.remove_prefix(size);
    }
    return transcript;
}

inline Transcript decode_whole(Decoder decoder, std::string_view bytes) {
    return decode(std::move(decoder), bytes, [](std::size_t rest) { return rest; });
}

// What a decoder should make of the bytes, by a parser that is as plain as can be: it has all of
// them, copies everything and knows nothing of the decoder's parts.
Transcript reference_transcript(std::string_view bytes,
                                ClientTrust trust,
                                const RequestLimits& limits);

}  // namespace latchd::resp::test
