// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace latchd::config {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

// From the largest, so that formatting finds the shortest text first.
constexpr std::array<Unit, 4> size_units{{
    {"GiB", 1ULL << 30},
    {"MiB", 1ULL << 20},
    {"KiB", 1ULL << 10},
    {"B", 1},
}};
constexpr std::array<Unit, 5> duration_units{{
    {"h", 3'600'000'000},
    {"m", 60'000'000},
    {"s", 1'000'000},
    {"ms", 1'000},
    {"us", 1},
}};
constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::size_t count_digits(std::string_view text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    return static_cast<std::size_t>(end - text.begin());
}

struct Kind {
    std::string_view noun;
    std::string_view example;  // how it is written
    std::string_view advice;   // for a bare number: two units to choose from
    std::string_view advice_small;
};

template <std::size_t N>
Parsed<std::uint64_t> parse_with_unit(std::string_view text,
                                      const std::array<Unit, N>& units,
                                      const Kind& kind) {
    using Result = Parsed<std::uint64_t>;
    const auto digits = text.substr(0, count_digits(text));
    const auto suffix = text.substr(digits.size());
    if (digits.empty()) {
        return Result::failure(in_quotes(text) + " is not a " + std::string(kind.noun) +
                               "; write " + std::string(kind.example));
    }
    const auto number = parse_count(digits);
    if (!number) return number;
    if (suffix.empty()) {
        const std::string value(digits);
        return Result::failure(in_quotes(text) + " has no unit; write '" + value +
                               std::string(kind.advice) + "' or '" + value +
                               std::string(kind.advice_small) + "'");
    }
    const auto unit =
        std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == suffix; });
    if (unit == units.end()) {
        std::string names;
        for (auto u = units.rbegin(); u != units.rend(); ++u) {
            names += (names.empty() ? "" : ", ") + std::string(u->name);
        }
        return Result::failure(in_quotes(text) + " has no unit that is known; write one of " +
                               names + " after a whole number");
    }
    if (*number.value > largest / unit->factor) {
        return Result::failure(in_quotes(text) + " is too large");
    }
    return *number.value * unit->factor;
}

template <std::size_t N>
std::string format_with_unit(std::uint64_t value,
                             const std::array<Unit, N>& units,
                             std::string_view unit_of_zero) {
    if (value == 0) return "0" + std::string(unit_of_zero);
    for (const auto& unit : units) {
        if (value % unit.factor == 0) {
            return std::to_string(value / unit.factor) + std::string(unit.name);
        }
    }
    return std::to_string(value);
}

Parsed<std::uint16_t> parse_port(std::string_view text) {
    const auto number = parse_count(text);
    if (!number || *number.value > 65535) {
        return Parsed<std::uint16_t>::failure("port " + in_quotes(text) +
                                              " is not a number from 0 to 65535");
    }
    return static_cast<std::uint16_t>(*number.value);
}

bool is_host_byte(char c) noexcept {
    return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
}
bool is_v6_byte(char c) noexcept {
    return is_letter(c) || is_digit(c) || c == ':' || c == '.' || c == '%';
}

}  // namespace

std::string in_quotes(std::string_view text) {
    constexpr std::size_t readable = 80;
    std::string out = "'";
    for (const char c : text.substr(0, readable)) {
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    if (text.size() > readable) out += "...";
    return out + "'";
}

Parsed<std::uint64_t> parse_count(std::string_view text) {
    using Result = Parsed<std::uint64_t>;
    if (text.empty() || count_digits(text) != text.size()) {
        return Result::failure(in_quotes(text) + " is not a whole number");
    }
    if (text.size() > 1 && text.front() == '0') {
        return Result::failure(in_quotes(text) + " begins with a zero; write it without");
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value > largest) {
        return Result::failure(in_quotes(text) + " is too large");
    }
    return value;
}

Parsed<std::uint64_t> parse_size(std::string_view text) {
    return parse_with_unit(text, size_units, {"size", "for example '64KiB'", "KiB", "B"});
}

Parsed<Duration> parse_duration(std::string_view text) {
    const auto count =
        parse_with_unit(text, duration_units, {"duration", "for example '250ms'", "s", "ms"});
    if (!count) return Parsed<Duration>::failure(count.error);
    return Duration(static_cast<Duration::rep>(*count.value));
}

Parsed<bool> parse_boolean(std::string_view text) {
    if (text == "true") return true;
    if (text == "false") return false;
    return Parsed<bool>::failure(in_quotes(text) + " is neither 'true' nor 'false'");
}

Parsed<Rate> parse_rate(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) {
        return Parsed<Rate>::failure(in_quotes(text) + " is not a rate; write for example '10/5s'");
    }
    const auto count = parse_count(text.substr(0, slash));
    if (!count) return Parsed<Rate>::failure(count.error);
    const auto per = parse_duration(text.substr(slash + 1));
    if (!per) return Parsed<Rate>::failure(per.error);
    constexpr auto per_max = std::chrono::hours(1);
    if (*count.value < 1 || *count.value > 1'000'000 || *per.value <= Duration{0} ||
        *per.value > per_max) {
        return Parsed<Rate>::failure(in_quotes(text) +
                                     " is out of range; from 1 to 1000000 lines in up to 1h");
    }
    return Rate{static_cast<std::uint32_t>(*count.value), *per.value};
}

