// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include "fake_host.hpp"
#include "outcome.hpp"
#include "syntax.hpp"
#include "text.hpp"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

namespace latchd::command {
namespace {

template <class Visit>
void visit_all(Visit&& visit) {
    const Table table;
    for (const Command* command : table.all()) {
        visit(*command);
        for (const Command& subcommand : command->subcommands) visit(subcommand);
    }
}

TEST(CommandTable, names_every_command_once_in_lower_case) {
    std::set<std::string_view> names;
    visit_all([&](const Command& command) {
        EXPECT_TRUE(names.insert(command.name).second) << command.name;
        EXPECT_EQ(lower(command.name), command.name);
    });
    EXPECT_GT(names.size(), 100u);
}

TEST(CommandTable, has_a_complete_row_for_every_command) {
    visit_all([](const Command& command) {
        EXPECT_FALSE(command.summary.empty()) << command.name;
        EXPECT_FALSE(command.summary.ends_with('.')) << command.name;
        EXPECT_FALSE(command.since.empty()) << command.name;
        EXPECT_FALSE(command.group.empty()) << command.name;
        EXPECT_NE(command.arity, 0) << command.name;
        EXPECT_NE(command.categories, 0u) << command.name;
        EXPECT_TRUE(command.handler != nullptr || !command.subcommands.empty()) << command.name;
        for (const Command& subcommand : command.subcommands) {
            EXPECT_TRUE(subcommand.name.starts_with(std::string(command.name) + "|"));
        }
    });
}

// The arity and the syntax say the same: as many values as are needed at least.
std::size_t needed(const std::vector<Argument>& arguments) {
    std::size_t count = 0;
    for (const Argument& argument : arguments) {
        if (argument.optional) continue;
        if (argument.type == Argument::Type::pure_token) {
            count += 1;
        } else if (argument.type == Argument::Type::block) {
            count += needed(argument.arguments);
        } else {
            count += argument.token.empty() ? 1 : 2;
        }
    }
    return count;
}

TEST(CommandTable, has_syntax_and_arity_that_agree) {
    visit_all([](const Command& command) {
        if (!command.subcommands.empty() || command.name == "config|set") return;
        if (command.name == "client|kill") return;  // one option at least
        const std::size_t names = command.name.find('|') == std::string_view::npos ? 1 : 2;
        const auto least = static_cast<std::size_t>(std::abs(command.arity));
        EXPECT_EQ(names + needed(parse_syntax(command.syntax)), least) << command.name;
    });
}

TEST(CommandTable, finds_names_in_any_letter_case_and_nothing_else) {
    const Table table;
    ASSERT_NE(table.find("LoCk"), nullptr);
    EXPECT_EQ(table.find("LoCk")->name, "lock");
    EXPECT_EQ(table.find_full("CLIENT|SetName")->name, "client|setname");
    EXPECT_EQ(table.find(""), nullptr);
    EXPECT_EQ(table.find("lock "), nullptr);
    EXPECT_EQ(table.find(std::string(1'000, 'l')), nullptr);
    EXPECT_EQ(table.find(std::string_view("lock\0", 5)), nullptr);
    EXPECT_EQ(table.find_full("client|nothing"), nullptr);
}

TEST(Syntax, is_read_as_it_is_written) {
    const Table table;
    const std::vector<Argument> lock = parse_syntax(table.find("lock")->syntax);
    ASSERT_EQ(lock.size(), 12u);
    EXPECT_EQ(lock[0].name, "resource");
    EXPECT_EQ(lock[2].type, Argument::Type::one_of);
    EXPECT_TRUE(lock[2].optional);
    EXPECT_EQ(lock[2].arguments[0].token, "PX");
    EXPECT_EQ(lock[2].arguments[0].type, Argument::Type::integer);
    EXPECT_EQ(lock[2].arguments[1].token, "EX");
    EXPECT_EQ(lock[6].type, Argument::Type::block);
    EXPECT_EQ(lock[6].arguments[0].token, "KEEP");
    EXPECT_EQ(lock[6].arguments[1].token, "ONCLOSE RELEASE");
    EXPECT_TRUE(lock[6].arguments[1].optional);
    EXPECT_EQ(lock[11].token, "REQUIRE");
    EXPECT_EQ(lock[11].type, Argument::Type::one_of);
    ASSERT_EQ(lock[11].arguments.size(), 3u);
    EXPECT_EQ(lock[11].arguments[1].token, "shared");
    EXPECT_TRUE(parse_syntax("[channel...]")[0].multiple);
    EXPECT_TRUE(parse_syntax("").empty());
}

// Debian's hiredis refuses replies that nest too deeply, and so do tools built on it.
TEST(CommandDocs, can_be_read_by_hiredis) {
    Fixture fixture;
    ClientState& client = fixture.connect();
    for (const auto& args : std::vector<std::vector<std::string_view>>{
             {"COMMAND"}, {"COMMAND", "DOCS"}, {"COMMAND", "INFO"}, {"COMMAND", "LIST"}}) {
        const std::string bytes = fixture.ask(client, args);
        const std::unique_ptr<redisReader, void (*)(redisReader*)> reader(redisReaderCreate(),
                                                                          redisReaderFree);
        redisReaderFeed(reader.get(), bytes.data(), bytes.size());
        void* reply = nullptr;
        EXPECT_EQ(redisReaderGetReply(reader.get(), &reply), REDIS_OK) << reader->errstr;
        EXPECT_NE(reply, nullptr);
        EXPECT_EQ(reader->pos, reader->len) << "something is left behind the reply";
        if (reply != nullptr) freeReplyObject(reply);
    }
}

// redis-cli aborts on bulk strings in "flags".
TEST(CommandDocs, have_flags_as_simple_strings) {
    Fixture fixture;
    const std::string bytes = fixture.ask(fixture.connect(), {"COMMAND", "DOCS"});
    std::size_t count = 0;
    for (std::size_t at = bytes.find("$5\r\nflags\r\n"); at != std::string::npos;
         at = bytes.find("$5\r\nflags\r\n", at + 1)) {
        EXPECT_EQ(bytes[at + 11], '*');
        EXPECT_EQ(bytes[bytes.find('\n', at + 11) + 1], '+');
        ++count;
    }
    EXPECT_GT(count, 10u);
}

TEST(Help, of_every_container_lists_every_subcommand) {
    Fixture fixture;
    ClientState& client = fixture.connect();
    visit_all([&](const Command& command) {
        if (command.subcommands.empty()) return;
        const std::string text = fixture.ask(client, {command.name, "HELP"});
        for (const Command& subcommand : command.subcommands) {
            EXPECT_NE(text.find("\r\n+" + upper(subcommand.last_name())), std::string::npos)
                << subcommand.name;
        }
        EXPECT_EQ(text[0], '*');
    });
}

// Every row of the page's tables that begins with a word in capitals between backquotes.
std::vector<std::string> rows_of_page() {
    std::ifstream file(LATCHD_COMMANDS_PAGE);
    std::vector<std::string> rows;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("| `") && std::isupper(static_cast<unsigned char>(line[3])) != 0) {
            rows.push_back(line);
        }
    }
    return rows;
}

std::string escaped_bars(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '|') result += '\\';
        result += c;
    }
    return result;
}

TEST(CommandsPage, shows_the_table_of_commands_and_errors_as_it_is) {
    std::vector<std::string> expected;
    visit_all([&](const Command& command) {
        if (!command.own || !command.subcommands.empty()) return;
        std::string name = upper(command.name);
        if (const std::size_t bar = name.find('|'); bar != std::string::npos) name[bar] = ' ';
        if (!command.syntax.empty()) name += " " + std::string(command.syntax);
        expected.push_back("| `" + escaped_bars(name) + "` | " + std::string(command.summary) +
                           " |");
    });
    for (const ErrorRow& row : error_table()) {
        expected.push_back("| `" + std::string(row.word) + "` | " + std::string(row.when) + " | " +
                           std::string(row.retry) + " |");
    }
    std::vector<std::string> actual = rows_of_page();
    // For whoever changed the table: these lines belong into the page.
    for (const std::string& row : expected) {
        EXPECT_EQ(std::count(actual.begin(), actual.end(), row), 1) << row;
    }
    EXPECT_EQ(actual.size(), expected.size());
}

TEST(Info, has_the_sections_and_fields_that_tools_read) {
    Fixture fixture;
    ClientState& client = fixture.connect();
    fixture.host.store_list.push_back({.name = "a,b",
                                       .type = "redis",
                                       .address = "127.0.0.1:6379",
                                       .state = "up",
                                       .batches = {},
                                       .warning = {}});
    for (const std::size_t depth : {1u, 3u, 3u, 2000u}) {
        fixture.host.store_list.back().batches.add(depth);
    }
    fixture.host.node_counts.held = 3;
    (void)fixture.ask(client, {"NOSUCH"});
    const std::string usual = fixture.ask(client, {"INFO"});
    for (const std::string_view part :
         {"# Server\r\nredis_version:7.0.15\r\nserver_name:latchd\r\nlatchd_version:0.0.0\r\n",
          "\r\n# Persistence\r\nloading:0\r\n",
          "\r\nrole:master\r\n",
          "\r\nlocks_held:3\r\n",
          "\r\nredis_mode:standalone\r\n",
          "\r\nlatchd_state:ok\r\n",
          "\r\nstores:1\r\nstore0:name=a b,type=redis,addr=127.0.0.1:6379,state=up,",
          "\r\nstore0_batches:batches=4,commands=2007,le_1=1,le_2=1,le_4=3,le_8=3,",
          ",le_512=3,le_1024=3,le_inf=4\r\n",
          "\r\ndb0:keys=3,expires=3,avg_ttl=0\r\n"}) {
        EXPECT_NE(usual.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(usual.find("cmdstat_"), std::string::npos);
    const std::string all = fixture.ask(client, {"INFO", "everything"});
    for (const std::string_view part : {"\r\ncmdstat_info:calls=1,",
                                        "\r\nerrorstat_ERR:count=1\r\n",
                                        "\r\nlatency_percentiles_usec_info:p50="}) {
        EXPECT_NE(all.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(fixture.ask(client, {"INFO", "persistence", "CPU"}).find("# Locks"),
              std::string::npos);
    (void)fixture.ask(client, {"CONFIG", "RESETSTAT"});
    EXPECT_EQ(fixture.dispatcher.commands_processed(), 0u);
    (void)fixture.ask(client, {"HELLO", "3"});
    EXPECT_EQ(fixture.ask(client, {"INFO", "cluster"}),
              "=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n");
}

// The fields of one line are what INFO's readers split at ':'; a line end in a value is a hole.
TEST(Info, keeps_every_value_on_its_line) {
    Fixture fixture;
    fixture.host.node.reason = "bad\r\nlocks_held:9";
    const std::string text = fixture.ask(fixture.connect(), {"INFO", "latchd"});
    EXPECT_EQ(text.find("\nlocks_held"), std::string::npos) << text;
}

}  // namespace
}  // namespace latchd::command
