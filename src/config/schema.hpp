// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/config/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// The one table of keys. The file's validator, the command line, the dump and
// docs/configuration.md all come from it.
namespace latchd::config {

// Where keys stand: the options, and for keys inside a list which of its elements.
struct Scope {
    Options& options;
    std::size_t index = 0;
};

enum class Type : std::uint8_t {
    boolean,     // true, false
    count,       // whole number
    size,        // bytes with a unit
    duration,    // time with a unit
    rate,        // lines in a time
    name,        // 1-64 of [A-Za-z0-9_.:-]
    text,        // anything
    secret,      // anything, never shown
    path,        // absolute path
    address,     // host:port or unix:/path
    choice,      // one of some words
    log_target,  // auto, journal, stderr, file:/path
    database,    // of a store: Redis's number, MySQL's name
    store_url,   // stands for type, address, username, password, database
};

enum class Applies : std::uint8_t {
    at_restart,   // read when the node starts
    at_run_time,  // and RESOURCE SET changes it while the node runs
};

// The store types that a key is for.
enum class StoreKeys : std::uint8_t { all, servers, redis, mysql, local };

using Field = std::variant<bool*,
                           std::uint32_t*,
                           std::size_t*,
                           Duration*,
                           std::optional<std::uint32_t>*,
                           std::optional<std::uint64_t>*,
                           std::optional<Duration>*,
                           std::string*,
                           Secret*,
                           Address*,
                           StoreKind*,
                           std::optional<Degrade>*,
                           Safety*,
                           Strategy*,
                           Tls*,
                           LogLevel*,
                           LogTarget*,
                           Rate*,
                           Store*>;

// Both ends belong to it; microseconds, bytes or a plain count, by the type of the key.
struct Range {
    std::uint64_t min = 0;
    std::uint64_t max = 0;
};

struct Key {
    std::string_view path;  // `stores[].check.inter`: `[]` stands for each element of a list
    Type type;
    Field (*field)(Scope);
    std::string_view meaning;
    Range range{};
    std::string_view default_text{};  // where the default isn't a constant
    bool required = false;
    bool empty_is_default = false;
    StoreKeys store_keys = StoreKeys::all;
    Applies applies = Applies::at_restart;
};

// All keys, those of a section next to each other.
[[nodiscard]] std::span<const Key> all_keys();
// nullptr: no such key.
[[nodiscard]] const Key* find_key(std::string_view path);
[[nodiscard]] bool is_list(std::string_view path);
// The names directly under a section or a list's element (`stores[]`), in the table's order.
[[nodiscard]] std::vector<std::string_view> names_under(std::string_view path);
// `path.name`, or `name` at the top.
[[nodiscard]] std::string join(std::string_view path, std::string_view name);

// Reads `text` into the key's field. Returns what is wrong with it, empty if nothing is; then the
// field is unchanged. A secret is never part of the answer.
[[nodiscard]] std::string set_field(const Key& key, Scope scope, std::string_view text);
// The field as the file writes it; nothing if it is unset. A secret that is set is `***`.
[[nodiscard]] std::optional<std::string> get_field(const Key& key, Scope scope);
// "100ms to 24h"; empty where the type has none.
[[nodiscard]] std::string describe_range(const Key& key);
// "duration", "one of none, mysql, local", ...
[[nodiscard]] std::string describe_type(const Key& key);
[[nodiscard]] std::string_view word_of(StoreKind kind);
// Whether a key means anything for a store of this type.
[[nodiscard]] bool is_for(StoreKeys keys, StoreKind kind) noexcept;

}  // namespace latchd::config
