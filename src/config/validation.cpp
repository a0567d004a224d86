// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// What no key can be checked for alone.
#include "configuration.hpp"
#include "schema.hpp"
#include "value.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace latchd::config {
namespace {

std::string at(std::string_view list, std::size_t index) {
    return std::string(list) + "[" + std::to_string(index) + "]";
}

class Checker {
public:
    explicit Checker(Configuration& configuration)
        : configuration_(configuration), options_(configuration.options) {}

    void check_all() {
        check_cluster();
        check_listeners();
        check_limits();
        check_locks();
        check_stores();
        check_authority();
        check_resources();
    }

private:
    // `a` must not be longer than `b`.
    template <class T>
    void check_order(const std::string& a, T a_value, std::string_view b, T b_value) {
        if (a_value <= b_value) return;
        configuration_.error_at(a,
                                text_of(a) + " is more than " + std::string(b) + ", " + text_of(b));
    }

    std::string text_of(std::string_view path) {
        std::string pattern(path);
        std::size_t index = 0;
        if (const auto open = pattern.find('['); open != std::string::npos) {
            index = std::stoul(pattern.substr(open + 1));
            pattern.erase(open + 1, pattern.find(']') - open - 1);
        }
        return get_field(*find_key(pattern), Scope{options_, index}).value_or("");
    }

    template <class T>
    void check_names(std::string_view list, const std::vector<T>& elements) {
        std::map<std::string, std::size_t> first;
        for (std::size_t i = 0; i < elements.size(); ++i) {
            const auto [it, is_new] = first.emplace(elements[i].name, i);
            if (is_new || elements[i].name.empty()) continue;
            const auto line = configuration_.origin_near(at(list, it->second) + ".name").line;
            configuration_.error_at(at(list, i) + ".name",
                                    in_quotes(elements[i].name) + " is already used" +
                                        (line > 0 ? " at line " + std::to_string(line) : ""));
        }
    }

    // Keys in Redis are `cluster:lock:…`, those of the default cluster `lock:…`: the first part
    // must tell them apart.
    void check_cluster() {
        const std::string& name = options_.cluster;
        if (name.find(':') == std::string::npos && name != "lock" && name != "bar" &&
            name != "latchd") {
            return;
        }
        configuration_.error_at("cluster",
                                in_quotes(name) +
                                    " would share keys with another cluster: a name "
                                    "without `:`, and not lock, bar or latchd, is needed");
    }

    void check_listeners() {
        std::map<std::string, std::size_t> first;
        for (std::size_t i = 0; i < options_.listen.size(); ++i) {
            const auto& address = options_.listen[i].address;
            const auto path = at("listen", i) + ".address";
            const bool kernel_chooses = !address.is_unix() && address.port == 0;
            if (!first.emplace(address.to_string(), i).second && !kernel_chooses) {
                configuration_.error_at(path, in_quotes(address.to_string()) + " is already used");
            }
            if (!address.is_loopback() && options_.auth.password.empty()) {
                configuration_.warning_at(path,
                                          address.to_string() +
                                              " may be reached from other hosts, and no "
                                              "password is needed; set auth.password_file");
            }
        }
        const auto keepalive = options_.tcp.keepalive;
        if (keepalive % std::chrono::seconds(1) != Duration{0}) {
            configuration_.error_at("tcp.keepalive", "must be whole seconds");
        }
    }

    void check_limits() {
        const auto& limits = options_.limits;
        check_order("limits.max_bulk", limits.max_bulk, "limits.max_request", limits.max_request);
    }

    void check_locks() {
        const auto& locks = options_.locks;
        check_order("locks.ttl_min", locks.ttl_min, "locks.ttl", locks.ttl);
        check_order("locks.ttl", locks.ttl, "locks.ttl_max", locks.ttl_max);
        if (locks.clock_margin >= locks.ttl_min) {
            configuration_.error_at("locks.clock_margin",
                                    format_duration(locks.clock_margin) +
                                        " is not less than locks.ttl_min, " +
                                        format_duration(locks.ttl_min));
        }
    }

    void check_stores() {
        auto& stores = options_.stores;
        for (std::size_t i = 0; i < stores.size(); ++i) check_store(at("stores", i), stores[i], i);
        check_names("stores", stores);
        std::map<std::string, std::size_t> first;
        for (std::size_t i = 0; i < stores.size(); ++i) {
            if (stores[i].kind == StoreKind::local) {
                if (i + 1 == stores.size()) continue;
                configuration_.error_at(at("stores", i),
                                        "the table of this node is the last resort: a store of "
                                        "type local must be the last one, and only once");
                continue;
            }
            if (stores[i].address == Address{}) continue;
            const auto server =
                std::string(word_of(stores[i].kind)) + " at " + stores[i].address.to_string();
            const auto [it, is_new] = first.emplace(server, i);
            if (is_new) continue;
            configuration_.error_at(at("stores", i),
                                    "is the same server as " + at("stores", it->second) + ", " +
                                        server + ": it would fail together with it");
        }
    }

    void check_authority() {
        const Authority& authority = options_.authority;
        check_order("authority.hold_down",
                    authority.hold_down,
                    "authority.hold_down_max",
                    authority.hold_down_max);
        check_order("authority.settle_grace",
                    authority.settle_grace,
                    "authority.view_lease",
                    authority.view_lease);
        if (authority.beat * 3 > authority.view_lease) {
            configuration_.error_at("authority.beat",
                                    text_of("authority.beat") +
                                        " is more than a third of authority.view_lease, " +
                                        text_of("authority.view_lease"));
        }
        check_arbiter(authority.arbiter);
    }

