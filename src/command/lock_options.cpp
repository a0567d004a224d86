// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "lock_options.hpp"

#include <array>

namespace latchd::command {
namespace {

constexpr std::string_view milliseconds = "milliseconds";
constexpr std::string_view ms_value = "a whole number of milliseconds";
constexpr std::string_view s_value = "a whole number of seconds";

constexpr std::array lock_options = {
    Option{"PX", ms_value},
    Option{"EX", s_value},
    Option{"WAIT", ms_value},
    Option{"OWNER", "a name of 1 to 64 bytes"},
    Option{"REQ", "a request id of 1 to 64 bytes"},
    Option{"KEEP", {}},
    Option{"ONCLOSE", "RELEASE"},
    Option{"MAXHOLD", ms_value},
    Option{"EXPECT", ms_value},
    Option{"DELAY", ms_value},
    Option{"TRACE", "an id of 1 to 128 printable bytes"},
    Option{"REQUIRE", "redis, shared or any"},
};

constexpr std::array renew_options = {
    Option{"PX", ms_value},
    Option{"EX", s_value},
    Option{"KEEP", {}},
};

constexpr std::array list_options = {
    Option{"FLEET", {}},
    Option{"MATCH", "a pattern over resource:id"},
    Option{"COUNT", "a whole number"},
    Option{"CURSOR", "the cursor of the reply before"},
};

std::uint64_t ms_of(Duration duration) noexcept {
    return static_cast<std::uint64_t>(to_ms(duration));
}

Complaint both_units(std::optional<Duration> ttl) {
    if (!ttl) return std::nullopt;
    return "ERR PX and EX are both given: one of them is enough";
}

Complaint read_require(std::string_view input, core::Require& require) {
    static constexpr std::array<std::pair<std::string_view, core::Require>, 3> words = {{
        {"redis", core::Require::redis},
        {"shared", core::Require::shared},
        {"any", core::Require::any},
    }};
    for (const auto& [word, value] : words) {
        if (equals_ignoring_case(word, input)) {
            require = value;
            return std::nullopt;
        }
    }
    return "ERR REQUIRE " + quoted(input) + ": redis, shared or any is needed";
}

Complaint read_name(std::string_view option, std::string_view value, core::LockCommand& into) {
    if (Complaint complaint = check_bytes(option, value, name_bytes_max)) return complaint;
    if (option == "OWNER") {
        into.owner = OwnerName(value);
    } else {
        into.request = RequestId(value);
    }
    return std::nullopt;
}

Complaint read_wait(const Limits& limits, std::string_view value, Duration& wait) {
    std::uint64_t ms = 0;
    const Range range{.min = 0, .max = ms_of(limits.wait_max), .unit = milliseconds};
    if (Complaint complaint = read_number("WAIT", value, range, ms)) {
        // Elsewhere 0 means for ever.
        return *complaint + " (0: answer at once)";
    }
    wait = from_ms(static_cast<std::int64_t>(ms));
    return std::nullopt;
}

Complaint apply_lock(const Limits& limits,
                     std::string_view name,
                     std::string_view value,
                     core::LockCommand& into) {
    if (name == "PX" || name == "EX") {
        if (Complaint complaint = both_units(into.ttl)) return complaint;
        return read_ttl(limits, name, value, into.ttl);
    }
    if (name == "WAIT") return read_wait(limits, value, into.wait);
    if (name == "OWNER" || name == "REQ") return read_name(name, value, into);
    if (name == "KEEP") {
        into.keep = true;
        return std::nullopt;
    }
    if (name == "ONCLOSE") {
        into.release_on_close = equals_ignoring_case(value, "RELEASE");
        if (into.release_on_close) return std::nullopt;
        return "ERR ONCLOSE " + quoted(value) + ": RELEASE is needed";
    }
    if (name == "MAXHOLD") {
        const Range range{ms_of(limits.ttl_min), hold_ms_max, milliseconds};
        return read_ms(name, value, range, into.hold_max);
    }
    if (name == "EXPECT") return read_ms(name, value, {1, hold_ms_max, milliseconds}, into.expect);
    if (name == "DELAY") {
        return read_ms(name, value, {1, ms_of(limits.delay_max), milliseconds}, into.delay);
    }
    if (name == "REQUIRE") return read_require(value, into.require);
    if (Complaint complaint = check_printable(name, value, trace_bytes_max)) return complaint;
    into.trace = std::string(value);
    return std::nullopt;
}

}  // namespace

Complaint read_ttl(const Limits& limits,
                   std::string_view option,
                   std::string_view input,
                   std::optional<Duration>& ttl) {
    const bool in_seconds = option == "EX";
    const std::uint64_t unit = in_seconds ? 1000 : 1;
    const Range range{.min = (ms_of(limits.ttl_min) + unit - 1) / unit,
                      .max = ms_of(limits.ttl_max) / unit,
                      .unit = in_seconds ? std::string_view("seconds") : milliseconds,
                      .cuts = true};
    std::uint64_t number = 0;
    if (Complaint complaint = read_number(option, input, range, number)) return complaint;
    ttl = from_ms(static_cast<std::int64_t>(number * unit));
    return std::nullopt;
}

Complaint read_lock(const Limits& limits, Arguments args, core::LockCommand& into) {
    if (Complaint complaint = read_key(args, into.key)) return complaint;
    Complaint complaint = read_options(
        "LOCK", args.subspan(3), lock_options, [&](std::string_view name, std::string_view value) {
            return apply_lock(limits, name, value, into);
        });
    if (!complaint && into.release_on_close && !into.keep) {
        return "ERR ONCLOSE RELEASE without KEEP: give KEEP too, or neither";
    }
    return complaint;
}

Complaint read_renew(const Limits& limits, Arguments args, core::RenewCommand& into) {
    if (Complaint complaint = read_key(args, into.key)) return complaint;
    if (Complaint complaint = check_bytes("token", args[3], name_bytes_max)) return complaint;
    into.token = Token(args[3]);
    return read_options("RENEW",
                        args.subspan(4),
                        renew_options,
                        [&](std::string_view name, std::string_view value) -> Complaint {
                            if (name == "KEEP") {
                                into.keep = true;
                                return std::nullopt;
                            }
                            if (Complaint complaint = both_units(into.ttl)) return complaint;
                            return read_ttl(limits, name, value, into.ttl);
                        });
}

Complaint read_list(Arguments args, core::ListCommand& into) {
    return read_options(
        "LOCKS",
        args.subspan(1),
        list_options,
        [&](std::string_view name, std::string_view value) -> Complaint {
            if (name == "FLEET") {
                into.fleet = true;
                return std::nullopt;
            }
            if (name == "MATCH") {
                if (Complaint complaint = check_bytes(name, value, pattern_bytes_max)) {
                    return complaint;
                }
                into.pattern = std::string(value);
                return std::nullopt;
            }
            std::uint64_t number = 0;
            const bool is_count = name == "COUNT";
            const Range range{.min = is_count ? 1u : 0u,
                              .max = is_count ? 1000 : ~std::uint64_t{0}};
            if (Complaint complaint = read_number(name, value, range, number)) return complaint;
            if (is_count) {
                into.count = static_cast<std::uint32_t>(number);
            } else {
                into.cursor = number;
            }
            return std::nullopt;
        });
}

}  // namespace latchd::command
