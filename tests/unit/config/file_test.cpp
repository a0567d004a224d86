// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// What a configuration file may say and how it is refused.
#include "configuration.hpp"
#include "made_up_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace latchd::config {
namespace {

using namespace std::chrono_literals;

constexpr const char* file = "/c.yaml";

Configuration load(MadeUpHost& host, const std::string& text) {
    host.put(file, text);
    return configure(file, {}, host.surroundings());
}

Configuration load(const std::string& text) {
    MadeUpHost host;
    return load(host, text);
}

std::string complaints(const std::string& text) {
    const auto configuration = load(text);
    return render(configuration.diagnostics, configuration.file);
}

TEST(File, with_a_version_alone_gives_the_defaults) {
    const auto configuration = load("version: 1\n");
    EXPECT_TRUE(configuration.diagnostics.empty());
    const auto& options = configuration.options;
    EXPECT_EQ(options.node, "alpha:6385");
    EXPECT_EQ(options.cluster, "default");
    EXPECT_EQ(options.state_dir, "/home/ada/.local/state/latchd");
    EXPECT_EQ(options.runtime_dir, "/tmp/latchd-1000");
    ASSERT_EQ(options.listen.size(), 1U);
    EXPECT_EQ(options.listen[0].address.to_string(), "127.0.0.1:6385");
    ASSERT_EQ(options.stores.size(), 1U);
    EXPECT_EQ(options.stores[0].kind, StoreKind::local);
    EXPECT_EQ(options.stores[0].name, "local");
}

TEST(File, sets_every_kind_of_key) {
    const auto configuration = load(R"(version: 1
node: n1
listen:
  - {address: "unix:/run/a.sock", max_clients: 5, idle_timeout: 1m}
  - {address: "[::1]:7000"}
tcp: {keepalive: 0s}
limits: {max_bulk: 2KiB}
locks:
  ttl: 5s
stores:
  - type: redis
    address: unix:/run/redis.sock
    username: bob
    password: ${PASSWORD:-x}
    check: {fastinter: 100ms, rise: 7}
resources:
  require_registered: true
  list:
    - {name: "order:settle", ttl: 2s, max_renew: 3, degrade: none, safety: available, delay: 1s}
log: {target: "file:/l", level: debug, rate_limit: 1/1m}
)");
    ASSERT_TRUE(configuration.diagnostics.empty()) << render(configuration.diagnostics, file);
    const auto& options = configuration.options;
    EXPECT_EQ(options.node, "n1");
    ASSERT_EQ(options.listen.size(), 2U);
    EXPECT_EQ(options.listen[0].max_clients, 5U);
    EXPECT_EQ(options.listen[0].idle_timeout, 1min);
    EXPECT_EQ(options.listen[1].address.host, "::1");
    EXPECT_EQ(options.tcp.keepalive, 0s);
    EXPECT_EQ(options.limits.max_bulk, 2048U);
    EXPECT_EQ(options.locks.ttl, 5s);
    EXPECT_EQ(options.stores[0].password.reveal(), "x");
    EXPECT_EQ(options.stores[0].check.fastinter, 100ms);
    EXPECT_EQ(options.stores[0].check.inter, 1s);
    EXPECT_EQ(options.stores[0].check.rise, 7U);
    EXPECT_TRUE(options.resources.require_registered);
    const auto& resource = options.resources.list.at(0);
    EXPECT_EQ(resource.ttl, Duration(2s));
    EXPECT_EQ(resource.max_renew, 3U);
    EXPECT_EQ(resource.degrade, Degrade::none);
    EXPECT_EQ(resource.safety, Safety::available);
    EXPECT_EQ(resource.queue, std::nullopt);
    EXPECT_EQ(options.log.level, LogLevel::debug);
    EXPECT_EQ(options.log.target.path, "/l");
}

TEST(File, reports_all_errors_at_once_in_the_order_of_lines) {
    EXPECT_EQ(complaints(R"(version: 1
limits: {max_bulk: 64}
stores:
  - type: redis
    address: h:1
    check:
      inter: 2
      fastintr: 1s
locks:
  ttl: 1s
  ttl: 2s
  wait_max: 2h
tls: {}
)"),
              "/c.yaml:2:20: limits.max_bulk: '64' has no unit; write '64KiB' or '64B'\n"
              "/c.yaml:7:14: stores[0].check.inter: '2' has no unit; write '2s' or '2ms'\n"
              "/c.yaml:8:7: unknown key 'fastintr' in stores[0].check (did you mean 'fastinter'?)\n"
              "/c.yaml:11:3: 'locks.ttl' is already set at line 10\n"
              "/c.yaml:12:13: locks.wait_max: '2h' is out of range; from 1s to 1h\n"
              "/c.yaml:13:1: unknown key 'tls'\n"
              "6 errors; configuration not applied\n");
}

struct BadInput {
    const char* name;
    const char* text;       // behind "version: 1\n", so that it begins at line 2
    const char* complaint;  // behind "/c.yaml:"
};

class BadInputs : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, are_refused_with_their_position) {
    const auto& [name, text, complaint] = GetParam();
    const auto all = complaints("version: 1\n" + std::string(text));
    EXPECT_THAT(all, testing::HasSubstr("/c.yaml:" + std::string(complaint) + "\n"));
    EXPECT_THAT(all, testing::EndsWith("1 error; configuration not applied\n"));
}

