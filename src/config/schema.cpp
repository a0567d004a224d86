// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

#include <algorithm>
#include <array>

namespace latchd::config {
namespace {

constexpr std::uint64_t ms(std::uint64_t n) { return n * 1'000; }
constexpr std::uint64_t seconds(std::uint64_t n) { return n * 1'000'000; }
constexpr std::uint64_t hours(std::uint64_t n) { return seconds(n * 3600); }
constexpr std::uint64_t kib(std::uint64_t n) { return n * kibibyte; }
constexpr std::uint64_t mib(std::uint64_t n) { return n * mebibyte; }

Listener& listener(Scope s) { return s.options.listen.at(s.index); }
Store& store(Scope s) { return s.options.stores.at(s.index); }
Resource& resource(Scope s) { return s.options.resources.list.at(s.index); }

constexpr std::array keys{
    Key{.path = "version",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &s.options.version; },
        .meaning = "Version of this file's schema. Must be there.",
        .range = {1, 1},
        .required = true},
    Key{.path = "node",
        .type = Type::name,
        .field = [](Scope s) -> Field { return &s.options.node; },
        .meaning = "Name of this node, another one for every node of a fleet. Empty stands for "
                   "the default.",
        .default_text = "the host's name, `:` and the first listener's port",
        .empty_is_default = true},
    Key{.path = "cluster",
        .type = Type::name,
        .field = [](Scope s) -> Field { return &s.options.cluster; },
        .meaning = "Name that all nodes share which keep locks together; keys in Redis begin with "
                   "it unless it is `default`."},
    Key{.path = "threads",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &s.options.threads; },
        .meaning = "Event loops of the process. This version has one.",
        .range = {1, 1}},
    Key{.path = "state_dir",
        .type = Type::path,
        .field = [](Scope s) -> Field { return &s.options.state_dir; },
        .meaning = "Directory for what must survive a restart of the host.",
        .default_text = "`$STATE_DIRECTORY`, else `~/.local/state/latchd`"},
    Key{.path = "runtime_dir",
        .type = Type::path,
        .field = [](Scope s) -> Field { return &s.options.runtime_dir; },
        .meaning = "Directory for what must survive a restart of the process: the journal.",
        .default_text = "`$RUNTIME_DIRECTORY`, else `$XDG_RUNTIME_DIR/latchd`, else "
                        "`latchd-<uid>` in the temporary directory"},

