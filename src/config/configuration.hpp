// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/config/diagnostic.hpp>
#include <latchd/config/options.hpp>
#include <latchd/config/surroundings.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchd::config {

// A configuration while it is put together: the options, where each came from and what is wrong.
struct Configuration {
    Options options;
    std::string file;  // empty: none was read
    // By full path: `stores[0].check.inter`, and the sections and list elements themselves. What
    // is missing here has its default.
    std::map<std::string, Origin, std::less<>> origins;
    Diagnostics diagnostics;

    // The origin of a path or, where nobody wrote it, of the nearest section around it.
    [[nodiscard]] Origin origin_near(std::string_view path) const;
    [[nodiscard]] bool is_set(std::string_view path) const { return origins.contains(path); }
    void error(Origin origin, std::string text);
    void warning(Origin origin, std::string text);
    // The same at origin_near(path), with the path in front.
    void error_at(std::string_view path, std::string_view text);
    void warning_at(std::string_view path, std::string_view text);
};

// Values of the command line, in the order given. A list replaces the file's as a whole.
struct Override {
    std::string option;  // as typed: `--store`
    std::string path;    // of the key; of list elements with their index: `stores[0].url`
    std::string text;
};

// Everything from the file and the overrides to checked options; the order of `diagnostics` is
// that of the file, the command line last. `file` empty: no file. Does not throw.
[[nodiscard]] Configuration configure(const std::string& file,
                                      const std::vector<Override>& overrides,
                                      const Surroundings& surroundings);

// The steps of configure(), each adding to the configuration.
void apply_file(const std::string& text,
                const Surroundings& surroundings,
                Configuration& configuration);
void apply_overrides(const std::vector<Override>& overrides, Configuration& configuration);
void complete(const Surroundings& surroundings, Configuration& configuration);
void read_named_files(const Surroundings& surroundings, Configuration& configuration);
void validate(Configuration& configuration);

// Every key with its value and a comment that says where that came from; valid YAML.
[[nodiscard]] std::string dump(const Configuration& configuration);
// docs/configuration.md.
[[nodiscard]] std::string reference();

}  // namespace latchd::config
