// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace latchd::config {

struct FileContent {
    enum class Status : std::uint8_t {
        read,     // `text` and `mode` are set
        missing,  // there is no such file
        failed,   // it can't be read, `error` says why
    };
    Status status = Status::missing;
    std::string text;
    std::uint32_t mode = 0;  // st_mode
    std::string error;
};

// Everything of the host that the configuration depends on, so that tests can make it up.
struct Surroundings {
    std::function<std::optional<std::string>(const std::string& name)> variable;
    std::function<FileContent(const std::string& path)> read_file;
    std::string host_name;
    std::uint32_t user_id = 0;
};

// The real ones. Files above 1 MiB are not read.
[[nodiscard]] Surroundings system_surroundings();

}  // namespace latchd::config
