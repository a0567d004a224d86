// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/time.hpp>
#include <latchd/config/address.hpp>
#include <latchd/config/secret.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What a node can be told. The initial values here are the defaults: the key table, the dump and
// docs/configuration.md read them from a default-constructed Options, so they are stated once.
namespace latchd::config {

inline constexpr std::size_t kibibyte = 1024;
inline constexpr std::size_t mebibyte = 1024 * kibibyte;

enum class StoreKind : std::uint8_t {
    redis,  // a standalone Redis server
    mysql,  // a MySQL or MariaDB server
    local,  // the node's embedded table
};
enum class Degrade : std::uint8_t { none, mysql, local };  // the last tier it may be granted on
enum class Safety : std::uint8_t { available, strict };
// How a mysql store takes a lock; one schema, mixable.
enum class Strategy : std::uint8_t { upsert, optimistic, pessimistic };
enum class Tls : std::uint8_t {
    off,
    required,  // encrypted, whoever answers
    verified,  // encrypted, and the certificate is for the server's name
};
enum class LogLevel : std::uint8_t { debug, info, warning, error };

struct LogTarget {
    enum class Kind : std::uint8_t {
        automatic,       // the journal under systemd, else standard error
        journal,         // always the journal
        standard_error,  // always standard error
        file,            // appended to `path`
    };
    Kind kind = Kind::automatic;
    std::string path;  // of the file; else empty

    friend bool operator==(const LogTarget&, const LogTarget&) = default;
};

// At most `count` log lines of one kind within `per`.
struct Rate {
    std::uint32_t count = 10;
    Duration per = std::chrono::seconds(5);

    friend bool operator==(const Rate&, const Rate&) = default;
};

struct Listener {
    Address address{.host = "127.0.0.1", .port = 6385, .path = {}};
    std::size_t max_clients = 10'000;
    Duration idle_timeout{0};  // 0: never

    friend bool operator==(const Listener&, const Listener&) = default;
};

struct Tcp {
    Duration keepalive = std::chrono::seconds(60);     // silence before the first probe; 0: off
    Duration user_timeout = std::chrono::seconds(30);  // unacknowledged data; 0: the kernel's own

    friend bool operator==(const Tcp&, const Tcp&) = default;
};

struct Limits {
    std::size_t max_request = mebibyte;    // bytes of one request
    std::size_t max_bulk = 64 * kibibyte;  // bytes of one argument
    std::size_t max_arguments = 1024;      // of one request
    std::size_t max_waiters = 10'000;      // of the node
    std::size_t output_buffer = mebibyte;  // unread replies of one client before it isn't read

    friend bool operator==(const Limits&, const Limits&) = default;
};

struct Locks {
    Duration ttl = std::chrono::seconds(30);
    Duration ttl_min = std::chrono::milliseconds(100);
    Duration ttl_max = std::chrono::seconds(60);
    Duration delay_max = std::chrono::seconds(60);
    Duration wait_max = std::chrono::seconds(60);
    Duration clock_margin = std::chrono::milliseconds(50);
    Duration retry_window = std::chrono::seconds(15);
    Duration wake_check = std::chrono::seconds(1);
    std::uint32_t handover_max = 16;  // in a row within the node, while other nodes wait

    friend bool operator==(const Locks&, const Locks&) = default;
};

struct Check {
    Duration inter = std::chrono::seconds(1);
    Duration fastinter = std::chrono::milliseconds(250);
    Duration timeout = std::chrono::milliseconds(500);
    std::uint32_t rise = 5;
    std::uint32_t fall = 3;