const BadInput bad_inputs[] = {
    {"unknown_at_top", "lisen: []\n", "2:1: unknown key 'lisen' (did you mean 'listen'?)"},
    {"unknown_and_far", "failover: {}\n", "2:1: unknown key 'failover'"},
    {"empty_key", "\"\": 1\n", "2:1: unknown key ''"},
    {"dotted_key", "log.level: info\n", "2:1: unknown key 'log.level'"},
    {"bracket_key", "\"listen[]\": {}\n", "2:1: unknown key 'listen[]' (did you mean 'listen'?)"},
    {"duplicate_section", "log: {}\nlog: {}\n", "3:1: 'log' is already set at line 2"},
    {"merge_key",
     "log:\n  <<: {level: info}\n",
     "3:3: merge keys ('<<') are not supported; write the keys out"},
    {"anchor", "cluster: &a b\n", "2:10: anchors ('&name') are not supported; write the value out"},
    {"cluster_of_keys",
     "cluster: lock\n",
     "2:10: cluster: 'lock' would share keys with another cluster: a name without `:`, and not "
     "lock, bar or latchd, is needed"},
    {"cluster_with_colon",
     "cluster: a:lock\n",
     "2:10: cluster: 'a:lock' would share keys with another cluster: a name without `:`, and not "
     "lock, bar or latchd, is needed"},
    {"tag", "cluster: !!str b\n", "2:10: tags ('!name') are not supported"},
    {"complex_key", "? [a, b]\n: c\n", "2:3: a key must be a word"},
    {"list_for_section", "log: [a]\n", "2:6: log: must be a section, here is a list"},
    {"value_for_section", "log: info\n", "2:6: log: must be a section, here is a value"},
    {"section_for_list",
     "stores: {type: local}\n",
     "2:9: stores: must be a list, here is a section"},
    {"value_in_list", "listen: [a]\n", "2:10: listen[0]: must be a section, here is a value"},
    {"list_for_value", "cluster: [a]\n", "2:10: cluster: must be a value, here is a list"},
    {"null_value",
     "cluster:\n",
     "2:1: cluster: has no value; leave the key out to get its default"},
    {"empty_value",
     "cluster: \"\"\n",
     "2:10: cluster: '' is not a name: 1 to 64 of A-Z a-z 0-9 _ . : -"},
    {"bad_node", "node: a b\n", "2:7: node: 'a b' is not a name: 1 to 64 of A-Z a-z 0-9 _ . : -"},
    {"threads", "threads: 0\n", "2:10: threads: '0' is out of range; from 1 to 64"},
    {"many_threads", "threads: 65\n", "2:10: threads: '65' is out of range; from 1 to 64"},
    {"negative", "threads: -1\n", "2:10: threads: '-1' is not a whole number"},
    {"octal",
     "slowlog: {max_len: 0777}\n",
     "2:20: slowlog.max_len: '0777' begins with a zero; write it without"},
    {"boolean",
     "resources: {require_registered: yes}\n",
     "2:33: resources.require_registered: 'yes' is neither 'true' nor 'false'"},
    {"word",
     "log: {level: loud}\n",
     "2:14: log.level: 'loud' is not one of debug, info, warning, error"},
    {"relative_path", "state_dir: lib\n", "2:12: state_dir: 'lib' is not an absolute path"},
    {"unset_variable",
     "node: ${NOPE}\n",
     "2:7: node: ${NOPE} is not set; write ${NOPE:-default} to give a default"},
    {"open_variable", "node: ${NOPE\n", "2:7: node: '${' is not closed by '}'"},
    {"nameless_variable",
     "node: ${}\n",
     "2:7: node: '${...}' needs the name of a variable; write '$$' for a dollar"},
    {"missing_address", "listen:\n  - max_clients: 1\n", "3:5: 'listen[0].address' is missing"},
    {"missing_resource_name",
     "resources:\n  list:\n    - ttl: 1s\n",
     "4:7: 'resources.list[0].name' is missing"},
    {"listener_address_twice",
     "listen:\n  - {address: \"unix:/h\"}\n  - {address: \"unix:/h\"}\n",
     "4:15: listen[1].address: 'unix:/h' is already used"},
    {"resource_twice",
     "resources:\n  list: [{name: a},\n    {name: a}]\n",
     "4:12: resources.list[1].name: 'a' is already used at line 3"},
    {"no_store_type", "stores: [{name: a}]\n", "2:10: stores[0]: needs 'type' or 'url'"},
    {"redis_without_address",
     "stores: [{type: redis}]\n",
     "2:10: stores[0]: redis needs an 'address'"},
    {"redis_with_port_0",
     "stores: [{type: redis, address: \"h:0\"}]\n",
     "2:33: stores[0].address: port 0 cannot be connected to"},
    {"redis_with_max_locks",
     "stores: [{type: redis, address: \"h:1\", max_locks: 200}]\n",
     "2:51: stores[0].max_locks: has no effect for a store of type redis"},
    {"local_with_database",
     "stores: [{type: local, database: 1}]\n",
     "2:34: stores[0].database: has no effect for a store of type local"},
    {"user_without_password",
     "stores: [{type: redis, address: \"h:1\", username: u}]\n",
     "2:50: stores[0].username: a user needs a password"},
    {"url_and_type",
     "stores: [{url: \"local:\", type: local}]\n",
     "2:26: stores[0].type: 'url' says this already; keep one of them"},
    {"redis_with_a_name",
     "stores: [{type: redis, address: \"h:1\", database: latchd}]\n",
     "2:50: stores[0].database: 'latchd' is not the number of a Redis database, 0 to 65535"},
    {"mysql_without_address",
     "stores: [{type: mysql}]\n",
     "2:10: stores[0]: mysql needs an 'address'"},
    {"mysql_with_patience",
     "stores: [{type: mysql, address: \"h:1\", patience: 1s}]\n",
     "2:50: stores[0].patience: has no effect for a store of type mysql"},
    {"mysql_with_replicas_to_wait_for",
     "stores: [{type: mysql, address: \"h:1\", wait_replicas: 1}]\n",
     "2:55: stores[0].wait_replicas: has no effect for a store of type mysql"},
    {"mysql_password_without_user",
     "stores: [{type: mysql, address: \"h:1\", password: \"${HOME}\"}]\n",
     "2:50: stores[0].password: a password needs a user"},
    {"mysql_strategy",
     "stores: [{type: mysql, address: \"h:1\", strategy: hopeful}]\n",
     "2:50: stores[0].strategy: 'hopeful' is not one of upsert, optimistic, pessimistic"},
    {"mysql_ca_without_tls",
     "stores: [{type: mysql, address: \"h:1\", tls: {ca: /ca}}]\n",
     "2:50: stores[0].tls.ca: has no effect while tls.mode is off; write 'verified'"},
    {"sentinel",
     "stores: [{url: \"redis+sentinel://h:26379/mymaster\"}]\n",
     "2:16: stores[0].url: 'redis+sentinel://h:26379/mymaster': sentinels are not part of this "
     "version"},
    {"local_first",
     "stores:\n  - {type: local}\n  - {type: redis, address: \"h:1\"}\n",
     "3:5: stores[0]: the table of this node is the last resort: a store of type local must be "
     "the last one, and only once"},
    {"store_name_twice",
     "stores:\n  - {type: mysql, address: \"h:1\"}\n  - {type: mysql, address: \"h:2\"}\n",
     "4:5: stores[1].name: 'mysql' is already used at line 3"},
    {"store_server_twice",
     "stores:\n  - {type: mysql, address: \"h:1\"}\n"
     "  - {name: b, type: mysql, address: \"h:1\", database: b}\n",
     "4:5: stores[1]: is the same server as stores[0], mysql at h:1: it would fail together "
     "with it"},
    {"two_redis",
     "stores:\n  - {type: redis, address: \"h:1\"}\n  - {name: b, type: redis, address: \"h:2\"}\n",
     "2:1: stores: 'redis' can only decide about itself: to move locks between several servers "
     "the fleet needs a store of type mysql as arbiter"},
    {"redis_arbiter_for_two",
     "stores:\n  - {type: redis, address: \"h:1\"}\n  - {type: mysql, address: \"h:2\"}\n"
     "authority: {arbiter: redis}\n",
     "5:22: authority.arbiter: 'redis' can only decide about itself: to move locks between "
     "several servers the fleet needs a store of type mysql as arbiter"},
    {"no_such_arbiter",
     "authority: {arbiter: local}\n",
     "2:22: authority.arbiter: 'local' is not the name of a store of type mysql or redis"},
    {"beat_over_lease",
     "authority: {beat: 4s}\n",
     "2:19: authority.beat: 4s is more than a third of authority.view_lease, 10s"},
    {"hold_down_order",
     "authority: {hold_down: 1h}\n",
     "2:24: authority.hold_down: 1h is more than authority.hold_down_max, 15m"},
    {"ttl_order", "locks: {ttl: 2m}\n", "2:14: locks.ttl: 2m is more than locks.ttl_max, 1m"},
    {"ttl_min_order",
     "locks:\n  ttl_min: 40s\n",
     "3:12: locks.ttl_min: 40s is more than locks.ttl, 30s"},
    {"margin",
     "locks: {clock_margin: 100ms}\n",
     "2:23: locks.clock_margin: 100ms is not less than locks.ttl_min, 100ms"},
    {"bulk_over_request",
     "limits: {max_bulk: 2MiB}\n",
     "2:20: limits.max_bulk: 2MiB is more than limits.max_request, 1MiB"},
    {"fastinter",
     "stores: [{type: redis, address: \"h:1\", check: {fastinter: 2s}}]\n",
     "2:59: stores[0].check.fastinter: 2s is more than stores[0].check.inter, 1s"},
    {"keepalive", "tcp: {keepalive: 500ms}\n", "2:18: tcp.keepalive: must be whole seconds"},
    {"resource_ttl_long",
     "resources: {list: [{name: a, ttl: 2m}]}\n",
     "2:35: resources.list[0].ttl: 2m is more than locks.ttl_max, 1m"},
    {"resource_ttl_short",
     "resources: {list: [{name: a, ttl: 50ms}]}\n",
     "2:35: resources.list[0].ttl: 50ms is less than locks.ttl_min, 100ms"},
    {"strict_alone",
     "resources: {list: [{name: a, safety: strict}]}\n",
     "2:38: resources.list[0].safety: 'strict' needs an arbiter that outlives the preferred "
     "store: a store of type mysql behind it"},
    {"strict_with_the_arbiter_first",
     "stores: [{type: mysql, address: \"h:1\"}]\n"
     "resources: {list: [{name: a, safety: strict}]}\n",
     "3:38: resources.list[0].safety: 'strict' needs an arbiter that outlives the preferred "
     "store: a store of type mysql behind it"},
    {"strict_and_local",
     "stores: [{url: \"redis://h\"}, {url: \"mysql://h\"}, {type: local}]\n"
     "resources: {list: [{name: a, safety: strict, degrade: local}]}\n",
     "3:55: resources.list[0].degrade: a 'strict' resource is never locked on one host alone; "
     "write 'mysql' or 'none'"},
    {"degrade_mysql",
     "resources: {list: [{name: a, degrade: mysql}]}\n",
     "2:39: resources.list[0].degrade: no store of type mysql is configured"},
    {"degrade_local",
     "stores: [{url: \"redis://h\"}]\nresources: {list: [{name: a, degrade: local}]}\n",
     "3:39: resources.list[0].degrade: no store of type local is configured"},
    {"empty_password",
     "auth: {password: \"\"}\n",
     "2:18: auth.password: the password is empty; leave the key out"},
    {"absent_password_file",
     "auth: {password_file: /nope}\n",
     "2:23: auth.password_file: cannot read /nope: no such file"},
    {"absent_certificates",
     "stores: [{type: mysql, address: \"h:1\", tls: {mode: verified, ca: /nope}}]\n",
     "2:66: stores[0].tls.ca: cannot read /nope: no such file"},
    {"tls_to_redis",
     "stores: [{type: redis, address: \"h:1\", tls: {mode: verified}}]\n",
     "2:52: stores[0].tls.mode: TLS to Redis is not part of this version"},
    {"two_documents", "---\nversion: 1\n", "3:1: a second document ('---') is not supported"},
    {"tab",
     "log:\n\tlevel: info\n",
     "3:1: a tab in the indentation; YAML is indented by spaces only"},
};

