// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/input_buffer.hpp>
#include <latchd/resp/limits.hpp>
#include <latchd/resp/value.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace latchd::resp {

class ValueReader;

enum class ReplyStatus {
    reply,           // one reply, see value
    need_more,       // all complete replies were handed out
    protocol_error,  // see error; replies can't be told apart on this connection any more
};

struct DecodedReply {
    ReplyStatus status = ReplyStatus::need_more;
    Value value;
    std::string_view error;  // protocol_error: for the log; lives as long as the decoder
};

// Turns the bytes of a Redis server into RESP2 replies. May be stopped and resumed after every
// byte. After a protocol error every further next() says the same. Belongs to one thread, and to
// one connection: a new connection needs a new decoder.
class ReplyDecoder {
public:
    explicit ReplyDecoder(const ReplyLimits& limits = {});
    ~ReplyDecoder();
    ReplyDecoder(ReplyDecoder&&) noexcept;
    ReplyDecoder& operator=(ReplyDecoder&&) noexcept;

    // Takes a copy of the bytes.
    void feed(std::string_view bytes);

    [[nodiscard]] DecodedReply next();

    // Nothing of a reply is held: the connection is between two replies.
    [[nodiscard]] bool is_empty() const noexcept;

private:
    InputBuffer input_;
    std::unique_ptr<ValueReader> reader_;
    std::string error_;  // empty: none
};

}  // namespace latchd::resp
