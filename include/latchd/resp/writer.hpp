// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace latchd::resp {

enum class Protocol : std::uint8_t { resp2 = 2, resp3 = 3 };

// Appends replies to a string, in the protocol that the client has chosen by HELLO. A reply is one
// value; an aggregate is its header followed by as many values as the header says (for a map:
// twice as many), which the caller writes.
//
// What RESP2 lacks goes out as the type that Redis uses there; each function says which. Nothing
// is allocated but the string.
class Writer {
public:
    Writer(std::string& out, Protocol protocol) noexcept : out_(out), protocol_(protocol) {}

    [[nodiscard]] Protocol protocol() const noexcept { return protocol_; }

    // Lines: CR and LF in the text become blanks, so that no text can end the line and begin a
    // reply of its own. An error begins with its code word and has no '-'.
    void simple_string(std::string_view text);
    void error(std::string_view code_and_text);

    void integer(std::int64_t value);
    void bulk(std::string_view bytes);

    void null();               // RESP2: null bulk string
    void boolean(bool value);  // RESP2: integer 1 or 0
    void real(double value);   // RESP2: bulk string; shortest text that reads back the same
    void verbatim(std::string_view text);  // "txt"; RESP2: bulk string

    void array(std::size_t count);
    void map(std::size_t pairs);   // RESP2: array of 2 * pairs
    void set(std::size_t count);   // RESP2: array
    void push(std::size_t count);  // RESP2: array

private:
    void line(char type, std::string_view text);
    [[nodiscard]] bool is_resp3() const noexcept { return protocol_ == Protocol::resp3; }

    std::string& out_;
    Protocol protocol_;
};

}  // namespace latchd::resp