INSTANTIATE_TEST_SUITE_P(File, BadInputs, testing::ValuesIn(bad_inputs), [](const auto& info) {
    return std::string(info.param.name);
});

TEST(File, of_a_fleet_is_taken_in_order_of_preference) {
    const auto configuration = load(R"(version: 1
stores:
  - {type: redis, address: "h:1", patience: 3s, wait_replicas: 2}
  - {name: db, type: mysql, address: "h:2", username: u, connections: 2, strategy: optimistic}
  - {type: local, max_locks: 500}
authority: {view_lease: 6s, available_max: 0s}
resources:
  list:
    - {name: a, safety: strict, degrade: mysql}
    - {name: b, degrade: local}
)");
    ASSERT_EQ(render(configuration.diagnostics, file), "");
    const Options& options = configuration.options;
    EXPECT_EQ(options.stores[0].patience, 3s);
    EXPECT_EQ(options.stores[0].wait_replicas, 2U);
    EXPECT_EQ(redis_database(options.stores[0]), 0U);
    EXPECT_EQ(options.stores[1].strategy, Strategy::optimistic);
    EXPECT_EQ(options.stores[1].database, "latchd");
    EXPECT_EQ(options.stores[1].connections, 2U);
    EXPECT_EQ(options.authority.arbiter, "db");
    EXPECT_EQ(arbiter_index(options), 1U);
    EXPECT_TRUE(arbiter_outlives(options));
    EXPECT_EQ(options.authority.view_lease, 6s);
}

