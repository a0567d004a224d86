// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace latchd::store::mysql {

// What an error means for what was asked, and so what is done about it. Each is a row of the table
// in errors.cpp.
enum class ErrorClass : std::uint8_t {
    // Not executed, and the connection goes on:
    duplicate,      // 1062: the row is there already
    busy,           // 1205: a row lock was waited for too long. Never evidence of a dead server
    deadlock,       // 1213: the transaction was rolled back; to be tried again
    interrupted,    // 1317 …: stopped by somebody; to be tried again, or busy
    configuration,  // 1045, 1142, 1146, 1054 …: an operator has to do something
    refused,        // any other no
    // Not executed, and another connection is needed:
    read_only,  // 1290 …: not the server that may keep locks; look who it is
    full,       // 1040 …: no connection to be had; says nothing about the server's health
    unsent,     // it never left: no connection, nobody listens, closed before
    // Nobody knows whether it was executed; the connection is closed:
    unknown,  // 2013, 1053, time-out, end of file after it was sent
    // Ours to repair; the connection is closed:
    misuse,  // 2014
};

struct Error {
    unsigned code = 0;     // the server's or the library's; 0: the connection's own (a time-out)
    std::string sqlstate;  // empty: the server gave none
    std::string text;
    ErrorClass kind = ErrorClass::refused;
    bool is_refusal = false;  // nobody listens there: evidence at once

    // It can't have been executed, and can't be any more.
    [[nodiscard]] bool is_definite() const noexcept {
        return kind != ErrorClass::unknown && kind != ErrorClass::misuse;
    }
    // The connection is of no further use.
    [[nodiscard]] bool ends_connection() const noexcept { return kind >= ErrorClass::read_only; }
};

// The class of an error that the server answered, or that the library reports for a statement that
// has begun to be sent.
[[nodiscard]] ErrorClass class_of(unsigned code) noexcept;

// Of a failed connect: nothing was executed, whatever happened.
[[nodiscard]] ErrorClass class_of_connect(unsigned code) noexcept;

// A failed connect because nobody listens there. `text`: the library's, which alone has the number.
[[nodiscard]] bool is_refusal(unsigned code, std::string_view text) noexcept;

// "1213 (40001): Deadlock found …"
[[nodiscard]] std::string describe(const Error& error);

}  // namespace latchd::store::mysql