    Key{.path = "listen[].address",
        .type = Type::address,
        .field = [](Scope s) -> Field { return &listener(s).address; },
        .meaning = "`host:port` or `unix:/path`. Without any listener, `127.0.0.1:6385` is used.",
        .required = true},
    Key{.path = "listen[].max_clients",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &listener(s).max_clients; },
        .meaning = "Clients connected at a time; more are refused.",
        .range = {1, 1'000'000}},
    Key{.path = "listen[].idle_timeout",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &listener(s).idle_timeout; },
        .meaning = "Silence after which a client is disconnected; `0s` is never.",
        .range = {0, hours(168)}},

    Key{.path = "tcp.keepalive",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.tcp.keepalive; },
        .meaning = "Silence of a client's TCP connection after which the kernel probes it, in "
                   "whole seconds; `0s` is off.",
        .range = {0, hours(2)}},
    Key{.path = "tcp.user_timeout",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.tcp.user_timeout; },
        .meaning = "How long sent data may stay unacknowledged before the client counts as gone; "
                   "`0s` is the kernel's own limit.",
        .range = {0, hours(1)}},

    Key{.path = "limits.max_request",
        .type = Type::size,
        .field = [](Scope s) -> Field { return &s.options.limits.max_request; },
        .meaning = "Size of one request.",
        .range = {kib(1), mib(512)}},
    Key{.path = "limits.max_bulk",
        .type = Type::size,
        .field = [](Scope s) -> Field { return &s.options.limits.max_bulk; },
        .meaning = "Size of one argument; at most `max_request`.",
        .range = {kib(1), mib(512)}},
    Key{.path = "limits.max_arguments",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &s.options.limits.max_arguments; },
        .meaning = "Arguments of one request.",
        .range = {32, 1'048'576}},
    Key{.path = "limits.max_waiters",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &s.options.limits.max_waiters; },
        .meaning = "LOCKs that wait on this node at a time; more get `-QUEUEFULL`.",
        .range = {1, 1'000'000}},
    Key{.path = "limits.output_buffer",
        .type = Type::size,
        .field = [](Scope s) -> Field { return &s.options.limits.output_buffer; },
        .meaning = "Replies that a client has not read yet; above it the client is not read "
                   "until it catches up.",
        .range = {kib(4), mib(1024)}},

    Key{.path = "locks.ttl",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.locks.ttl; },
        .meaning = "Lease of a LOCK that asks for none.",
        .range = {ms(10), hours(24)}},
    Key{.path = "locks.ttl_min",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.locks.ttl_min; },
        .meaning = "Shortest lease that is given.",
        .range = {ms(10), hours(1)}},
    Key{.path = "locks.ttl_max",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.locks.ttl_max; },
        .meaning = "Longest lease that is given.",
        .range = {ms(10), hours(24)}},
    Key{.path = "locks.wait_max",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.locks.wait_max; },
        .meaning = "Longest WAIT of a LOCK.",
        .range = {seconds(1), hours(1)}},
    Key{.path = "locks.clock_margin",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.locks.clock_margin; },
        .meaning = "What a lease is told shorter than it is; less than `ttl_min`.",
        .range = {0, seconds(10)}},
    Key{.path = "locks.retry_window",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.locks.retry_window; },
        .meaning =
            "How long after its last sending a LOCK with the same REQ still meets its grant.",
        .range = {seconds(1), seconds(600)}},
    Key{.path = "locks.wake_check",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.locks.wake_check; },
        .meaning = "First interval at which a waiting LOCK asks the store again.",
        .range = {ms(100), seconds(60)}},

    Key{.path = "stores[].name",
        .type = Type::name,
        .field = [](Scope s) -> Field { return &store(s).name; },
        .meaning = "Name of the store in logs and INFO.",
        .default_text = "its type"},
    Key{.path = "stores[].url",
        .type = Type::store_url,
        .field = [](Scope s) -> Field { return &store(s); },
        .meaning = "In place of `type`, `address`, `username`, `password` and `database`: "
                   "`redis://[user[:password]@]host[:port][/database]`, "
                   "`redis+unix://[user[:password]@]/path[?db=database]` or `local:`; user and "
                   "password percent-encoded.",
        .default_text = ""},
    Key{.path = "stores[].type",
        .type = Type::choice,
        .field = [](Scope s) -> Field { return &store(s).kind; },
        .meaning = "Where locks are kept: `redis`, a standalone Redis server, or `local`, the "
                   "table of this node. This version serves exactly one store of these two types. "
                   "Needed unless `url` says it. Without any store, `local` is used.",
        .default_text = ""},
    Key{.path = "stores[].address",
        .type = Type::address,
        .field = [](Scope s) -> Field { return &store(s).address; },
        .meaning = "`host:port` or `unix:/path` of the server. Needed for `redis`.",
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].username",
        .type = Type::text,
        .field = [](Scope s) -> Field { return &store(s).username; },
        .meaning = "User to authenticate as.",
        .default_text = "Redis's default user",
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].password",
        .type = Type::secret,
        .field = [](Scope s) -> Field { return &store(s).password; },
        .meaning = "Password of that user. Better kept in a `password_file`.",
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].password_file",
        .type = Type::path,
        .field = [](Scope s) -> Field { return &store(s).password_file; },
        .meaning = "File with the password. One newline at its end does not count; nothing in it "
                   "is expanded; others must not be able to read it.",
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].database",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &store(s).database; },
        .meaning = "Number of the Redis database.",
        .range = {0, 65'535},
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].connect_timeout",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &store(s).connect_timeout; },
        .meaning = "Time to connect.",
        .range = {ms(10), seconds(10)},
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].operation_timeout",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &store(s).operation_timeout; },
        .meaning = "Time for the answer to a command; without one its outcome is in doubt. "
                   "Every client command ends within 2 s, hence the range.",
        .range = {ms(10), ms(1900)},
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].check.inter",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &store(s).check.inter; },
        .meaning = "Interval of health checks.",
        .range = {ms(50), seconds(60)},
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].check.fastinter",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &store(s).check.fastinter; },
        .meaning = "Interval while the store is going up or down; at most `inter`.",
        .range = {ms(50), seconds(60)},
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].check.timeout",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &store(s).check.timeout; },
        .meaning = "Time for the answer to a check.",
        .range = {ms(10), seconds(10)},
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].check.rise",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &store(s).check.rise; },
        .meaning = "Good checks in a row after which the store counts as up.",
        .range = {1, 100},
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].check.fall",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &store(s).check.fall; },
        .meaning = "Failed checks in a row after which the store counts as down.",
        .range = {1, 100},
        .store_keys = StoreKeys::redis},
    Key{.path = "stores[].max_locks",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &store(s).max_locks; },
        .meaning = "Locks that the table holds; the size of the journal follows it.",
        .range = {100, 10'000'000},
        .store_keys = StoreKeys::local},

    Key{.path = "resources.require_registered",
        .type = Type::boolean,
        .field = [](Scope s) -> Field { return &s.options.resources.require_registered; },
        .meaning = "Refuse LOCK of a resource that is not registered."},
    Key{.path = "resources.list[].name",
        .type = Type::name,
        .field = [](Scope s) -> Field { return &resource(s).name; },
        .meaning = "Name of the resource.",
        .required = true,
        .applies = Applies::at_run_time},
    Key{.path = "resources.list[].ttl",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &resource(s).ttl; },
        .meaning = "Lease of a LOCK that asks for none; from `locks.ttl_min` to `locks.ttl_max`.",
        .range = {ms(10), hours(24)},
        .default_text = "`locks.ttl`",
        .applies = Applies::at_run_time},
    Key{.path = "resources.list[].max_renew",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &resource(s).max_renew; },
        .meaning = "Renewals of one grant; `0` is without limit.",
        .range = {0, 4'294'967'295},
        .default_text = "0",
        .applies = Applies::at_run_time},
    Key{.path = "resources.list[].degrade",
        .type = Type::choice,
        .field = [](Scope s) -> Field { return &resource(s).degrade; },
        .meaning = "The last tier on which the resource may be granted.",
        .default_text = "the last tier configured",
        .applies = Applies::at_run_time},
    Key{.path = "resources.list[].safety",
        .type = Type::choice,
        .field = [](Scope s) -> Field { return &resource(s).safety; },
        .meaning = "What comes first in a double fault: `available` the caller's progress. "
                   "`strict`, exclusion, is refused by this version: it needs an arbiter that "
                   "outlives the store.",
        .applies = Applies::at_run_time},
    Key{.path = "resources.list[].queue",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &resource(s).queue; },
        .meaning = "Waiters per lock on this node; more get `-QUEUEFULL`.",
        .range = {1, 1'000'000},
        .default_text = "1000",
        .applies = Applies::at_run_time},
    Key{.path = "resources.list[].expect_locks",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &resource(s).expect_locks; },
        .meaning = "Live locks of the resource above which a warning is logged.",
        .range = {1, 1'000'000'000},
        .default_text = "10000",
        .applies = Applies::at_run_time},
    Key{.path = "resources.list[].expect",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &resource(s).expect; },
        .meaning = "EXPECT of a LOCK that names none: how long it is usually held; a warning "
                   "past three times it.",
        .range = {ms(1), hours(720)},
        .default_text = "none",
        .applies = Applies::at_run_time},
    Key{.path = "resources.list[].max_hold",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &resource(s).max_hold; },
        .meaning =
            "MAXHOLD of a LOCK that names none: the hard end of a grant, whatever renews it.",
        .range = {ms(100), hours(720)},
        .default_text = "none",
        .applies = Applies::at_run_time},
    Key{.path = "resources.list[].delay",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &resource(s).delay; },
        .meaning = "DELAY of a LOCK that names none: how long nobody gets the lock after its "
                   "holder vanished.",
        .range = {0, seconds(60)},
        .default_text = "0s",
        .applies = Applies::at_run_time},

    Key{.path = "auth.password",
        .type = Type::secret,
        .field = [](Scope s) -> Field { return &s.options.auth.password; },
        .meaning = "Password that clients show with AUTH. Better kept in a `password_file`.",
        .default_text = "none is needed"},
    Key{.path = "auth.password_file",
        .type = Type::path,
        .field = [](Scope s) -> Field { return &s.options.auth.password_file; },
        .meaning = "File with that password, as for `stores[].password_file`."},

    Key{.path = "log.target",
        .type = Type::log_target,
        .field = [](Scope s) -> Field { return &s.options.log.target; },
        .meaning = "`auto` is the journal under systemd, else standard error."},
    Key{.path = "log.level",
        .type = Type::choice,
        .field = [](Scope s) -> Field { return &s.options.log.level; },
        .meaning = "The least that is logged."},
    Key{.path = "log.rate_limit",
        .type = Type::rate,
        .field = [](Scope s) -> Field { return &s.options.log.rate_limit; },
        .meaning = "Lines of one kind within a time; the rest are counted.",
        .range = {}},

    Key{.path = "slowlog.slower_than",
        .type = Type::duration,
        .field = [](Scope s) -> Field { return &s.options.slowlog.slower_than; },
        .meaning = "Commands that take longer are kept for SLOWLOG; waiting for a lock does not "
                   "count.",
        .range = {0, hours(1)}},
    Key{.path = "slowlog.max_len",
        .type = Type::count,
        .field = [](Scope s) -> Field { return &s.options.slowlog.max_len; },
        .meaning = "Commands that SLOWLOG keeps; the oldest go first.",
        .range = {0, 100'000}},
};

bool begins_with(std::string_view path, std::string_view front, std::string_view then) {
    return path.starts_with(front) && path.substr(front.size()).starts_with(then);
}

}  // namespace

std::span<const Key> all_keys() { return keys; }

const Key* find_key(std::string_view path) {
    const auto it =
        std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.path == path; });
    return it == keys.end() ? nullptr : &*it;
}

bool is_list(std::string_view path) {
    return std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
        return begins_with(key.path, path, "[].");
    });
}

std::vector<std::string_view> names_under(std::string_view path) {
    std::vector<std::string_view> names;
    for (const auto& key : keys) {
        auto rest = key.path;
        if (!path.empty()) {
            if (!begins_with(rest, path, ".")) continue;
            rest.remove_prefix(path.size() + 1);
        }
        rest = rest.substr(0, rest.find_first_of(".["));
        if (names.empty() || names.back() != rest) names.push_back(rest);
    }
    return names;
}

std::string join(std::string_view path, std::string_view name) {
    return path.empty() ? std::string(name) : std::string(path) + "." + std::string(name);
}

}  // namespace latchd::config