TEST(File, without_mysql_has_redis_decide_about_itself_and_local_needs_nobody) {
    const auto redis = load("version: 1\nstores: [{url: \"redis://h\"}, {type: local}]\n");
    ASSERT_EQ(render(redis.diagnostics, file), "");
    EXPECT_EQ(redis.options.authority.arbiter, "redis");
    EXPECT_FALSE(arbiter_outlives(redis.options));
    EXPECT_EQ(arbiter_index(load("version: 1\n").options), std::nullopt);
}

TEST(File, without_a_version_or_with_another_one_is_refused) {
    EXPECT_THAT(complaints("cluster: a\n"),
                testing::HasSubstr("/c.yaml:1:1: 'version' is missing"));
    EXPECT_THAT(
        complaints("version: 2\n"),
        testing::HasSubstr("1:10: version: '2' is not supported; this version allows only 1"));
    EXPECT_THAT(complaints(""), testing::HasSubstr("1:1: the file is empty"));
    EXPECT_THAT(complaints("# nothing\n"), testing::HasSubstr("1:1: the file is empty"));
    EXPECT_THAT(complaints("- 1\n"), testing::HasSubstr("1:1: the file must hold keys and values"));
    EXPECT_THAT(complaints("a: [\n"), testing::HasSubstr("not valid YAML"));
    EXPECT_THAT(complaints("a: *b\n"), testing::HasSubstr("not valid YAML"));
}

