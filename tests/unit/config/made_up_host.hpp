// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/config/surroundings.hpp>

#include <map>
#include <string>

namespace latchd::config {

// A host that exists in the test alone.
struct MadeUpHost {
    std::map<std::string, std::string> variables{{"HOME", "/home/ada"}};
    std::map<std::string, FileContent> files;

    void put(const std::string& path, const std::string& text, std::uint32_t mode = 0100640) {
        files[path] = {FileContent::Status::read, text, mode, ""};
    }

    [[nodiscard]] Surroundings surroundings() const {
        return {
            .variable = [this](const std::string& name) -> std::optional<std::string> {
                const auto it = variables.find(name);
                if (it == variables.end()) return std::nullopt;
                return it->second;
            },
            .read_file =
                [this](const std::string& path) {
                    const auto it = files.find(path);
                    if (it != files.end()) return it->second;
                    return FileContent{FileContent::Status::missing, "", 0, "no such file"};
                },
            .host_name = "alpha",
            .user_id = 1000,
        };
    }
};

}  // namespace latchd::config
