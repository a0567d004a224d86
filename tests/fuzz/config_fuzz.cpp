// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// Any bytes as a configuration file: it is refused or accepted, never a crash; and what is
// accepted is dumped as a file that is accepted too.
#include "configuration.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

using namespace latchd::config;

namespace {

Configuration load(const std::string& text) {
    const Surroundings surroundings{
        .variable = [](const std::string&) { return std::optional<std::string>("x"); },
        .read_file =
            [&](const std::string& path) {
                const bool is_config = path == "c.yaml";
                return FileContent{
                    FileContent::Status::read, is_config ? text : "p\n", 0100600, ""};
            },
        .host_name = "h",
        .user_id = 1,
    };
    return configure("c.yaml", {}, surroundings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto first = load(std::string(reinterpret_cast<const char*>(data), size));
    (void)render(first.diagnostics, first.file);
    if (has_errors(first.diagnostics)) return 0;
    const auto text = dump(first);
    if (has_errors(load(text).diagnostics)) std::abort();
    return 0;
}
