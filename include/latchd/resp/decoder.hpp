// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/input_buffer.hpp>
#include <latchd/resp/limits.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::resp {

class ArgumentReader;
class RequestScan;

enum class DecodeStatus {
    request,         // one request, see arguments
    need_more,       // all complete requests were handed out
    protocol_error,  // see error; nothing can be read from this client any more
};

struct Decoded {
    DecodeStatus status = DecodeStatus::need_more;

    // request: never empty. Views end with the next call of feed(), next() or
    // release_idle_memory().
    std::span<const std::string_view> arguments;

    // protocol_error: Redis's own wording, for "-ERR <error>"; lives as long as the decoder.
    std::string_view error;
};

// Turns the bytes of one client into requests: arrays of bulk strings, and inline commands.
//
//     decoder.feed(bytes);
//     while ((decoded = decoder.next()).status == DecodeStatus::request) run(decoded.arguments);
//
// May be stopped and resumed after every byte; what is yielded does not depend on how the bytes
// were cut. Empty lines and arrays without elements are passed over, as Redis does. After a
// protocol error every further next() says the same and input is dropped: write the error, then
// close. Requests before the error are handed out first.
//
// Nothing is allocated per request, and time is linear in the bytes however many requests one
// feed() brings. Belongs to one thread.
class Decoder {
public:
    explicit Decoder(ClientTrust trust, const RequestLimits& limits = {});
    ~Decoder();
    Decoder(Decoder&&) noexcept;
    Decoder& operator=(Decoder&&) noexcept;

    // Takes a copy of the bytes. How much may be fed ahead of next() is the caller's affair, see
    // buffered_bytes().
    void feed(std::string_view bytes);

    [[nodiscard]] Decoded next();

    // Holds for headers that are read from now on: call it before the next() that follows AUTH or
    // RESET.
    void set_trust(ClientTrust trust) noexcept { trust_ = trust; }

    // Bytes that were fed and not handed out yet.
    [[nodiscard]] std::size_t buffered_bytes() const noexcept { return input_.size(); }

    // Gives back all memory but what buffered bytes need; for a client that has gone quiet.
    void release_idle_memory();

    // Heap bytes in use for this client, as a lower bound; for CLIENT LIST and limits.
    [[nodiscard]] std::size_t memory_bytes() const noexcept;

private:
    enum class Step { yielded, passed_over, starved, failed };

    Step take_array();
    Step take_inline();
    Step fail(std::string_view error);
    [[nodiscard]] Decoded failure() const noexcept;

    RequestLimits limits_;
    ClientTrust trust_;
    InputBuffer input_;
    std::vector<std::string_view> arguments_;
    std::unique_ptr<RequestScan> scan_;
    std::unique_ptr<ArgumentReader> reader_;  // only while the client is not idle
    std::size_t line_searched_ = 0;           // bytes of an inline command known to hold no LF
    std::string error_;                       // empty: none
};

}  // namespace latchd::resp
