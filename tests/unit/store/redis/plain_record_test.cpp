// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "plain_record.hpp"

#include "record_json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace latchd::store::redis {
namespace {

const LockKey plain_key{ResourceName("r"), LockId("1")};
constexpr std::int64_t seen_at_ms = 10'000;

const std::string plain_text =
    R"({"token":"t1","fence":764504178688001,"since_ms":4000,"lease_ms":-5500,"delay_ms":2000,)"
    R"("owner":"","holds":[)"
    R"({"token":"t1","request":"q1","attempts":["9007199254740991.1","2.3"],"adopt_ms":7000},)"
    R"({"token":"t2","request":"q2","attempts":["2.4"],"adopt_ms":0}],"version":3,)"
    R"("ttl_ms":5000,"hard_ms":0,"renewals":1,"renew_max":7,)"
    R"("node":"n","client":"c d","epoch":178000,"nonce":"x"})";

// As a JSON parser reads it: a blank behind the first brace is nothing that the scripts write.
std::optional<core::GrantRecord> read_with_care(std::string text) {
    text.insert(1, " ");
    EXPECT_FALSE(read_plain_record(plain_key, text, seen_at_ms));
    return parse_record(plain_key, text, seen_at_ms);
}

std::string with(std::string_view what, std::string_view instead) {
    std::string text = plain_text;
    return text.replace(text.find(what), what.size(), instead);
}

TEST(RedisPlainRecord, is_read_as_json_is) {
    for (const std::string& text : {plain_text,
                                    with("-5500", "0"),
                                    with("\"hard_ms\":0", "\"hard_ms\":-1"),
                                    with("764504178688001", "9007199254740991"),
                                    with("c d", "127.0.0.1:4 \xff\x7f"),
                                    with("\"owner\":\"\"", "\"owner\":\"{[,:]}\"")}) {
        const auto record = read_plain_record(plain_key, text, seen_at_ms);
        ASSERT_TRUE(record) << text;
        EXPECT_EQ(record, read_with_care(text)) << text;
        EXPECT_EQ(record, parse_record(plain_key, text, seen_at_ms));
    }
}

TEST(RedisPlainRecord, of_a_fresh_grant_is_plain) {
    core::Acquire wish;
    wish.key = plain_key;
    wish.token = Token("AAAAAAAAAAAAAAAAAAAAAA");
    wish.request = RequestId("BBBBBBBBBBBBBBBBBBBBBB");
    wish.attempt = {5'349'762'103'462'311, 17};
    wish.node = NodeName("web-1.example:7411");
    wish.client = ClientName("127.0.0.1:40000 name");
    wish.ttl = std::chrono::seconds(30);
    wish.hold_max = std::chrono::seconds(90);
    wish.retry_window = std::chrono::seconds(15);
    const std::string text = grant_head(wish.token) + "865893" + ",\"since_ms\":9000" +
                             grant_body(wish, record_tail(178'000, "8f14e45fceea167a"));
    const auto record = read_plain_record(plain_key, text, seen_at_ms);
    ASSERT_TRUE(record) << text;
    EXPECT_EQ(record->holds.front().attempts.front(), wish.attempt);
    EXPECT_EQ(record, read_with_care(text));
}

TEST(RedisPlainRecord, that_is_spelled_otherwise_is_left_to_the_parser) {
    for (const std::string& text :
         {with("\"c d\"", "\"c\\u0020d\""),
          with("\"c d\"", "\"c\\\"d\""),
          with("\"ttl_ms\":5000,\"hard_ms\":0", "\"hard_ms\":0,\"ttl_ms\":5000"),
          with("\"version\":3", "\"version\": 3"),
          plain_text + " "}) {
        EXPECT_FALSE(read_plain_record(plain_key, text, seen_at_ms)) << text;
        EXPECT_TRUE(parse_record(plain_key, text, seen_at_ms)) << text;
    }
}

TEST(RedisPlainRecord, that_is_wrong_is_read_in_neither_way) {
    std::vector<std::string> wrong = {with("\"version\":3", "\"version\":03"),
                                      with("\"version\":3", "\"version\":-3"),
                                      with("\"version\":3", "\"version\":9007199254740992"),
                                      with("\"version\":3", "\"version\":99999999999999999999"),
                                      with("\"version\":3", "\"version\":+3"),
                                      with("\"version\":3", "\"version\":3.5"),
                                      with("\"version\":3", "\"version\":"),
                                      with("\"renewals\":1", "\"renewals\":4294967296"),
                                      with("\"c d\"", "\"c\nd\""),
                                      with("[\"2.4\"]", "[]"),
                                      with("[\"2.4\"]", "[\"2\"]"),
                                      with("[\"2.4\"]", "[\"2.4\",]"),
                                      with(",{\"token\":\"t2\"", ",,{\"token\":\"t2\""),
                                      plain_text + "}"};
    for (std::size_t size = 0; size < plain_text.size(); ++size) {
        wrong.push_back(plain_text.substr(0, size));
    }
    for (const std::string& text : wrong) {
        EXPECT_FALSE(read_plain_record(plain_key, text, seen_at_ms)) << text;
        EXPECT_FALSE(parse_record(plain_key, text, seen_at_ms)) << text;
    }
}

}  // namespace
}  // namespace latchd::store::redis