bool is_name_byte(char c) noexcept {
    return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == ':' || c == '-';
}

Parsed<std::string> parse_name(std::string_view text) {
    if (text.empty() || text.size() > 64 || !std::all_of(text.begin(), text.end(), is_name_byte)) {
        return Parsed<std::string>::failure(in_quotes(text) +
                                            " is not a name: 1 to 64 of A-Z a-z 0-9 _ . : -");
    }
    return std::string(text);
}

Parsed<std::string> parse_socket_path(std::string_view path) {
    constexpr std::size_t longest = 107;  // sun_path with its closing zero
    if (!path.starts_with('/') || path.size() > longest ||
        path.find('\0') != std::string_view::npos) {
        return Parsed<std::string>::failure(in_quotes(path) +
                                            " is not an absolute socket path of at most 107 bytes");
    }
    return std::string(path);
}

Parsed<Address> parse_host(std::string_view text, std::uint16_t port_default) {
    using Result = Parsed<Address>;
    Address address;
    std::string_view rest;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos) return Result::failure(in_quotes(text) + " lacks ']'");
        address.host = text.substr(1, close - 1);
        rest = text.substr(close + 1);
        if (address.host.find(':') == std::string::npos ||
            !std::all_of(address.host.begin(), address.host.end(), is_v6_byte)) {
            return Result::failure(in_quotes(address.host) + " is not an IPv6 address");
        }
    } else {
        const auto colon = std::min(text.find(':'), text.size());
        address.host = text.substr(0, colon);
        rest = text.substr(colon);
        if (rest.find(':', 1) != std::string_view::npos) {
            return Result::failure(in_quotes(text) +
                                   " has several colons; write IPv6 as '[address]:port'");
        }
        if (address.host.empty()) return Result::failure(in_quotes(text) + " names no host");
        if (address.host.size() > 253 ||
            !std::all_of(address.host.begin(), address.host.end(), is_host_byte)) {
            return Result::failure(in_quotes(address.host) + " is not a host");
        }
    }
    address.port = port_default;
    if (rest.empty()) return address;
    if (rest.front() != ':') return Result::failure(in_quotes(text) + " has text after ']'");
    const auto port = parse_port(rest.substr(1));
    if (!port) return Result::failure(port.error);
    address.port = *port.value;
    return address;
}

Parsed<Address> parse_address(std::string_view text) {
    constexpr std::string_view unix_prefix = "unix:";
    if (text.starts_with(unix_prefix)) {
        auto path = parse_socket_path(text.substr(unix_prefix.size()));
        if (!path) return Parsed<Address>::failure(path.error);
        return Address{.host = {}, .port = 0, .path = std::move(*path.value)};
    }
    auto address = parse_host(text, 0);
    const bool port_absent = text.ends_with(']') || text.find(':') == std::string_view::npos;
    if (address && port_absent) {
        return Parsed<Address>::failure(in_quotes(text) +
                                        " has no port; write 'host:port' or 'unix:/path'");
    }
    return address;
}

Parsed<std::string> parse_database(std::string_view text) {
    constexpr std::size_t longest = 64;
    const bool all_good = std::all_of(text.begin(), text.end(), [](char c) {
        return is_digit(c) || is_letter(c) || c == '_' || c == '$' || c == '-';
    });
    if (!text.empty() && text.size() <= longest && all_good) return std::string(text);
    return Parsed<std::string>::failure(in_quotes(text) +
                                        " is not a database: 1 to 64 of A-Z a-z 0-9 _ $ -");
}

std::optional<std::uint32_t> parse_redis_database(std::string_view text) {
    constexpr std::uint64_t most = 65'535;
    const auto number = parse_count(text);
    if (!number || *number.value > most) return std::nullopt;
    return static_cast<std::uint32_t>(*number.value);
}

Parsed<LogTarget> parse_log_target(std::string_view text) {
    if (text == "auto") return LogTarget{LogTarget::Kind::automatic, {}};
    if (text == "journal") return LogTarget{LogTarget::Kind::journal, {}};
    if (text == "stderr") return LogTarget{LogTarget::Kind::standard_error, {}};
    if (text.starts_with("file:/")) {
        return LogTarget{LogTarget::Kind::file, std::string(text.substr(5))};
    }
    return Parsed<LogTarget>::failure(in_quotes(text) +
                                      " is not one of auto, journal, stderr, file:/path");
}

std::string format_size(std::uint64_t bytes) { return format_with_unit(bytes, size_units, "B"); }

std::string format_duration(Duration duration) {
    return format_with_unit(static_cast<std::uint64_t>(duration.count()), duration_units, "s");
}

std::string format_log_target(const LogTarget& target) {
    switch (target.kind) {
        case LogTarget::Kind::automatic:
            return "auto";
        case LogTarget::Kind::journal:
            return "journal";
        case LogTarget::Kind::standard_error:
            return "stderr";
        case LogTarget::Kind::file:
            break;
    }
    return "file:" + target.path;
}

}  // namespace latchd::config
