// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "../../compat/answers.hpp"

#include "fake_host.hpp"

#include <latchd/resp/decoder.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace latchd::command {
namespace {

std::vector<compat::Case> read_table() {
    std::ifstream file(LATCHD_ANSWERS);
    std::ostringstream text;
    text << file.rdbuf();
    return compat::parse_answers(text.str());
}

class Answers : public testing::TestWithParam<compat::Case> {};

TEST_P(Answers, are_as_the_table_says) {
    Options options;
    if (GetParam().password) options.password = "secret";
    Fixture fixture(options);
    ClientState& client = fixture.connect();
    for (const compat::Step& step : GetParam().steps) {
        resp::Decoder decoder(resp::ClientTrust::authenticated);
        decoder.feed(step.request + "\r\n");
        const resp::Decoded request = decoder.next();
        ASSERT_EQ(request.status, resp::DecodeStatus::request) << step.request;
        std::string reply;
        const Disposition disposition =
            fixture.dispatcher.run(client, request.arguments, ++fixture.slot, reply);
        EXPECT_NE(disposition.kind, Disposition::Kind::started) << step.request;
        const bool closed = disposition.kind == Disposition::Kind::close_after_flush;
        EXPECT_TRUE(compat::reply_matches(step.reply, reply, closed))
            << "line " << step.line << ": " << step.request << "\n  got      "
            << compat::shown(reply) << "\n  expected " << step.reply;
    }
}

INSTANTIATE_TEST_SUITE_P(table, Answers, testing::ValuesIn(read_table()), [](const auto& info) {
    std::string name = std::to_string(info.index) + "_";
    for (const char c : info.param.name) {
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    }
    return name;
});

TEST(AnswersTable, is_read_and_has_many_cases) { EXPECT_GT(read_table().size(), 40u); }

TEST(AnswersTable, patterns_match_what_they_say_and_nothing_else) {
    EXPECT_TRUE(compat::reply_matches("+OK\\n", "+OK\r\n", false));
    EXPECT_FALSE(compat::reply_matches("+OK\\n", "+OK\r\n", true));
    EXPECT_FALSE(compat::reply_matches("+OK\\n", "+OK\r\n+OK\r\n", false));
    EXPECT_FALSE(compat::reply_matches("", "+OK\r\n", false));
    EXPECT_TRUE(compat::reply_matches(":{number}\\n{bulk}", ":-12\r\n$2\r\nab\r\n", false));
    EXPECT_FALSE(compat::reply_matches("{bulk}", "$3\r\nab\r\n", false));
    EXPECT_TRUE(compat::reply_matches("+OK\\n{close}", "+OK\r\n", true));
    EXPECT_TRUE(compat::reply_matches("-ERR {text}\\n", "-ERR a b\r\n", false));
    EXPECT_FALSE(compat::reply_matches("-ERR {text}\\n", "-ERR a\r\n:1\r\n", false));
}

}  // namespace
}  // namespace latchd::command
