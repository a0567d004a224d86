// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include "identity.hpp"
#include "record_json.hpp"

#include <latchd/resp/decoder.hpp>

#include <gtest/gtest.h>

namespace latchd::store::redis {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The arguments of the only command in the buffer.
std::vector<std::string> arguments_of(const std::string& bytes) {
    resp::Decoder decoder(resp::ClientTrust::authenticated);
    decoder.feed(bytes);
    std::vector<std::string> all;
    for (const std::string_view argument : decoder.next().arguments) all.emplace_back(argument);
    EXPECT_EQ(decoder.buffered_bytes(), 0u) << "more than one command";
    return all;
}

class RedisCalls : public ::testing::Test {
protected:
    std::vector<std::string> call(const core::Operation& operation) {
        std::string out;
        append_operation(
            out, {keys_, scripts_, {7, 1'700'000'000'123, milliseconds(200)}}, operation);
        return arguments_of(out);
    }
    // What every call begins with: digest, keys, guard.
    std::vector<std::string> head(Script script, std::vector<std::string> keys, bool is_timed) {
        std::vector<std::string> all = {"EVALSHA",
                                        std::string(scripts_.digest(script)),
                                        std::to_string(keys.size() + 1),
                                        "shop:latchd:marker"};
        all.insert(all.end(), keys.begin(), keys.end());
        all.emplace_back("7");
        all.emplace_back(is_timed ? "1699999999923" : "");
        all.emplace_back(is_timed ? "1700000000323" : "~");
        return all;
    }
    static std::vector<std::string> joined(std::vector<std::string> all,
                                           const std::vector<std::string>& rest) {
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    }
    static core::Acquire acquire() {
        core::Acquire wish;
        wish.key = {ResourceName("r"), LockId("1")};
        wish.request = RequestId("q");
        wish.attempt = {(std::uint64_t{1} << 53) - 1, 3};
        wish.token = Token("t");
        wish.owner = OwnerName("o");
        wish.node = NodeName("n");
        wish.client = ClientName("c");
        wish.ttl = microseconds(1'999);
        wish.delay = microseconds(1'001);
        wish.retry_window = milliseconds(15'000);
        return wish;
    }

    Keys keys_{"shop"};
    Scripts scripts_{178'000, "nonce"};
    const std::string lock_ = "shop:lock:r:1";
    const std::string queue_ = "shop:queue:{shop:lock:r:1}:178000";
    const std::string bar_ = "shop:bar:{shop:lock:r:1}:q";
    const std::vector<std::string> acquire_ = {
        R"({"token":"t","fence":)",
        R"(,"lease_ms":1,"delay_ms":2,"owner":"o","holds":[{"token":"t","request":"q",)"
        R"("attempts":["9007199254740991.3"],"adopt_ms":15000}],"version":1,"ttl_ms":1,)"
        R"("hard_ms":0,"renewals":0,"renew_max":0,"node":"n","client":"c","epoch":178000,)"
        R"("nonce":"nonce"})",
        "3",
        ""};
    const std::vector<std::string> release_ = {R"({"token":"t",)", R"(,"node":"n","client":)"};
};

TEST_F(RedisCalls, round_leases_down_and_delays_up) {
    EXPECT_EQ(call(acquire()),
              joined(head(Script::acquire, {lock_, queue_, bar_}, true), acquire_));
}

TEST_F(RedisCalls, ask_for_many_as_for_each_with_what_they_have_in_common_once) {
    const core::Operation lock = acquire();
    const core::Operation unlock =
        core::Release{acquire().key, acquire().token, acquire().node, std::nullopt};
    const auto many = [this](std::vector<const core::Operation*> operations) {
        std::string out;
        append_many(out, {keys_, scripts_, {7, 1'700'000'000'123, milliseconds(200)}}, operations);
        return arguments_of(out);
    };
    EXPECT_EQ(many({&lock, &unlock}),
              joined(joined(head(Script::many, {lock_, queue_, bar_, lock_, queue_}, true), {"ar"}),
                     joined(acquire_, release_)));
    EXPECT_EQ(many({&unlock, &unlock}),
              joined(joined(head(Script::many, {lock_, queue_, lock_, queue_}, false), {"rr"}),
                     joined(release_, release_)));
    core::Release with_waiter = std::get<core::Release>(unlock);
    with_waiter.then = acquire();
    EXPECT_TRUE(fits_many(lock));
    EXPECT_TRUE(fits_many(unlock));
    EXPECT_FALSE(fits_many(with_waiter));
    EXPECT_FALSE(fits_many(core::Inspect{acquire().key}));
}

TEST_F(RedisCalls, never_ask_for_a_time_of_zero_where_it_would_mean_none) {
    core::Acquire wish = acquire();
    wish.ttl = microseconds(1);
    wish.hold_max = microseconds(1);
    wish.keep = true;
    wish.join_only = true;
    wish.renew_max = 0xffffffff;
    const auto arguments = call(wish);
    ASSERT_EQ(arguments.size(), 14u);
    const std::string& body = arguments[11];
    EXPECT_TRUE(body.starts_with(R"(,"lease_ms":1,)")) << body;
    EXPECT_NE(body.find(R"("ttl_ms":1,"hard_ms":1,)"), std::string::npos) << body;
    EXPECT_NE(body.find(R"("renew_max":4294967295,)"), std::string::npos) << body;
    EXPECT_EQ(arguments[12], "3");
    EXPECT_EQ(arguments[13], "jk");
    wish.waits = true;
    wish.join_only = false;
    EXPECT_EQ(call(wish).back(), "kw");
    core::Renew renew{wish.key, wish.token, wish.node, microseconds(1), true};
    EXPECT_EQ(call(renew), joined(head(Script::renew, {lock_}, true), {"t", "n", "1", "1", ""}));
    renew.ttl.reset();
    renew.stands = Attempt{7, 0};
    EXPECT_EQ(call(renew), joined(head(Script::renew, {lock_}, true), {"t", "n", "0", "1", "7.0"}));
}

TEST_F(RedisCalls, check_the_clock_only_where_something_may_be_granted) {
    const core::Acquire wish = acquire();
    core::Release release{wish.key, wish.token, wish.node, std::nullopt};
    EXPECT_EQ(call(release), joined(head(Script::release, {lock_, queue_}, false), release_));
    release.then = wish;
    const auto timed = joined(head(Script::release, {lock_, queue_, bar_}, true), release_);
    EXPECT_EQ(call(release), joined(joined(timed, acquire_), {""}));
    release.yields = true;
    EXPECT_EQ(call(release), joined(joined(timed, acquire_), {"y"}));
    EXPECT_EQ(call(core::StepOut{wish.key, wish.node}),
              joined(head(Script::step_out, {lock_, queue_}, false), {"n"}));
    core::Undo undo{wish.key, wish.request, wish.attempt, wish.node, std::nullopt};
    EXPECT_EQ(call(undo),
              joined(head(Script::undo, {lock_, queue_, bar_}, false),
                     {"q", "9007199254740991.3", "n", "0"}));
    undo.tombstone = microseconds(1);
    EXPECT_EQ(call(undo).back(), "1");
    EXPECT_EQ(call(core::Cancel{wish.key, wish.request, wish.node, milliseconds(120'000)}),
              joined(head(Script::cancel, {lock_, queue_, bar_}, false), {"q", "n", "120000"}));
    EXPECT_EQ(call(core::Force{wish.key, wish.node, std::nullopt}),
              joined(head(Script::force, {lock_, queue_}, false), {"n", ""}));
    EXPECT_EQ(call(core::Force{wish.key, wish.node, make_fence(178'000, 5)}).back(),
              std::to_string(make_fence(178'000, 5)));
    EXPECT_EQ(call(core::Inspect{wish.key}), head(Script::inspect, {lock_}, false));
}

TEST_F(RedisCalls, ask_for_pages_as_scan_does) {
    EXPECT_EQ(call(core::List{"r:*", 50, 17}),
              (std::vector<std::string>{"SCAN", "17", "MATCH", "shop:lock:r:*", "COUNT", "50"}));
    EXPECT_EQ(call(core::List{"", 0, 0}).back(), "1");
    std::string out;
    const std::vector<std::string> names = {"shop:lock:r:1", "shop:lock:r:2"};
    append_sweep(out, {keys_, scripts_, {}}, names);
    EXPECT_EQ(arguments_of(out).size(), 4u + 2u + 3u);
}

TEST_F(RedisCalls, carry_a_record_of_any_bytes_to_restore) {
    core::GrantRecord record;
    record.key = acquire().key;
    record.holds = {{Token("t"), RequestId(std::string("\0\xff\"\\", 4)), {{1, 2}, {3, 4}}, {}},
                    {Token("u"), RequestId("/\x7f\n"), {{5, 6}}, milliseconds(9)}};
    record.fence = make_fence(178'000, 5);
    record.age = milliseconds(7'000);
    record.left = -microseconds(1'500);
    record.delay = microseconds(1'500);
    record.version = 4;
    auto arguments = call(core::Restore{record, true});
    EXPECT_EQ(arguments.at(2), "4") << "marker, lock, and a bar of each hold";
    EXPECT_EQ(arguments.at(5), keys_.bar(record.key, record.holds[0].request));
    EXPECT_EQ(arguments.at(6), keys_.bar(record.key, record.holds[1].request));
    EXPECT_EQ(arguments.back(), "1");
    EXPECT_EQ(arguments[arguments.size() - 2],
              "{\"fence\":\"764504178688005\",\"passed_ms\":7000,\"lease_ms\":6998,\"delay_ms\":2,"
              "\"owner\":\"\",\"holds\":["
              "{\"token\":\"t\",\"request\":\"\\u0000\xff\\\"\\\\\",\"attempts\":[\"1.2\",\"3.4\"],"
              "\"adopt_ms\":7000},"
              "{\"token\":\"u\",\"request\":\"\\/\\u007f\\n\",\"attempts\":[\"5.6\"],"
              "\"adopt_ms\":7009}],\"version\":4,\"ttl_ms\":0,\"hard_ms\":0,\"renewals\":0,"
              "\"renew_max\":0,\"node\":\"\",\"client\":\"\"}");
    record.hard_left = milliseconds(1'000);
    arguments = call(core::Restore{record, false});
    EXPECT_NE(arguments[arguments.size() - 2].find("\"hard_ms\":8000,"), std::string::npos);
}

TEST(RedisScriptTexts, differ_by_epoch_and_nonce_except_the_authority_s) {
    const Scripts one(1, "a");
    for (std::size_t i = 0; i < script_count; ++i) {
        const auto script = static_cast<Script>(i);
        const bool is_bound = script < Script::marker_set;
        EXPECT_EQ(one.digest(script).size(), 40u);
        EXPECT_EQ(one.digest(script) != Scripts(1, "b").digest(script), is_bound);
        EXPECT_EQ(one.digest(script) != Scripts(2, "a").digest(script), is_bound);
        EXPECT_EQ(one.text(script).ends_with("\n-- epoch 1 nonce 'a'\n"), is_bound);
        for (std::size_t j = 0; j < i; ++j) {
            EXPECT_NE(one.digest(script), one.digest(static_cast<Script>(j)));
        }
    }
}

TEST(RedisIdentity, needs_run_id_role_and_replication_id) {
    const std::string info =
        "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:abc\r\n"
        "# Replication\r\nrole:slave\r\nmaster_replid:def\r\nmaster_replid2:ghi\r\n"
        "# Memory\r\nmaxmemory_policy:volatile-lru\r\n";
    const auto server = read_identity(info);
    ASSERT_TRUE(server);
    EXPECT_EQ(server->identity.run_id, "abc");
    EXPECT_EQ(server->identity.role, core::authority::Role::replica);
    EXPECT_EQ(server->identity.replid, "def");
    EXPECT_EQ(server->identity.replid2, "ghi");
    EXPECT_EQ(server->version, "7.0.15");
    EXPECT_EQ(server->maxmemory_policy, "volatile-lru");
    for (const char* needed : {"run_id", "role:", "master_replid:"}) {
        std::string without = info;
        without.replace(without.find(needed), 1, "_");
        EXPECT_FALSE(read_identity(without)) << needed;
    }
    EXPECT_FALSE(read_identity(""));
    EXPECT_FALSE(read_identity("run_id"));
}

TEST(Identity, servers_that_cannot_keep_locks_are_named) {
    const std::string info =
        "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\narch_bits:64\r\n"
        "run_id:0123456789012345678901234567890123456789\r\nrole:master\r\n"
        "master_replid:aaaa\r\nmaster_replid2:0000000000000000000000000000000000000000\r\n";
    auto server = read_identity(info).value();
    EXPECT_EQ(server.arch_bits, "64");
    EXPECT_EQ(why_unfit(server), "");
    server.arch_bits = "32";
    EXPECT_NE(why_unfit(server).find("32-bit Redis"), std::string::npos);
    server.arch_bits = "";
    EXPECT_EQ(why_unfit(server), "") << "what a server doesn't say is not held against it";
    server.mode = "cluster";
    EXPECT_NE(why_unfit(server).find("cluster"), std::string::npos);
}

}  // namespace
}  // namespace latchd::store::redis
