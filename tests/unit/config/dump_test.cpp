// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "configuration.hpp"
#include "made_up_host.hpp"
#include "schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

namespace latchd::config {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string root = LATCHD_SOURCE_ROOT;

std::string slurp(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

Configuration read_back(MadeUpHost& host,
                        const std::string& text,
                        const std::vector<Override>& overrides = {}) {
    host.put("/c.yaml", text);
    return configure("/c.yaml", overrides, host.surroundings());
}

// The lines with runs of spaces folded, so that the columns of comments don't matter.
std::string folded(const std::string& text) {
    return std::regex_replace(text, std::regex(" +# "), " # ");
}

constexpr const char* full = R"(version: 1
node: n:1
state_dir: "/with space/$$x"
listen:
  - {address: "unix:/run/a.sock", max_clients: 7}
  - {address: "[::1]:7000", idle_timeout: 90s}
locks: {ttl: 1500ms}
stores:
  - {name: r, type: redis, address: "h:1", database: 3, username: "ü: \"x\" #", password: "${HOME}"}
  - {name: m, type: mysql, address: "h:2", username: u, strategy: pessimistic, tls: {mode: verified, ca: /ca}}
authority: {arbiter: m, beat: 1s}
resources:
  list:
    - {name: "null", ttl: 2s, degrade: none, safety: strict}
    - {name: b, max_hold: 1m}
auth: {password_file: /p}
log: {target: "file:/l:", rate_limit: 3/2s}
)";

TEST(Dump, reads_back_as_the_same_options) {
    MadeUpHost host;
    host.put("/p", "secret\n");
    host.put("/ca", "-----BEGIN CERTIFICATE-----\n");
    const auto original = read_back(host, full);
    ASSERT_TRUE(original.diagnostics.empty()) << render(original.diagnostics, "/c.yaml");
    auto again = read_back(host, dump(original));
    ASSERT_FALSE(has_errors(again.diagnostics))
        << render(again.diagnostics, "/c.yaml") << dump(original);
    EXPECT_THAT(render(again.diagnostics, "/c.yaml"),
                HasSubstr("warning: stores[0].password: '***' is what --dump-config shows"));
    EXPECT_EQ(again.options.stores[0].password.reveal(), "***");
    again.options.stores[0].password = original.options.stores[0].password;
    EXPECT_EQ(again.options, original.options) << dump(original);
}

TEST(Dump, says_where_each_value_comes_from) {
    MadeUpHost host;
    const auto text = folded(dump(read_back(
        host,
        "version: 1\ncluster: a\nlocks:\n  ttl: 5s\n",
        {{"--cluster", "cluster", "b"}, {"--store", "stores[0].url", "redis://:pw@h/2"}})));
    EXPECT_THAT(text, HasSubstr("version: 1 # /c.yaml:1\n"));
    EXPECT_THAT(text, HasSubstr("cluster: b # command line\n"));
    EXPECT_THAT(text, HasSubstr("locks:\n  ttl: 5s # /c.yaml:4\n  ttl_min: 100ms # default\n"));
    EXPECT_THAT(text,
                HasSubstr("stores:\n  - name: redis # default\n"
                          "    type: redis # command line\n"
                          "    address: h:6379 # command line\n"
                          "    password: \"***\" # command line\n"
                          "    database: 2 # command line\n"
                          "    connect_timeout: 500ms # default\n"));
    EXPECT_THAT(text, HasSubstr("    check:\n      inter: 1s # default\n"));
    EXPECT_THAT(text, Not(HasSubstr("max_locks")));
}

TEST(Dump, shows_the_file_of_a_password_and_never_the_password) {
    MadeUpHost host;
    host.put("/p", "hunter2\n");
    const auto text = dump(read_back(host, "version: 1\nauth: {password_file: /p}\n"));
    EXPECT_THAT(folded(text), HasSubstr("auth:\n  password_file: /p # /c.yaml:2\n"));
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    const auto inline_text = dump(read_back(host, "version: 1\nauth: {password: hunter2}\n"));
    EXPECT_THAT(inline_text, HasSubstr("password: \"***\""));
    EXPECT_THAT(inline_text, Not(HasSubstr("hunter2")));
}

TEST(Dump, of_the_defaults_reads_back_as_the_defaults) {
    MadeUpHost host;
    const auto defaults = configure("", {}, host.surroundings());
    const auto again = read_back(host, dump(defaults));
    EXPECT_EQ(render(again.diagnostics, ""), "");
    EXPECT_EQ(again.options, defaults.options);
}

// Regenerate the page with LATCHD_WRITE_REFERENCE=1 and look at the difference.
TEST(Reference, is_the_page_in_docs) {
    const auto path = root + "/docs/configuration.md";
    if (std::getenv("LATCHD_WRITE_REFERENCE") != nullptr) std::ofstream(path) << reference();
    EXPECT_EQ(slurp(path), reference()) << "run this test with LATCHD_WRITE_REFERENCE=1";
}

TEST(Table, has_each_key_once_and_explains_it) {
    std::map<std::string_view, int> seen;
    for (const auto& key : all_keys()) {
        EXPECT_EQ(++seen[key.path], 1) << key.path;
        EXPECT_THAT(std::string(key.meaning), testing::EndsWith(".")) << key.path;
        const bool is_number =
            key.type == Type::count || key.type == Type::size || key.type == Type::duration;
        EXPECT_EQ(is_number, key.range.max > 0) << key.path;
    }
}

TEST(Table, has_defaults_within_their_ranges) {
    Options options;
    options.listen.emplace_back();
    options.stores.emplace_back();
    options.resources.list.emplace_back();
    for (const auto& key : all_keys()) {
        const auto text = get_field(key, Scope{options});
        if (!text) continue;
        EXPECT_EQ(set_field(key, Scope{options}, *text), "") << key.path;
        EXPECT_EQ(get_field(key, Scope{options}), text) << key.path;
    }
}

TEST(Examples, load_without_a_complaint) {
    for (const auto* name : {"latchd.yaml", "embedded.yaml", "redis.yaml", "fleet.yaml"}) {
        MadeUpHost host;
        const auto text = slurp(root + "/conf/" + name);
        ASSERT_FALSE(text.empty()) << name;
        EXPECT_EQ(render(read_back(host, text).diagnostics, name), "");
    }
}

TEST(Examples, show_the_defaults_in_the_full_one) {
    MadeUpHost host;
    const auto example = read_back(host, slurp(root + "/conf/latchd.yaml"));
    EXPECT_EQ(example.options, configure("", {}, host.surroundings()).options);
}

TEST(Examples, show_every_key_in_the_full_one) {
    const auto text = slurp(root + "/conf/latchd.yaml");
    for (const auto& key : all_keys()) {
        const std::string name(key.path.substr(key.path.find_last_of(".") + 1));
        EXPECT_TRUE(std::regex_search(text, std::regex("[\n #-]" + name + ":"))) << key.path;
    }
}

// What is commented out must be right as well.
TEST(Examples, keep_their_commented_redis_store_valid) {
    const auto text = slurp(root + "/conf/latchd.yaml");
    const auto begin = text.find("# stores:\n#   - name: redis\n");
    const auto end = text.find("#\n# or all", begin);
    ASSERT_NE(begin, std::string::npos);
    ASSERT_NE(end, std::string::npos);
    const auto block =
        std::regex_replace(text.substr(begin, end - begin), std::regex("(^|\n)# ?"), "$1");
    MadeUpHost host;
    host.put("/etc/latchd/redis.password", "pw\n");
    host.put("/etc/latchd/mysql.password", "pw\n");
    host.put("/etc/latchd/mysql-ca.pem", "-----BEGIN CERTIFICATE-----\n");
    const auto configuration = read_back(host, "version: 1\n" + block);
    EXPECT_EQ(render(configuration.diagnostics, "latchd.yaml"), "") << block;
    EXPECT_EQ(configuration.options.stores.at(0).kind, StoreKind::redis);
    EXPECT_EQ(configuration.options.stores.at(1).kind, StoreKind::mysql);
    EXPECT_EQ(configuration.options.stores.at(2).kind, StoreKind::local);
}

}  // namespace
}  // namespace latchd::config
