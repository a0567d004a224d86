// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// Any bytes as a store's: whole and byte by byte they give the same replies and the same end, and
// nothing is accepted that the limits forbid.
#include <latchd/resp/reply_decoder.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

using namespace latchd::resp;

// The replies of the bytes in pieces, and how it ended.
static std::pair<std::vector<Value>, ReplyStatus> read(std::string_view bytes, std::size_t piece) {
    constexpr ReplyLimits limits{.bulk_bytes_max = 60,
                                 .elements_max = 20,
                                 .reply_bytes_max = 100,
                                 .line_bytes_max = 1 << 20};
    ReplyDecoder decoder(limits);
    std::vector<Value> replies;
    DecodedReply decoded;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        decoder.feed(bytes.substr(0, piece));
        while ((decoded = decoder.next()).status == ReplyStatus::reply) {
            if (decoded.value.elements.size() > limits.elements_max) std::abort();
            replies.push_back(std::move(decoded.value));
        }
    }
    return {std::move(replies), decoded.status};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    if (read(bytes, size) != read(bytes, 1)) std::abort();
    return 0;
}
