// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/config/diagnostic.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace latchd::config {

// A YAML document as it stands in the file: with positions, with duplicate keys, every scalar as
// its text. Nothing is interpreted here.
struct YamlNode {
    enum class Kind : std::uint8_t {
        null,      // nothing, `~` or `null`
        scalar,    // `text`
        sequence,  // `values`
        map,       // `keys` and `values`, same length
    };
    Kind kind = Kind::null;
    Origin origin;
    std::string text;
    std::vector<YamlNode> keys;
    std::vector<YamlNode> values;
};

// Reads one document. Syntax errors, anchors, aliases, tags and a second document are added to
// `diagnostics`; the node is then only what could be read.
[[nodiscard]] YamlNode read_yaml(const std::string& text, Diagnostics& diagnostics);

}  // namespace latchd::config
