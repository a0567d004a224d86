// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "store_url.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace latchd::config {
namespace {

TEST(StoreUrl, of_redis_may_leave_out_all_but_the_host) {
    const auto store = parse_store_url("redis://db.internal");
    ASSERT_TRUE(store) << store.error;
    EXPECT_EQ(store.value->kind, StoreKind::redis);
    EXPECT_EQ(store.value->address, (Address{"db.internal", 6379, ""}));
    EXPECT_EQ(store.value->database, "");
    EXPECT_TRUE(store.value->username.empty());
    EXPECT_TRUE(store.value->password.empty());
}

TEST(StoreUrl, of_redis_decodes_every_part) {
    const auto store = parse_store_url("redis://ad%6da:p%40ss%2F%25:x@[::1]:6380/12");
    ASSERT_TRUE(store) << store.error;
    EXPECT_EQ(store.value->username, "adma");
    EXPECT_EQ(store.value->password.reveal(), "p@ss/%:x");
    EXPECT_EQ(store.value->address, (Address{"::1", 6380, ""}));
    EXPECT_EQ(store.value->database, "12");
}

TEST(StoreUrl, of_redis_may_have_a_password_without_a_user_and_a_bare_slash) {
    const auto store = parse_store_url("redis://:secret@h:1/");
    ASSERT_TRUE(store) << store.error;
    EXPECT_EQ(store.value->username, "");
    EXPECT_EQ(store.value->password.reveal(), "secret");
}

TEST(StoreUrl, of_a_redis_socket_has_its_path_and_database) {
    const auto store = parse_store_url("redis+unix://u:p@/run/redis.sock?db=3");
    ASSERT_TRUE(store) << store.error;
    EXPECT_EQ(store.value->address, (Address{"", 0, "/run/redis.sock"}));
    EXPECT_EQ(store.value->database, "3");
    EXPECT_EQ(store.value->password.reveal(), "p");
}

TEST(StoreUrl, of_other_types_is_told_by_its_scheme) {
    EXPECT_EQ(parse_store_url("local:").value->kind, StoreKind::local);
}

TEST(StoreUrl, of_mysql_names_its_user_server_and_database) {
    const auto store = parse_store_url("mysql://latchd:p%40ss@db.internal/locks");
    ASSERT_TRUE(store) << store.error;
    EXPECT_EQ(store.value->kind, StoreKind::mysql);
    EXPECT_EQ(store.value->address, (Address{"db.internal", 3306, ""}));
    EXPECT_EQ(store.value->username, "latchd");
    EXPECT_EQ(store.value->password.reveal(), "p@ss");
    EXPECT_EQ(store.value->database, "locks");
    const auto socket = parse_store_url("mysql+unix://root@/run/mysqld.sock?db=a_b");
    ASSERT_TRUE(socket) << socket.error;
    EXPECT_EQ(socket.value->kind, StoreKind::mysql);
    EXPECT_EQ(socket.value->address, (Address{"", 0, "/run/mysqld.sock"}));
    EXPECT_EQ(socket.value->database, "a_b");
    EXPECT_EQ(parse_store_url("mysql://h:3307").value->address.port, 3307);
}

TEST(StoreUrl, that_is_wrong_is_refused_without_its_password) {
    for (const auto* url : {"redis://u:hunter2@h:1/x",
                            "redis://u:hunter2@h:1/65536",
                            "redis://u:hunter2@h:1/1/2",
                            "redis://u:hunter2@h:0",
                            "redis://u:hunter2@h:99999",
                            "redis://u:hunter2@",
                            "redis://u:hun/ter2@h",
                            "redis://u:hun@hunter2@h",
                            "redis://u:hunter2%4@h",
                            "redis://u:hunter2%zz@h",
                            "redis+unix://u:hunter2@run/a",
                            "redis+unix://u:hunter2@/a?database=1",
                            "redis+unix:///a?password=hunter2",
                            "rediss://u:hunter2@h",
                            "redis+sentinel://u:hunter2@h/mymaster",
                            "mysql://u:hunter2@h/a b",
                            "mysql://u:hunter2@h/a/b",
                            "mysql+unix://u:hunter2@/a?user=x",
                            "etcd://u:hunter2@h",
                            "redis:u:hunter2@h",
                            "hunter2@h"}) {
        const auto store = parse_store_url(url);
        EXPECT_FALSE(store) << url;
        EXPECT_EQ(store.error.find("ter2"), std::string::npos) << store.error;
    }
    for (const auto* url : {"",
                            "redis",
                            "redis:",
                            "redis://",
                            "redis:///1",
                            "local",
                            "local://",
                            "local:x",
                            "redis://:@h",
                            "redis+unix://",
                            "unix:/run/redis.sock"}) {
        EXPECT_FALSE(parse_store_url(url)) << url;
    }
}

TEST(StoreUrl, masks_what_may_be_a_secret) {
    EXPECT_EQ(masked_url("redis://u:p@h:1/2"), "redis://u:***@h:1/2");
    EXPECT_EQ(masked_url("redis://p@h"), "redis://***@h");
    EXPECT_EQ(masked_url("redis://h/1"), "redis://h/1");
    EXPECT_EQ(masked_url("redis://u:p@q@h"), "redis://u:***@h");
}

TEST(Secret, prints_as_stars) {
    std::ostringstream out;
    out << Secret("hunter2") << Secret();
    EXPECT_EQ(out.str(), "***");
}

}  // namespace
}  // namespace latchd::config