TEST(File, may_have_sections_whose_keys_are_all_commented_out) {
    EXPECT_EQ(complaints("version: 1\nlog:\nlisten:\nstores:\nresources:\n  list:\n"), "");
}

TEST(Expansion, replaces_names_in_braces_and_leaves_other_dollars) {
    MadeUpHost host;
    host.variables["A"] = "x$B${C}";
    host.variables["EMPTY"] = "";
    const auto password = [&](const std::string& text) {
        const auto configuration = load(host, "version: 1\nauth: {password: '" + text + "'}\n");
        return configuration.options.auth.password.reveal();
    };
    EXPECT_EQ(password("${A}"), "x$B${C}");
    EXPECT_EQ(password("p$A$$${EMPTY:-d$f}$"), "p$A$d$f$");
    EXPECT_EQ(password("${NOPE:-}z"), "z");
    EXPECT_EQ(password("$${A}"), "${A}");
}

TEST(Expansion, does_not_happen_in_keys) {
    EXPECT_THAT(complaints("version: 1\n${HOME}: 1\n"),
                testing::HasSubstr("unknown key '${HOME}'"));
}

TEST(File, of_certificates_that_has_none_is_refused) {
    MadeUpHost host;
    host.put("/ca", "-----BEGIN EC PRIVATE KEY-----\n");
    const char* const text =
        "version: 1\n"
        "stores: [{type: mysql, address: \"h:1\", tls: {mode: verified, ca: /ca}}]\n";
    EXPECT_EQ(render(load(host, text).diagnostics, file),
              "/c.yaml:2:66: stores[0].tls.ca: there is no certificate (PEM) in /ca\n"
              "1 error; configuration not applied\n");
    host.put("/ca", "-----BEGIN CERTIFICATE-----\n");
    EXPECT_FALSE(has_errors(load(host, text).diagnostics));
}

