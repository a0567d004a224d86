// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "made_up_host.hpp"

#include <latchd/config/command_line.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace latchd::config {
namespace {

using testing::HasSubstr;
using testing::Not;

class CommandLine : public testing::Test {
protected:
    Invocation parse(const std::vector<std::string>& arguments) const {
        return parse_command_line(arguments, host_.surroundings());
    }
    MadeUpHost host_;
};

TEST_F(CommandLine, without_arguments_serves_the_defaults) {
    const auto invocation = parse({});
    EXPECT_EQ(invocation.action, Action::serve);
    EXPECT_EQ(invocation.exit_code, 0);
    EXPECT_EQ(invocation.output, "");
    EXPECT_EQ(invocation.messages, "");
    EXPECT_EQ(invocation.options.listen.at(0).address.to_string(), "127.0.0.1:6385");
    EXPECT_EQ(invocation.options.stores.at(0).kind, StoreKind::local);
}

TEST_F(CommandLine, sets_what_its_options_name) {
    const auto invocation = parse({"--listen",
                                   "127.0.0.1:0",
                                   "--listen=[::1]:7000",
                                   "--listen",
                                   "unix:/run/l.sock",
                                   "--store",
                                   "redis://h:1/2",
                                   "--cluster",
                                   "c",
                                   "--node",
                                   "n",
                                   "--state-dir",
                                   "/s",
                                   "--runtime-dir",
                                   "/r",
                                   "--threads",
                                   "1",
                                   "--log-level",
                                   "debug",
                                   "--log-target",
                                   "stderr"});
    ASSERT_EQ(invocation.exit_code, 0) << invocation.messages;
    const auto& options = invocation.options;
    ASSERT_EQ(options.listen.size(), 3U);
    EXPECT_EQ(options.listen[0].address, (Address{"127.0.0.1", 0, ""}));
    EXPECT_EQ(options.listen[1].address, (Address{"::1", 7000, ""}));
    EXPECT_EQ(options.listen[2].address.path, "/run/l.sock");
    ASSERT_EQ(options.stores.size(), 1U);
    EXPECT_EQ(options.stores[0].database, "2");
    EXPECT_EQ(options.cluster, "c");
    EXPECT_EQ(options.node, "n");
    EXPECT_EQ(options.state_dir, "/s");
    EXPECT_EQ(options.runtime_dir, "/r");
    EXPECT_EQ(options.log.level, LogLevel::debug);
    EXPECT_EQ(options.log.target.kind, LogTarget::Kind::standard_error);
}

TEST_F(CommandLine, reads_the_file_named_by_option_then_environment_then_the_usual_one) {
    host_.put("/etc/latchd/latchd.yaml", "version: 1\ncluster: usual\n");
    EXPECT_EQ(parse({}).options.cluster, "usual");
    host_.put("/b.yaml", "version: 1\ncluster: environment\n");
    host_.variables["LATCHD_CONFIG"] = "/b.yaml";
    EXPECT_EQ(parse({}).options.cluster, "environment");
    host_.put("/a.yaml", "version: 1\ncluster: option\n");
    EXPECT_EQ(parse({"-c", "/a.yaml"}).options.cluster, "option");
    EXPECT_EQ(parse({"-c", "/a.yaml"}).config_file, "/a.yaml");
}

TEST_F(CommandLine, refuses_a_named_file_that_is_not_there) {
    const auto invocation = parse({"-c", "/nope.yaml"});
    EXPECT_EQ(invocation.exit_code, exit_configuration);
    EXPECT_THAT(invocation.messages, HasSubstr("cannot read /nope.yaml: no such file"));
    host_.variables["LATCHD_CONFIG"] = "/nope.yaml";
    EXPECT_EQ(parse({}).exit_code, exit_configuration);
}

TEST_F(CommandLine, refuses_the_usual_file_when_it_cannot_be_read) {
    host_.files["/etc/latchd/latchd.yaml"] = {FileContent::Status::failed, "", 0, "denied"};
    EXPECT_EQ(parse({}).exit_code, exit_configuration);
    EXPECT_THAT(parse({}).messages, HasSubstr("denied"));
}

TEST_F(CommandLine, wins_over_the_file_and_replaces_its_lists) {
    host_.put("/a.yaml", R"(version: 1
cluster: file
listen: [{address: "h:1"}, {address: "h:2"}]
stores: [{type: redis, address: "h:6379"}]
log: {level: error}
)");
    const auto invocation = parse(
        {"-c", "/a.yaml", "--cluster", "line", "--listen", "localhost:3", "--store", "local:"});
    ASSERT_EQ(invocation.messages, "");
    EXPECT_EQ(invocation.options.cluster, "line");
    ASSERT_EQ(invocation.options.listen.size(), 1U);
    EXPECT_EQ(invocation.options.listen[0].address.to_string(), "localhost:3");
    ASSERT_EQ(invocation.options.stores.size(), 1U);
    EXPECT_EQ(invocation.options.stores[0].kind, StoreKind::local);
    EXPECT_EQ(invocation.options.log.level, LogLevel::error);
}

TEST_F(CommandLine, that_cannot_be_read_is_wrong_usage) {
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"--nope"},
                                               {"--nope=1"},
                                               {"extra"},
                                               {"--cluster"},
                                               {"--cluster", "a", "--cluster", "b"},
                                               {"--listen"},
                                               {"--store", "local:", "local:"},
                                               {"-t", "--dump-config"},
                                               {"-c", ""},
                                               {"-x"}}) {
        const auto invocation = parse(arguments);
        EXPECT_EQ(invocation.exit_code, exit_usage) << arguments[0];
        EXPECT_THAT(invocation.messages, HasSubstr("latchd: ")) << arguments[0];
        EXPECT_TRUE(has_errors(invocation.diagnostics));
        EXPECT_EQ(invocation.output, "");
    }
}

