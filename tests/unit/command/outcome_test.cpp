// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "outcome.hpp"

#include "../../compat/answers.hpp"

#include <gtest/gtest.h>

namespace latchd::command {
namespace {

using std::chrono::milliseconds;

std::string written(const core::Outcome& outcome, resp::Protocol protocol, bool explain = false) {
    std::string out;
    write_outcome(outcome, explain, {out, protocol});
    return compat::shown(out);
}

std::string resp2(const core::Outcome& outcome, bool explain = false) {
    return written(outcome, resp::Protocol::resp2, explain);
}

std::string resp3(const core::Outcome& outcome, bool explain = false) {
    return written(outcome, resp::Protocol::resp3, explain);
}

core::LockView held_lock() {
    core::LockView view;
    view.held = true;
    view.record.key = {ResourceName("r"), LockId("1")};
    view.record.holds = {{.token = Token("0123456789abcdefABCDEF"),
                          .request = RequestId("request-of-mine"),
                          .attempts = {},
                          .adopt_left = {}}};
    view.record.fence = 42;
    view.record.left = milliseconds(1'500);
    view.record.ttl = milliseconds(3'000);
    view.tier = "redis";
    view.epoch = 3;
    return view;
}

TEST(Outcome, of_a_grant_is_an_array_of_five) {
    const core::Granted grant{.token = Token("tok"),
                              .fence = (std::uint64_t{1} << 53) - 1,
                              .left = milliseconds(29'999),
                              .holds = 2,
                              .tier = "local"};
    const std::string expected = "*5\\n$3\\ntok\\n:9007199254740991\\n:29999\\n:2\\n$5\\nlocal\\n";
    EXPECT_EQ(resp2(grant), expected);
    EXPECT_EQ(resp3(grant), expected);
}

TEST(Outcome, is_nil_when_somebody_else_holds_the_lock) {
    EXPECT_EQ(resp2(core::Refused{}), "$-1\\n");
    EXPECT_EQ(resp3(core::Refused{}), "_\\n");
}

TEST(Outcome, of_a_lease_is_told_rounded_down_and_never_negative) {
    const core::Granted grant{.token = Token("t"), .fence = 1, .left = Duration(1'999), .tier = ""};
    EXPECT_NE(resp2(grant).find(":1\\n:1\\n:1\\n"), std::string::npos) << resp2(grant);
    const core::Granted over{.token = Token("t"), .fence = 1, .left = Duration(-1), .tier = ""};
    EXPECT_NE(resp2(over).find(":1\\n:0\\n:1\\n"), std::string::npos) << resp2(over);
}

TEST(Outcome, of_numbers_is_an_integer) { EXPECT_EQ(resp2(core::Number{-1}), ":-1\\n"); }

TEST(Outcome, of_errors_begins_with_the_word) {
    const std::vector<std::pair<core::ErrorWord, std::string>> table = {
        {core::ErrorWord::err, "-ERR x\\n"},
        {core::ErrorWord::degraded, "-DEGRADED x\\n"},
        {core::ErrorWord::nostore, "-NOSTORE x\\n"},
        {core::ErrorWord::uncertain, "-UNCERTAIN x\\n"},
        {core::ErrorWord::lost, "-LOST x\\n"},
        {core::ErrorWord::queue_full, "-QUEUEFULL x\\n"},
        {core::ErrorWord::limit, "-LIMIT x\\n"},
    };
    for (const auto& [word, expected] : table) EXPECT_EQ(resp2(core::Error{word, "x"}), expected);
}

// Clients act on these words by themselves, as Redis means them.
TEST(Outcome, errors_never_begin_with_a_word_that_clients_act_on) {
    for (const ErrorRow& row : error_table()) {
        for (const std::string_view word : {"BUSY",
                                            "WAIT",
                                            "MOVED",
                                            "ASK",
                                            "LOADING",
                                            "READONLY",
                                            "TRYAGAIN",
                                            "MASTERDOWN",
                                            "CLUSTERDOWN",
                                            "OOM"}) {
            EXPECT_NE(row.word, word);
        }
    }
}

TEST(Outcome, of_a_lock_shows_tails_of_its_secrets_only) {
    for (const std::string& text : {resp2(held_lock()), resp3(held_lock())}) {
        EXPECT_NE(text.find("$7\\n*ABCDEF\\n"), std::string::npos) << text;
        EXPECT_EQ(text.find("abcdefABCDEF"), std::string::npos) << text;
        EXPECT_EQ(text.find("request-of"), std::string::npos) << text;
        EXPECT_NE(text.find("$7\\n*f-mine\\n"), std::string::npos) << text;
    }
}

// Counts what an aggregate's header promises.
std::size_t values_of(std::string_view reply) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < reply.size(); ++count) {
        const std::size_t line = reply.find("\\n", at);
        const bool has_body = reply[at] == '$' && reply.substr(at + 1, line - at - 1) != "-1";
        at = line + 2;
        if (has_body) at = reply.find("\\n", at) + 2;
    }
    return count;
}

TEST(Outcome, of_a_lock_has_as_many_fields_as_its_header_says) {
    core::LockView view = held_lock();
    view.explanation = {"first", "second"};
    // 23 pairs, and an array of one token and one of one request.
    EXPECT_EQ(values_of(resp2(view)), 1 + 2 * 23 + 2u);
    EXPECT_EQ(resp2(view).substr(0, 5), "*46\\n");
    EXPECT_EQ(resp3(view).substr(0, 5), "%23\\n");
    EXPECT_EQ(values_of(resp2(view, true)), 1 + 2 * 24 + 2 + 2u);
    view.record.hard_left = milliseconds(5);
    EXPECT_EQ(values_of(resp3(view)), 1 + 2 * 23 + 2u);
    core::LockView free;
    free.record.key = view.record.key;
    EXPECT_EQ(values_of(resp2(free)), 1 + 2 * 6u);
    EXPECT_EQ(values_of(resp3(free, true)), 1 + 2 * 7u);
    EXPECT_NE(resp2(free).find("$5\\nstate\\n$4\\nfree\\n"), std::string::npos);
}

TEST(Outcome, of_a_lock_in_its_delay_says_so) {
    core::LockView view = held_lock();
    view.record.left = milliseconds(-5);
    EXPECT_NE(resp2(view).find("$5\\ndelay\\n"), std::string::npos);
    EXPECT_NE(resp2(view).find("$7\\nleft_ms\\n:-5\\n"), std::string::npos);
}

TEST(Outcome, of_a_list_is_a_cursor_and_rows) {
    core::LockList list{.cursor = 17, .rows = {held_lock()}};
    EXPECT_EQ(resp2(list).substr(0, 23), "*2\\n$2\\n17\\n*1\\n*26\\n$8");
    EXPECT_EQ(resp3(list).substr(0, 23), "*2\\n$2\\n17\\n*1\\n%13\\n$8");
    EXPECT_EQ(values_of(resp2(list)), 3 + 1 + 2 * 13u);
    EXPECT_EQ(resp2(core::LockList{}), "*2\\n$1\\n0\\n*0\\n");
}

TEST(Outcome, of_an_event_is_one_line_whatever_the_names_are) {
    core::Happened happened;
    happened.kind = core::Happened::Kind::revoked;
    happened.key = {ResourceName("r"), LockId("a b\r\n")};
    happened.fence = 7;
    happened.owner = OwnerName("o 1");
    happened.reason = "FORCEUNLOCK by x";
    EXPECT_EQ(event_text(happened), "revoked r/a%20b%0D%0A#7 owner=o%201 FORCEUNLOCK by x");
}

}  // namespace
}  // namespace latchd::command