    void check_arbiter(const std::string& name) {
        if (name.empty()) return;
        const auto index = arbiter_index(options_);
        if (!index) {
            configuration_.error_at(
                "authority.arbiter",
                in_quotes(name) + " is not the name of a store of type mysql or redis");
            return;
        }
        std::size_t servers = 0;
        for (const Store& store : options_.stores) servers += store.kind != StoreKind::local;
        if (servers == 1 || options_.stores[*index].kind == StoreKind::mysql) return;
        configuration_.error_at(
            configuration_.is_set("authority.arbiter") ? "authority.arbiter" : "stores",
            in_quotes(name) +
                " can only decide about itself: to move locks between several servers the fleet "
                "needs a store of type mysql as arbiter");
    }

    void check_store(const std::string& path, const Store& store, std::size_t index) {
        const bool has_url = configuration_.is_set(path + ".url");
        if (!has_url && !configuration_.is_set(path + ".type") && configuration_.is_set(path)) {
            configuration_.error_at(path, "needs 'type' or 'url'");
            return;
        }
        const bool is_server = store.kind != StoreKind::local;
        const std::string type(word_of(store.kind));
        refuse_idle_keys(path, store);
        // An address or URL that was refused is no second error.
        const bool address_given = configuration_.is_set(path + ".address") || has_url;
        if (is_server && !address_given) {
            configuration_.error_at(path, type + " needs an 'address'");
        }
        if (is_server && !store.address.is_unix() && store.address.port == 0 &&
            !store.address.host.empty()) {
            configuration_.error_at(path + ".address", "port 0 cannot be connected to");
        }
        if (store.kind == StoreKind::redis && !parse_redis_database(store.database)) {
            configuration_.error_at(
                path + ".database",
                in_quotes(store.database) + " is not the number of a Redis database, 0 to 65535");
        }
        if (store.tls == Tls::off && !store.tls_ca.empty()) {
            configuration_.error_at(path + ".tls.ca",
                                    "has no effect while tls.mode is off; write 'verified'");
        }
        check_user(path, store, has_url);
        const auto& check = options_.stores[index].check;
        if (is_server) {
            check_order(
                path + ".check.fastinter", check.fastinter, path + ".check.inter", check.inter);
        }
    }

    void check_user(const std::string& path, const Store& store, bool has_url) {
        const bool password_given = !store.password.empty() ||
                                    configuration_.is_set(path + ".password") ||
                                    configuration_.is_set(path + ".password_file");
        // Of MySQL a user may have none: the server may know it by the socket or the certificate.
        if (store.kind == StoreKind::redis && !store.username.empty() && !password_given) {
            configuration_.error_at(path + (has_url ? ".url" : ".username"),
                                    "a user needs a password");
        }
        if (store.kind == StoreKind::mysql && store.username.empty() && password_given) {
            configuration_.error_at(path + (has_url ? ".url" : ".password"),
                                    "a password needs a user");
        }
    }

    // A key that does nothing misleads whoever reads the file.
    void refuse_idle_keys(const std::string& path, const Store& store) {
        for (const auto& key : all_keys()) {
            constexpr std::string_view list = "stores[].";
            if (!key.path.starts_with(list) || key.store_keys == StoreKeys::all) continue;
            const auto full = join(path, key.path.substr(list.size()));
            if (is_for(key.store_keys, store.kind)) continue;
            if (!configuration_.is_set(full)) continue;
            const bool is_tls = key.path.starts_with("stores[].tls.");
            configuration_.error_at(
                full,
                is_tls && store.kind == StoreKind::redis
                    ? "TLS to Redis is not part of this version"
                    : "has no effect for a store of type " + std::string(word_of(store.kind)));
        }
    }

    void check_resources() {
        const auto& list = options_.resources.list;
        check_names("resources.list", list);
        for (std::size_t i = 0; i < list.size(); ++i) {
            const auto path = at("resources.list", i);
            if (list[i].ttl) {
                check_order(path + ".ttl", *list[i].ttl, "locks.ttl_max", options_.locks.ttl_max);
                if (*list[i].ttl < options_.locks.ttl_min) {
                    configuration_.error_at(path + ".ttl",
                                            text_of(path + ".ttl") +
                                                " is less than locks.ttl_min, " +
                                                text_of("locks.ttl_min"));
                }
            }
            if (list[i].delay) {
                check_order(
                    path + ".delay", *list[i].delay, "locks.delay_max", options_.locks.delay_max);
            }
            check_safety(path, list[i]);
        }
    }

    void check_safety(const std::string& path, const Resource& resource) {
        const auto has = [this](StoreKind kind) {
            return std::any_of(options_.stores.begin(),
                               options_.stores.end(),
                               [kind](const Store& store) { return store.kind == kind; });
        };
        const bool is_strict = resource.safety == Safety::strict;
        if (is_strict && !arbiter_outlives(options_)) {
            configuration_.error_at(path + ".safety",
                                    "'strict' needs an arbiter that outlives the preferred store: "
                                    "a store of type mysql behind it");
        }
        if (is_strict && resource.degrade == Degrade::local) {
            configuration_.error_at(path + ".degrade",
                                    "a 'strict' resource is never locked on one host alone; write "
                                    "'mysql' or 'none'");
        } else if (resource.degrade == Degrade::local && !has(StoreKind::local)) {
            configuration_.error_at(path + ".degrade", "no store of type local is configured");
        } else if (resource.degrade == Degrade::mysql && !has(StoreKind::mysql)) {
            configuration_.error_at(path + ".degrade", "no store of type mysql is configured");
        }
    }

    Configuration& configuration_;
    Options& options_;
};

}  // namespace

void validate(Configuration& configuration) { Checker(configuration).check_all(); }

}  // namespace latchd::config