class PasswordFile : public testing::Test {
protected:
    Configuration read(const std::string& content, std::uint32_t mode = 0100600) {
        host_.put("/p", content, mode);
        return load(host_, "version: 1\nauth: {password_file: /p}\n");
    }
    MadeUpHost host_;
};

TEST_F(PasswordFile, loses_exactly_one_newline_and_is_not_expanded) {
    EXPECT_EQ(read("s$${HOME}\n").options.auth.password.reveal(), "s$${HOME}");
    EXPECT_EQ(read("s").options.auth.password.reveal(), "s");
    const auto two = read("s\n\n");
    EXPECT_EQ(two.options.auth.password.reveal(), "s\n");
    EXPECT_EQ(render(two.diagnostics, file),
              "/c.yaml:2:23: warning: auth.password_file: the password in /p begins or ends with "
              "white space, which counts\n");
}

TEST_F(PasswordFile, that_everyone_can_read_or_that_is_empty_is_refused) {
    EXPECT_EQ(render(read("s\n", 0100644).diagnostics, file),
              "/c.yaml:2:23: auth.password_file: /p can be read by everyone; chmod o-r /p\n"
              "1 error; configuration not applied\n");
    EXPECT_TRUE(has_errors(read("\n").diagnostics));
    EXPECT_TRUE(has_errors(read("").diagnostics));
}

