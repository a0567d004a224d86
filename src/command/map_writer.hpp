// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/writer.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace latchd::command {

class MapWriter {
public:
    MapWriter(resp::Writer reply, std::size_t pairs) : reply_(reply) { reply_.map(pairs); }
    void text(std::string_view name, std::string_view value) {
        reply_.bulk(name);
        reply_.bulk(value);
    }
    void number(std::string_view name, std::uint64_t value) {
        reply_.bulk(name);
        reply_.integer(static_cast<std::int64_t>(value));
    }

private:
    resp::Writer reply_;
};

[[nodiscard]] inline std::string_view or_dash(std::string_view text) noexcept {
    return text.empty() ? "-" : text;
}

}  // namespace latchd::command
