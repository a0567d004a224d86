// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "append_number.hpp"

#include <latchd/resp/command_writer.hpp>

namespace latchd::resp {

void append_command(std::string& out, std::span<const std::string_view> arguments) {
    CommandWriter writer(out, arguments.size());
    for (const std::string_view bytes : arguments) {
        writer.argument(bytes);
    }
}

void append_command(std::string& out, std::initializer_list<std::string_view> arguments) {
    append_command(out, std::span(arguments.begin(), arguments.size()));
}

CommandWriter::CommandWriter(std::string& out, std::size_t argument_count) : out_(out) {
    append_number_line(out, '*', argument_count);
}

CommandWriter& CommandWriter::argument(std::string_view bytes) {
    append_bulk(out_, bytes);
    return *this;
}

CommandWriter& CommandWriter::argument(std::int64_t number) {
    char text[24];
    const char* end = std::to_chars(text, text + sizeof text, number).ptr;
    append_bulk(out_, {text, end});
    return *this;
}

}  // namespace latchd::resp
