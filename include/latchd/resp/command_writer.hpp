// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace latchd::resp {

// Appends a command for a server: an array of bulk strings, any bytes.
void append_command(std::string& out, std::span<const std::string_view> arguments);
void append_command(std::string& out, std::initializer_list<std::string_view> arguments);

// The same piece by piece, for commands whose arguments are numbers or are computed: as many
// arguments must follow as were announced.
class CommandWriter {
public:
    CommandWriter(std::string& out, std::size_t argument_count);

    CommandWriter& argument(std::string_view bytes);
    CommandWriter& argument(std::int64_t number);  // as decimal text

private:
    std::string& out_;
};

}  // namespace latchd::resp