TEST_F(CommandLine, with_refused_values_names_each_option) {
    const auto invocation = parse({"--threads",
                                   "65",
                                   "--listen",
                                   "6385",
                                   "--cluster",
                                   "a b",
                                   "--log-level",
                                   "loud",
                                   "--store",
                                   "redis://u:hunter2@h:x",
                                   "--state-dir",
                                   "s"});
    EXPECT_EQ(invocation.exit_code, exit_configuration);
    EXPECT_EQ(invocation.messages,
              "command line: --listen: '6385' has no port; write 'host:port' or 'unix:/path'\n"
              "command line: --store: 'redis://u:***@h:x': port 'x' is not a number from 0 to "
              "65535\n"
              "command line: --cluster: 'a b' is not a name: 1 to 64 of A-Z a-z 0-9 _ . : -\n"
              "command line: --state-dir: 's' is not an absolute path\n"
              "command line: --threads: '65' is out of range; from 1 to 64\n"
              "command line: --log-level: 'loud' is not one of debug, info, warning, error\n"
              "6 errors; configuration not applied\n");
}

TEST_F(CommandLine, refuses_numbers_that_are_none_for_threads) {
    for (const auto* text : {"0", "-1", "1.0", "NaN", "one", "", "99999999999999999999"}) {
        EXPECT_EQ(parse({std::string("--threads=") + text}).exit_code == 0, false) << text;
    }
}

TEST_F(CommandLine, takes_stores_in_order_of_preference) {
    const auto three =
        parse({"--store", "redis://h", "--store", "mysql://u@h/d", "--store", "local:"});
    ASSERT_EQ(three.exit_code, 0) << three.messages;
    ASSERT_EQ(three.options.stores.size(), 3U);
    EXPECT_EQ(three.options.stores[1].kind, StoreKind::mysql);
    EXPECT_EQ(three.options.stores[1].username, "u");
    EXPECT_EQ(three.options.authority.arbiter, "mysql");
}

TEST_F(CommandLine, refuses_stores_that_cannot_be_combined) {
    const auto two = parse({"--store", "redis://h:1", "--store", "redis://h:2"});
    EXPECT_EQ(two.exit_code, exit_configuration);
    EXPECT_THAT(two.messages, HasSubstr("needs a store of type mysql as arbiter"));
    EXPECT_THAT(parse({"--store", "local:", "--store", "redis://h"}).messages,
                HasSubstr("must be the last one"));
    EXPECT_THAT(parse({"--store", "redis+sentinel://h/m"}).messages,
                HasSubstr("sentinels are not part of this version"));
}

TEST_F(CommandLine, warns_of_a_password_that_others_can_see) {
    const auto invocation = parse({"--store", "redis://:hunter2@h"});
    EXPECT_EQ(invocation.exit_code, 0);
    EXPECT_THAT(invocation.messages, HasSubstr("warning: --store: the password is visible"));
    EXPECT_THAT(invocation.messages, Not(HasSubstr("hunter2")));
    EXPECT_EQ(invocation.options.stores[0].password.reveal(), "hunter2");
}

TEST_F(CommandLine, checks_the_configuration_without_serving) {
    host_.put("/a.yaml", "version: 1\n");
    const auto good = parse({"-t", "-c", "/a.yaml"});
    EXPECT_EQ(good.action, Action::check_config);
    EXPECT_EQ(good.exit_code, 0);
    EXPECT_EQ(good.output, "/a.yaml is valid\n");
    host_.put("/a.yaml", "version: 1\nclustr: a\n");
    const auto bad = parse({"--check-config", "-c", "/a.yaml"});
    EXPECT_EQ(bad.exit_code, exit_configuration);
    EXPECT_EQ(bad.output, "");
    EXPECT_EQ(bad.messages,
              "/a.yaml:2:1: unknown key 'clustr' (did you mean 'cluster'?)\n"
              "1 error; configuration not applied\n");
    EXPECT_EQ(parse({"-t"}).output, "no configuration file; the defaults are valid\n");
}

TEST_F(CommandLine, prints_help_and_version_to_standard_output) {
    const auto help = parse({"-h"});
    EXPECT_EQ(help.action, Action::help);
    EXPECT_EQ(help.exit_code, 0);
    for (const auto* option : {"--listen",
                               "--store",
                               "--cluster",
                               "--node",
                               "--state-dir",
                               "--runtime-dir",
                               "--threads",
                               "--config",
                               "--check-config",
                               "--dump-config",
                               "--log-level",
                               "--log-target",
                               "--version"}) {
        EXPECT_THAT(help.output, HasSubstr(option));
    }
    const auto version = parse({"--version"});
    EXPECT_EQ(version.action, Action::version);
    EXPECT_EQ(version.output, "latchd " LATCHD_VERSION "\n");
    EXPECT_EQ(version.exit_code, 0);
}

}  // namespace
}  // namespace latchd::config
