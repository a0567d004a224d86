// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text.hpp"

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>
#include <latchd/command/dispatcher.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// Reading of arguments with a limit on everything. Each function answers nullopt when all is
// well, else the whole error text, which names the input, what would have been right, and so the
// way out.
namespace latchd::command {

using Complaint = std::optional<std::string>;

inline constexpr std::size_t resource_bytes_max = 64;
inline constexpr std::size_t id_bytes_max = 128;
inline constexpr std::size_t name_bytes_max = 64;  // owner, request id, token
inline constexpr std::size_t trace_bytes_max = 128;
inline constexpr std::size_t pattern_bytes_max = 256;
inline constexpr std::uint64_t exact_max = (std::uint64_t{1} << 53) - 1;

// A whole number in a range. What is above `max` but a number at all becomes `max` if `cuts`.
struct Range {
    std::uint64_t min = 1;
    std::uint64_t max = exact_max;
    std::string_view unit = {};  // "milliseconds"
    bool cuts = false;
};

[[nodiscard]] Complaint read_number(std::string_view option,
                                    std::string_view input,
                                    const Range& range,
                                    std::uint64_t& value);
[[nodiscard]] Complaint read_ms(std::string_view option,
                                std::string_view input,
                                const Range& range,
                                std::optional<Duration>& value);

[[nodiscard]] Complaint check_resource(std::string_view input);
// Any bytes, 1 to `bytes_max` of them. `what`: "id", "OWNER", …
[[nodiscard]] Complaint check_bytes(std::string_view what,
                                    std::string_view input,
                                    std::size_t bytes_max);
[[nodiscard]] Complaint check_printable(std::string_view what,
                                        std::string_view input,
                                        std::size_t bytes_max);
// args[1] and args[2].
[[nodiscard]] Complaint read_key(Arguments args, LockKey& key);

struct Option {
    std::string_view name;   // upper case
    std::string_view value;  // what its value is, for the error; empty: it takes none
};

[[nodiscard]] std::string unknown_option(std::string_view command,
                                         std::string_view input,
                                         std::span<const Option> options);
[[nodiscard]] std::string missing_value(const Option& option);
[[nodiscard]] std::string option_twice(const Option& option);

// Options in any order and letter case, each at most once. apply(name, value) -> Complaint.
template <class Apply>
[[nodiscard]] Complaint read_options(std::string_view command,
                                     Arguments args,
                                     std::span<const Option> options,
                                     Apply&& apply) {
    std::uint64_t seen = 0;
    for (std::size_t at = 0; at < args.size(); ++at) {
        std::size_t index = 0;
        while (index < options.size() && !equals_ignoring_case(options[index].name, args[at])) {
            ++index;
        }
        if (index == options.size()) return unknown_option(command, args[at], options);
        const Option& option = options[index];
        const std::uint64_t bit = std::uint64_t{1} << index;
        if ((seen & bit) != 0) return option_twice(option);
        seen |= bit;
        std::string_view value;
        if (!option.value.empty()) {
            if (++at == args.size()) return missing_value(option);
            value = args[at];
        }
        if (Complaint complaint = apply(option.name, value)) return complaint;
    }
    return std::nullopt;
}

}  // namespace latchd::command
