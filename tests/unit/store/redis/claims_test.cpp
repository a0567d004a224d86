// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "claims.hpp"

#include "values.hpp"

#include <gtest/gtest.h>

namespace latchd::store::redis {
namespace {

using core::authority::ClusterUuid;
using core::authority::Marker;
using core::authority::Nonce;
using resp::Value;
using std::chrono::milliseconds;
using Type = Value::Type;

Value error(std::string_view text) { return {Type::error, 0, std::string(text), {}}; }
Value none() { return {Type::null, 0, {}, {}}; }

const Marker ended{ClusterUuid("u"), 178'000, Nonce("x"), "run", 5};
constexpr std::string_view record_text =
    R"({"token":"t1","fence":764504178688001,"since_ms":4000,"lease_ms":7500,"delay_ms":2000,)"
    R"("owner":"o","holds":[{"token":"t1","request":"q1","attempts":["1.1"],"adopt_ms":7000}],)"
    R"("version":3,"ttl_ms":5000,"hard_ms":0,"renewals":1,"renew_max":7,)"
    R"("node":"n","client":"c","epoch":178000,"nonce":"x"})";

TEST(RedisClaimsReplies, show_a_marker_whole_absent_or_damaged) {
    const auto view = [](const Value& value) { return std::get<MarkerView>(read_marker(value)); };
    const Value whole =
        list({bulk("u"), bulk("178000"), bulk("x"), bulk("run"), bulk("5"), bulk("1790000000123")});
    EXPECT_EQ(view(whole).marker, ended);
    EXPECT_EQ(view(whole).used, core::authority::StoreMs{1'790'000'000'123});
    const MarkerView absent = view(list({none(), none(), none(), none(), none(), none()}));
    EXPECT_FALSE(absent.marker);
    EXPECT_FALSE(absent.is_damaged);
    for (const auto& [epoch, counter] : {std::pair{"many", "5"},
                                         {"0", "5"},
                                         {"1", ""},
                                         {"1", "-1"},
                                         {"1", "4294967296"},
                                         {"", "5"},
                                         {"1.5", "5"}}) {
        const MarkerView damaged =
            view(list({bulk("u"), bulk(epoch), bulk("x"), bulk("run"), bulk(counter), none()}));
        EXPECT_FALSE(damaged.marker) << epoch << " " << counter;
        EXPECT_TRUE(damaged.is_damaged) << epoch << " " << counter;
    }
    const Value untimed =
        list({bulk("u"), bulk("178000"), bulk("x"), bulk("run"), bulk("5"), none()});
    EXPECT_EQ(view(untimed).marker, ended);
    EXPECT_FALSE(view(untimed).used);
    EXPECT_TRUE(
        view(list({none(), bulk("1"), bulk("x"), bulk("run"), bulk("5"), none()})).is_damaged);
    EXPECT_TRUE(view(error("WRONGTYPE Operation against a key")).is_damaged);
    EXPECT_EQ(std::get<Refusal>(read_marker(error("LOADING x"))).cause, Cause::loading);
}

TEST(RedisClaimsReplies, that_cannot_be_read_are_in_doubt) {
    const std::vector<std::string> keys{"lock:r:1"};
    for (const Value& value : {bulk("read"),
                               list({}),
                               list({bulk("read")}),
                               list({bulk("read"), bulk("x"), none(), number(1)}),
                               list({bulk("read"), bulk("1"), none()}),
                               list({bulk("loaded"), bulk("1"), none(), number(1)}),
                               list({number(1), number(1)})}) {
        EXPECT_EQ(std::get<Refusal>(read_claims(Keys(), keys, ended, value)).cause, Cause::other);
        EXPECT_EQ(std::get<Refusal>(read_marker_set(value)).cause, Cause::other);
        EXPECT_EQ(std::get<Refusal>(read_marker(value)).cause, Cause::other);
        EXPECT_TRUE(std::holds_alternative<Refusal>(read_claims_load(value)));
    }
    const Value stale = list({bulk("STALE"), bulk("1"), bulk("n"), bulk("5")});
    EXPECT_EQ(std::get<Refusal>(read_claims(Keys(), keys, ended, stale)).cause, Cause::marker);
    EXPECT_EQ(std::get<Refusal>(read_claims_load(stale)).cause, Cause::marker);
}

TEST(RedisClaimsReplies, show_live_records_of_the_ended_epoch_alone) {
    const std::vector<std::string> names{
        "lock:r:1", "lock:r:2", "lock:r:3", "bar:{lock:r:1}:q", "bar:{lock:r:1}:t", "lockers"};
    std::string other(record_text);
    other.replace(other.find("\"x\"}"), 3, "\"y\"");
    const auto read_at = [&](std::string_view now) {
        return read_claims(Keys(),
                           names,
                           ended,
                           list({bulk("read"),
                                 bulk(now),
                                 bulk(record_text),
                                 number(9),
                                 bulk(other),
                                 number(9),
                                 none(),
                                 number(-2),
                                 bulk("*"),
                                 number(60'000),
                                 bulk(" 1.2 "),
                                 number(9),
                                 bulk("theirs"),
                                 number(-1)}));
    };
    const auto claims = std::get<core::Claims>(read_at("10000"));
    ASSERT_EQ(claims.records.size(), 1u);
    EXPECT_EQ(claims.records[0].fence, 764504178688001u);
    EXPECT_EQ(claims.records[0].left, milliseconds(1'500));
    ASSERT_EQ(claims.cancelled.size(), 1u);
    EXPECT_EQ(claims.cancelled[0].request, RequestId("q"));
    EXPECT_EQ(claims.cancelled[0].left, milliseconds(60'000));
    EXPECT_EQ(std::get<core::Claims>(read_at("13499")).records.size(), 1u) << "in its DELAY";
    EXPECT_EQ(std::get<core::Claims>(read_at("13500")).records.size(), 0u);
}

TEST(RedisClaimsReplies, do_not_pass_over_a_damaged_record_of_the_epoch) {
    const std::vector<std::string> names{"lock:r:1"};
    std::string damaged(record_text);
    damaged.replace(damaged.find("\"version\""), 9, "\"VERSION\"");
    const auto read = read_claims(
        Keys(), names, ended, list({bulk("read"), bulk("10000"), bulk(damaged), number(9)}));
    EXPECT_TRUE(std::holds_alternative<Refusal>(read));
}

}  // namespace
}  // namespace latchd::store::redis
