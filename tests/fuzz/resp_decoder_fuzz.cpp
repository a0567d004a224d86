// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// Any bytes as a client's, whole and in pieces: both read as the plain reference parser reads
// them. The first byte chooses the trust, the next three the sizes of the pieces.
#include "transcript.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

using namespace latchd::resp;

namespace {

// Small, so that short inputs get to each of them.
constexpr RequestLimits limits{.arguments_max = 6,
                               .bulk_bytes_max = 40,
                               .request_bytes_max = 120,
                               .line_bytes_max = 50,
                               .unauthenticated_arguments_max = 3,
                               .unauthenticated_bulk_bytes_max = 12};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 4, size - 4};
    const auto trust = data[0] % 2 == 0 ? ClientTrust::authenticated : ClientTrust::unauthenticated;
    const auto expected = test::reference_transcript(bytes, trust, limits);
    if (test::decode_whole(Decoder(trust, limits), bytes) != expected) std::abort();
    std::size_t pieces = 0;
    const auto cut = [&](std::size_t rest) {
        return std::min<std::size_t>(rest, 1 + data[1 + pieces++ % 3]);
    };
    if (test::decode(Decoder(trust, limits), bytes, cut) != expected) std::abort();
    return 0;
}
