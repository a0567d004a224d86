// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "crc32c.hpp"
#include "format.hpp"
#include "posix.hpp"

#include <latchd/journal/state.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <stdio.h>
#include <unistd.h>
#include <utility>

namespace latchd::journal {
namespace {

constexpr const char* file_name = "state";
constexpr const char* spare_file_name = "state.new";
constexpr std::string_view first_line = "latchd-state ";
constexpr std::string_view version = "1";
constexpr std::string_view checksum_key = "checksum ";
constexpr std::size_t file_bytes_max = 1 << 20;
constexpr Epoch epoch_end = Epoch{1} << 21;

std::string escaped(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string line;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f && c != '%') {
            line += c;
            continue;
        }
        line += '%';
        line += digits[byte >> 4];
        line += digits[byte & 0xf];
    }
    return line;
}

template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::string> unescaped(std::string_view line) {
    std::string text;
    for (std::size_t at = 0; at < line.size(); ++at) {
        if (line[at] != '%') {
            text += line[at];
            continue;
        }
        const auto byte = number<unsigned char>(line.substr(at + 1, 2), 16);
        if (!byte || at + 2 >= line.size()) return std::nullopt;
        text += static_cast<char>(*byte);
        at += 2;
    }
    return text;
}

std::string checksum_of(std::string_view text) {
    std::array<char, 9> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x", crc32c(std::as_bytes(std::span(text))));
    return digits.data();
}

template <class T>
bool assign(T& to, std::optional<T> value, T end) {
    if (!value || *value >= end) return false;
    to = *value;
    return true;
}

bool assign(std::string& to, std::optional<std::string> value) {
    if (!value) return false;
    to = std::move(*value);
    return true;
}

// A key that a later release may have added is passed over.
bool parse_line(std::string_view line, State& state) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return false;
    const std::string_view key = line.substr(0, space);
    const std::string_view value = line.substr(space + 1);
    if (key == "cluster") return assign(state.cluster, unescaped(value));
    if (key == "epoch") return assign(state.epoch, number<Epoch>(value), epoch_end);
    if (key == "local-fence-floor") {
        return assign(state.local_fence_floor, number<Fence>(value), fence_end);
    }
    if (key == "authority") return assign(state.authority, unescaped(value));
    if (key == "incarnation") {
        const auto incarnation = number<std::uint64_t>(value);
        state.incarnation = incarnation.value_or(0);
        return incarnation.has_value();
    }
    if (key == "boot") return assign(state.boot, unescaped(value));
    if (key == "journal") {
        state.has_journal = value == "yes";
        return state.has_journal || value == "no";
    }
    if (key == "arbiter-clock") {
        state.arbiter_clock_us = number<std::int64_t>(value);
        return state.arbiter_clock_us.has_value();
    }
    return true;
}

StateRead damaged(std::string what) {
    StateRead read;
    read.origin = StateRead::Origin::damaged;
    read.warning = "state taken as unknown: " + std::move(what);
    return read;
}

// Over what is there, whose room it so has on a full disk, too.
bool write_spare(int file, std::string_view text) noexcept {
    return write_all(file, text) && ::ftruncate(file, static_cast<off_t>(text.size())) == 0;
}

// The former file becomes the spare one. On a file system that can't exchange two names, and the
// first time, there is none any more, and one is made for the next time, if there is room.
bool replace_by_spare(int folder, std::string_view text) noexcept {
    if (::renameat2(folder, spare_file_name, folder, file_name, RENAME_EXCHANGE) == 0) return true;
    if (::renameat(folder, spare_file_name, folder, file_name) != 0) return false;
    const Descriptor spare = open_regular(folder, spare_file_name, O_WRONLY | O_CREAT);
    if (spare.is_open()) (void)write_spare(spare.get(), text);
    return true;
}

}  // namespace

std::string format_state(const State& state) {
    std::string text(first_line);
    text.append(version).append("\ncluster ").append(escaped(state.cluster));
    text.append("\nepoch ").append(std::to_string(state.epoch));
    text.append("\nlocal-fence-floor ").append(std::to_string(state.local_fence_floor));
    text.append("\nauthority ").append(escaped(state.authority)).append("\n");
    if (state.incarnation != 0) {
        text.append("incarnation ").append(std::to_string(state.incarnation)).append("\n");
    }
    if (!state.boot.empty()) text.append("boot ").append(escaped(state.boot)).append("\n");
    if (state.has_journal) text.append("journal yes\n");
    if (state.arbiter_clock_us) {
        text.append("arbiter-clock ").append(std::to_string(*state.arbiter_clock_us)).append("\n");
    }
    const std::string checksum = checksum_of(text);
    text.append(checksum_key).append(checksum).append("\n");
    return text;
}

StateRead parse_state(std::string_view text) {
    if (!text.starts_with(first_line)) return damaged("not a state file");
    const std::string_view found =
        text.substr(first_line.size(), text.find('\n') - first_line.size());
    if (found != version) return damaged("format version " + escaped(found.substr(0, 16)));
    const std::size_t last = text.rfind(checksum_key);
    if (last == std::string_view::npos || text[last - 1] != '\n' ||
        text.substr(last + checksum_key.size()) != checksum_of(text.substr(0, last)) + "\n") {
        return damaged("its checksum is wrong");
    }
    StateRead read;
    std::string_view lines = text.substr(0, last);
    lines.remove_prefix(lines.find('\n') + 1);
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n');
        if (!parse_line(lines.substr(0, end), read.state)) {
            return damaged("line '" + escaped(lines.substr(0, std::min(end, std::size_t{40}))) +
                           "'");
        }
        lines.remove_prefix(end + 1);
    }
    read.origin = StateRead::Origin::read;
    return read;
}

StateRead load_state(const NodeDirectory& directory) {
    const Descriptor file = open_regular(directory.fd(), file_name, O_RDONLY);
    if (!file.is_open()) return errno == ENOENT ? StateRead{} : damaged(failed("not opened"));
    const auto text = read_all(file.get(), file_bytes_max);
    return text ? parse_state(*text) : damaged(failed("not read"));
}

std::string save_state(const NodeDirectory& directory, const State& state) {
    const int folder = directory.fd();
    const std::string text = format_state(state);
    const Descriptor spare = open_regular(folder, spare_file_name, O_WRONLY | O_CREAT);
    if (!spare.is_open()) return failed("state not saved");
    if (!write_spare(spare.get(), text) || ::fsync(spare.get()) != 0) {
        return failed("state not written");
    }
    if (!replace_by_spare(folder, text)) return failed("state not replaced");
    if (::fsync(folder) != 0) return failed("state replaced, but perhaps not for good");
    return {};
}

}  // namespace latchd::journal