TEST_F(PasswordFile, beside_a_password_is_refused) {
    host_.put("/p", "s");
    const auto configuration =
        load(host_, "version: 1\nauth:\n  password: hunter2\n  password_file: /p\n");
    const auto text = render(configuration.diagnostics, file);
    EXPECT_THAT(text,
                testing::HasSubstr("4:18: auth.password_file: the password is given already"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("hunter2")));
}

TEST(Warnings, name_passwords_in_the_file_and_open_listeners) {
    EXPECT_EQ(complaints("version: 1\nauth: {password: hunter2}\n"),
              "/c.yaml:2:18: warning: auth.password: the password is in the file itself; "
              "password_file keeps it apart\n");
    EXPECT_EQ(complaints("version: 1\nauth: {password: \"${HOME}\"}\n"), "");
    EXPECT_EQ(complaints("version: 1\nstores: [{url: \"redis://:hunter2@h\"}]\n"),
              "/c.yaml:2:16: warning: stores[0].url: the password is in the file itself; "
              "password_file keeps it apart\n");
    EXPECT_EQ(complaints("version: 1\nlisten: [{address: \"0.0.0.0:6385\"}]\n"),
              "/c.yaml:2:20: warning: listen[0].address: 0.0.0.0:6385 may be reached from other "
              "hosts, and no password is needed; set auth.password_file\n");
}

TEST(Directories, come_from_systemd_then_xdg_then_the_temporary_directory) {
    MadeUpHost host;
    host.variables = {{"STATE_DIRECTORY", "/var/lib/latchd:/var/lib/b"},
                      {"RUNTIME_DIRECTORY", "/run/latchd"},
                      {"XDG_RUNTIME_DIR", "/run/user/1000"}};
    auto options = load(host, "version: 1\n").options;
    EXPECT_EQ(options.state_dir, "/var/lib/latchd");
    EXPECT_EQ(options.runtime_dir, "/run/latchd");

    host.variables = {{"HOME", "/h"}, {"XDG_RUNTIME_DIR", "/run/user/1000"}};
    options = load(host, "version: 1\n").options;
    EXPECT_EQ(options.state_dir, "/h/.local/state/latchd");
    EXPECT_EQ(options.runtime_dir, "/run/user/1000/latchd");

    host.variables = {{"TMPDIR", "/scratch"}};
    const auto bare = load(host, "version: 1\n");
    EXPECT_EQ(bare.options.state_dir, "/scratch/latchd-1000/state");
    EXPECT_EQ(bare.options.runtime_dir, "/scratch/latchd-1000");
    EXPECT_THAT(render(bare.diagnostics, file), testing::HasSubstr("warning: state_dir: neither"));
}

TEST(NodeName, is_the_host_and_port_unless_one_is_given) {
    EXPECT_EQ(load("version: 1\nlisten: [{address: \"unix:/s\"}]\n").options.node, "alpha");
    EXPECT_EQ(load("version: 1\nnode: ${N:-}\nlisten: [{address: \"h:7\"}]\n").options.node,
              "alpha:7");
    EXPECT_EQ(load("version: 1\nnode: ${N:-b}\n").options.node, "b");
}

}  // namespace
}  // namespace latchd::config
