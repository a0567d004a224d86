// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/config/address.hpp>
#include <latchd/config/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The texts that values are written in, to and fro.
namespace latchd::config {

// A value, or what is wrong with the text.
template <class T>
struct Parsed {
    std::optional<T> value;
    std::string error;

    Parsed(T v) : value(std::move(v)) {}  // NOLINT(google-explicit-constructor)
    static Parsed failure(std::string why) { return Parsed(std::move(why), 0); }
    explicit operator bool() const noexcept { return value.has_value(); }

private:
    Parsed(std::string why, int) : error(std::move(why)) {}
};

// The text in single quotes, cut to a readable length, control bytes replaced.
[[nodiscard]] std::string in_quotes(std::string_view text);

// Digits only: no sign, no leading zero.
[[nodiscard]] Parsed<std::uint64_t> parse_count(std::string_view text);
// Digits and one of B, KiB, MiB, GiB.
[[nodiscard]] Parsed<std::uint64_t> parse_size(std::string_view text);
// Digits and one of us, ms, s, m, h.
[[nodiscard]] Parsed<Duration> parse_duration(std::string_view text);
[[nodiscard]] Parsed<bool> parse_boolean(std::string_view text);
// `10/5s`
[[nodiscard]] Parsed<Rate> parse_rate(std::string_view text);
// 1-64 bytes of [A-Za-z0-9_.:-]
[[nodiscard]] Parsed<std::string> parse_name(std::string_view text);
[[nodiscard]] bool is_name_byte(char c) noexcept;
// `host:port`, `[v6]:port`, `unix:/path`
[[nodiscard]] Parsed<Address> parse_address(std::string_view text);
// As parse_address, but where the port may be left out.
[[nodiscard]] Parsed<Address> parse_host(std::string_view text, std::uint16_t port_default);
[[nodiscard]] Parsed<std::string> parse_socket_path(std::string_view path);
// Redis's number or MySQL's name: 1-64 bytes of [A-Za-z0-9_$-]
[[nodiscard]] Parsed<std::string> parse_database(std::string_view text);
[[nodiscard]] std::optional<std::uint32_t> parse_redis_database(std::string_view text);
// auto, journal, stderr, file:/path
[[nodiscard]] Parsed<LogTarget> parse_log_target(std::string_view text);

// The shortest text that the parser reads back as the same value.
[[nodiscard]] std::string format_size(std::uint64_t bytes);
[[nodiscard]] std::string format_duration(Duration duration);
[[nodiscard]] std::string format_log_target(const LogTarget& target);

}  // namespace latchd::config