    friend bool operator==(const Check&, const Check&) = default;
};

struct Store {
    std::string name;  // the type's name unless one is given
    StoreKind kind = StoreKind::local;
    // Of the types redis and mysql; `local` uses none of these.
    Address address{.host = {}, .port = 0, .path = {}};
    std::string username;       // empty: Redis's default user; mysql: the one of the process
    std::string password_file;  // where `password` came from; empty if not from a file
    Secret password;            // always the password itself
    std::string database;       // redis: a number; mysql: a name
    Duration connect_timeout = std::chrono::milliseconds(500);
    Duration operation_timeout = std::chrono::seconds(1);
    Check check;
    // Of type redis.
    Duration patience{0};  // votes wait for so long for another process of it
    std::uint32_t wait_replicas = 0;
    // Of type mysql.
    Strategy strategy = Strategy::upsert;
    std::uint32_t connections = 4;
    Tls tls = Tls::off;
    std::string tls_ca;  // file of certificates; empty: the system's
    // Of type local.
    std::size_t max_locks = 100'000;

    friend bool operator==(const Store&, const Store&) = default;
};

// What a fleet's nodes agree by. Not used by a node with one store of type local.
struct Authority {
    std::string arbiter;  // name of the store that keeps the record; filled in
    Duration settle_grace = std::chrono::seconds(1);
    Duration view_lease = std::chrono::seconds(10);
    Duration beat = std::chrono::seconds(2);
    Duration hold_down = std::chrono::seconds(30);
    Duration hold_down_max = std::chrono::minutes(15);
    Duration available_max = std::chrono::minutes(10);

    friend bool operator==(const Authority&, const Authority&) = default;
};

// Absent: the default of the node, see docs/configuration.md.
struct Resource {
    std::string name;
    std::optional<Duration> ttl;
    std::optional<std::uint32_t> max_renew;
    std::optional<Degrade> degrade;
    Safety safety = Safety::available;
    std::optional<std::uint32_t> queue;
    std::optional<std::uint64_t> expect_locks;
    std::optional<Duration> expect;
    std::optional<Duration> max_hold;
    std::optional<Duration> delay;
    std::optional<Duration> busy_cache;

    friend bool operator==(const Resource&, const Resource&) = default;
};

struct Resources {
    bool require_registered = false;
    Duration retire_after = std::chrono::hours(7 * 24);  // unused; 0: never
    std::vector<Resource> list;

    friend bool operator==(const Resources&, const Resources&) = default;
};

struct Auth {
    std::string password_file;  // where `password` came from; empty if not from a file
    Secret password;            // empty: clients need none

    friend bool operator==(const Auth&, const Auth&) = default;
};

struct Log {
    LogTarget target;
    LogLevel level = LogLevel::info;
    Rate rate_limit;

    friend bool operator==(const Log&, const Log&) = default;
};

struct Slowlog {
    Duration slower_than = std::chrono::milliseconds(50);
    std::size_t max_len = 128;

    friend bool operator==(const Slowlog&, const Slowlog&) = default;
};

// A default-constructed Options is what the keys default to, before the host's name, directories,
// the one listener and the one store are filled in. Options that came out of
// parse_command_line() without an error are complete: node and directories are set, there is at
// least one listener and one store, at most one of them is local, and then the last; the arbiter
// is named unless that one is the only store.
struct Options {
    std::uint32_t version = 1;  // of the file's schema
    std::string node;
    std::string cluster = "default";
    std::uint32_t threads = 1;
    std::string state_dir;
    std::string runtime_dir;
    std::vector<Listener> listen;
    Tcp tcp;
    Limits limits;
    Locks locks;
    std::vector<Store> stores;  // order is preference
    Authority authority;
    Resources resources;
    Auth auth;
    Log log;
    Slowlog slowlog;

    friend bool operator==(const Options&, const Options&) = default;
};

// The database of a store of type redis.
[[nodiscard]] std::uint32_t redis_database(const Store& store);
// The index of the arbiter among the stores; none: one local store needs no arbiter.
[[nodiscard]] std::optional<std::size_t> arbiter_index(const Options& options);
// Whether the arbiter does not fail with the store that is preferred: what `strict` needs.
[[nodiscard]] bool arbiter_outlives(const Options& options);

}  // namespace latchd::config
