// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include <gtest/gtest.h>

#include <set>

namespace latchd::store::redis {
namespace {

LockKey key(std::string resource, std::string id) {
    return {ResourceName(std::move(resource)), LockId(std::move(id))};
}

TEST(RedisKeys, name_locks_so_that_the_last_colon_divides) {
    const Keys keys;
    EXPECT_EQ(keys.lock(key("order:settle", "1001")), "lock:order:settle:1001");
    EXPECT_EQ(keys.lock(key("order", "settle:1001")), "lock:order:settle%3A1001");
    EXPECT_EQ(keys.lock(key("r", "a%b{c} \n\x7f\xff~!")), "lock:r:a%25b%7Bc%7D%20%0A%7F%FF~!");
    EXPECT_EQ(Keys("shop").lock(key("r", "1")), "shop:lock:r:1");
}

TEST(RedisKeys, keep_bars_in_the_lock_s_hash_slot) {
    EXPECT_EQ(Keys().bar(key("r", "1"), RequestId("a b")), "bar:{lock:r:1}:a%20b");
    EXPECT_EQ(Keys("shop").bar(key("r", "{x}"), RequestId("1")),
              "shop:bar:{shop:lock:r:%7Bx%7D}:1");
}

TEST(RedisKeys, name_what_a_cluster_has_once) {
    EXPECT_EQ(Keys().marker(), "latchd:marker");
    EXPECT_EQ(Keys("shop").marker(), "shop:latchd:marker");
    EXPECT_EQ(Keys("shop").node_channel(NodeName("h:6385/1")), "shop:latchd:node:h:6385/1");
    EXPECT_EQ(Keys().nodes_channel(), "latchd:nodes");
}

TEST(RedisKeys, give_every_id_back_and_no_two_the_same_name) {
    const Keys keys("shop");
    std::set<std::string> names;
    for (int a = 0; a < 256; ++a) {
        for (const char* rest : {"", ":", "%3A", "x"}) {
            const LockKey lock = key("a:b", std::string(1, static_cast<char>(a)) + rest);
            const std::string name = keys.lock(lock);
            EXPECT_TRUE(names.insert(name).second) << name;
            EXPECT_EQ(keys.lock_of(name), lock) << name;
        }
    }
}

TEST(RedisKeys, know_what_latchd_would_not_have_written) {
    const Keys keys;
    for (const char* name : {"",
                             "lock:",
                             "lock:r",
                             "lock:r:",
                             "lock::1",
                             "LOCK:r:1",
                             "shop:lock:r:1",
                             "lock:r:%",
                             "lock:r:%3",
                             "lock:r:%3a",
                             "lock:r:%41",
                             "lock:r:a b",
                             "lock:r s:1",
                             "lock:r:{1}",
                             "bar:{lock:r:1}:1"}) {
        EXPECT_FALSE(keys.lock_of(name)) << name;
    }
    EXPECT_FALSE(keys.lock_of("lock:" + std::string(65, 'r') + ":1"));
    EXPECT_FALSE(keys.lock_of("lock:r:" + std::string(129, 'i')));
    EXPECT_TRUE(keys.lock_of("lock:" + std::string(64, 'r') + ":" + std::string(128, 'i')));
    EXPECT_FALSE(Keys("shop").lock_of("lock:r:1"));
}

TEST(RedisKeys, scan_for_no_less_than_the_pattern_matches) {
    const Keys keys;
    EXPECT_EQ(keys.scan_pattern(""), "lock:*");
    EXPECT_EQ(keys.scan_pattern("*"), "lock:*");
    EXPECT_EQ(keys.scan_pattern("order:*"), "lock:order:*");
    EXPECT_EQ(keys.scan_pattern("order:settle:1"), "lock:order:settle*");
    EXPECT_EQ(keys.scan_pattern("order:a b"), "lock:order:a%20b*");
    EXPECT_EQ(keys.scan_pattern("o\\*"), "lock:o*");
    EXPECT_EQ(Keys("shop").scan_pattern("o?"), "shop:lock:o*");
}

TEST(RedisKeys, give_every_bar_back) {
    const Keys keys("shop");
    for (int a = 0; a < 256; ++a) {
        for (const char* rest : {"", "}:", "{", "%7D"}) {
            const std::string text = std::string(1, static_cast<char>(a)) + rest;
            const std::pair bar{key("a:b", text), RequestId(text)};
            EXPECT_EQ(keys.bar_of(keys.bar(bar.first, bar.second)), bar) << text;
        }
    }
    for (const char* name : {"",
                             "shop:bar:",
                             "shop:bar:{shop:lock:r:1}",
                             "shop:bar:{shop:lock:r:1}:",
                             "shop:bar:{lock:r:1}:q",
                             "bar:{lock:r:1}:q",
                             "shop:bar:{shop:lock:r:1}:q q",
                             "shop:lock:r:1"}) {
        EXPECT_FALSE(keys.bar_of(name)) << name;
    }
}

TEST(RedisKeys, match_the_id_as_it_is) {
    EXPECT_TRUE(matches("", key("r", "1")));
    EXPECT_TRUE(matches("r:a:*", key("r", "a:b")));
    EXPECT_TRUE(matches("r:? b", key("r", "\xff b")));
    EXPECT_FALSE(matches("r:1", key("r", "12")));
}

}  // namespace
}  // namespace latchd::store::redis
